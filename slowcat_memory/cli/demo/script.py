"""The demo's story: one user, five sessions over nine weeks, and a night of idle work.

The user's lines and the replies to statements are fixed. Replies to questions come from the LLM, or
from the parrot that replaces it. A question names the line whose turn must be recalled; the check
is by turn id, not by wording.
"""

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

USER = "Nora"


class Line(Struct, frozen=True):
    """One turn of the user, and the reply when no LLM is used."""

    text: str
    reply: str = ""  # "" to leave it to the LLM or the parrot
    key: str = ""  # a name by which other lines refer to this one
    expects: str = ""  # the key of the line that must be recalled, "" for none
    half: Literal["user", "assistant", "note"] = "user"  # which half of ``expects``, or its note
    essential: bool = True  # whether the demo fails when it is not recalled
    # "words" when the question shares words with its answer; "vectors" when it shares only the
    # meaning, so that lexical search alone cannot find it
    needs: Literal["words", "vectors"] = "words"
    unknown: bool = False  # the answer was never said, or is forgotten
    command: bool = False  # a voice command: the memory answers it itself


class Evening(Struct, frozen=True):
    """One session.

    Attributes:
        night: Whether the idle work of the night after it is played.
    """

    at: datetime
    lines: tuple[Line, ...]
    night: bool = False


def _at(month: int, day: int, hour: int, minute: int) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


STORY = (
    Evening(
        _at(3, 2, 19, 40),
        (
            Line(
                "We brought our new puppy home today, a spaniel called Biscuit.",
                "Welcome home, Biscuit! Give him a quiet corner for the first nights.",
                key="puppy",
            ),
            Line(
                "I work as a chemistry teacher at the school by the harbour, so he waits until four.",
                "A walk at lunch time would make the wait shorter for him.",
                key="school",
            ),
            Line(
                "I'm allergic to walnuts, by the way: one bite and my throat swells up.",
                "Understood, I will never suggest anything with walnuts.",
                key="allergy",
            ),
        ),
    ),
    Evening(
        _at(3, 7, 10, 15),
        (
            Line("What is my puppy called?", expects="puppy"),
            Line(
                "My dog loves splashing in the river and chasing tennis balls.",
                "Then you will both come home wet and happy.",
                key="joys",
            ),
            Line(
                "My sister Clara lives in Vienna, so I take the night train to see her soon.",
                "By night train, what a lovely way to arrive.",
                key="trip",
            ),
            Line(
                "I never sleep a wink on the train, though.",
                "Take the lowest bunk on the night train, it sways the least, and pack earplugs.",
                key="advice",
            ),
        ),
    ),
    Evening(
        _at(3, 19, 18, 5),
        (
            Line("What does my animal enjoy?", expects="joys", needs="vectors"),
            Line(
                "Grandma's lentil soup turned out right at last: cumin, lemon, and honey last.",
                "Honey at the very end, I would never have guessed.",
                key="soup",
            ),
            Line(
                "Big news: I quit my job at the school. I work as a guide at the science museum now.",
                "Congratulations! The visitors will be in good hands.",
                key="museum",
            ),
        ),
        night=True,
    ),
    Evening(
        _at(4, 11, 21, 30),
        (
            Line("What is my profession these days?", expects="museum", needs="vectors"),
            Line("Which nuts make me ill?", expects="allergy", needs="vectors"),
            Line("What blood group do I have?", unknown=True),
            Line(
                "Remember that the spare key hangs behind the kitchen clock.",
                key="spare",
                command=True,
            ),
        ),
    ),
    Evening(
        _at(5, 6, 20, 20),
        (
            Line("Where did I put the spare key?", expects="spare", half="note"),
            Line(
                "Which city is my sibling in?",
                expects="trip",
                needs="vectors",
                essential=False,
            ),
            Line(
                "What did you suggest I pack for the night train?",
                expects="advice",
                half="assistant",
            ),
            Line("What goes into grandma's lentil soup?", expects="soup"),
            Line("What is my landlord called?", unknown=True),
            Line("Forget what I said about the lentil soup.", command=True),
            Line("Yes.", command=True),
            Line("What goes into grandma's lentil soup?", unknown=True),
            Line("Undo that.", command=True),
            Line("Thank you, good night!", "Good night, Nora."),
        ),
    ),
)
