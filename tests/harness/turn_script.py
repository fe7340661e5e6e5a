"""Random scripts of turns: what people, STT and applications do to one conversation.

A script follows from its seed. Words are chosen so that the expected recall is unambiguous: the
memory holds one fact for each topic, which no word but the topic's name matches.
"""

import random
from collections.abc import Sequence

from msgspec import Struct

from tests.support.rows import listed, listed_texts

TOPICS = dict(listed("turn_scripts", "topics"))  # with a word that only the topic's fact has
ASKING = listed_texts("turn_scripts", "asking")
CHAT = listed_texts("turn_scripts", "chat")
SPEAKERS = ("anna", "ben")

PLAIN = ("",)
WAYS = {  # of each kind of step
    "say": ("", "interims", "revised"),
    "tool": PLAIN,
    "cut recall": PLAIN,
    "cut reply": PLAIN,
    "barge in": PLAIN,
    "type": ("", "interrupting", "in parts"),
    "type quietly": PLAIN,
    "run again": PLAIN,
    "prompt": PLAIN,
    "summary": ("short", "all", "by hand"),
    "summary meanwhile": PLAIN,
    "copies": ("frame", "frame, run", "in place"),
    "nothing": ("spoken", "typed"),
}
EAGER = ("eager held", "eager withdrawn", "eager went on", "eager cut")


class Utterance(Struct, frozen=True):
    """One turn, possibly of several speakers.

    Attributes:
        parts: Who said what, in order: a final transcript each.
        topic: Its subject, "" for chat.
    """

    parts: tuple[tuple[str, str], ...]
    topic: str = ""

    @property
    def text(self) -> str:
        return " ".join(words for _, words in self.parts)

    def alone(self) -> "Utterance":
        """The same, said by one person at once."""
        return Utterance(((self.parts[0][0], self.text),), self.topic)


class Step(Struct, frozen=True):
    """One event of a script.

    Attributes:
        kind: Its kind.
        way: Its variant.
        first: What is said, if anything.
        then: What is said next, by an interrupting or continuing speaker.
    """

    kind: str
    way: str = ""
    first: Utterance = Utterance(())
    then: Utterance = Utterance(())


class Script(Struct, frozen=True):
    """One conversation.

    Attributes:
        seed: Its seed.
        eager: Whether STT predicts the end of turns.
        steps: Its events.
    """

    seed: int
    eager: bool
    steps: tuple[Step, ...]


def fact(topic: str) -> str:
    """The stored fact of a topic."""
    return f"{topic} belongs with {TOPICS[topic]}"


def write(seed: int) -> Script:
    rng = random.Random(seed)
    eager = rng.random() < 0.3
    kinds = [*WAYS, *(EAGER * 2 if eager else ())]
    said = list[Utterance]()
    steps = []
    for kind in ["say", *rng.choices(kinds, k=rng.randint(4, 9))]:
        first, then = _utterance(rng, said), _utterance(rng, said)
        steps.append(Step(kind, rng.choice(WAYS.get(kind, PLAIN)), first, then))
    return Script(seed, eager, tuple(steps))


def _utterance(rng: random.Random, said: list[Utterance]) -> Utterance:
    """Choose the next utterance: mostly about a topic, sometimes a repetition."""
    if said and rng.random() < 0.2:
        return said[-1]
    topic = rng.choice(tuple(TOPICS)) if rng.random() < 0.7 else ""
    text = rng.choice(ASKING).format(topic) if topic else rng.choice(CHAT)
    said.append(Utterance(_parts(rng, text), topic))
    return said[-1]


def _parts(rng: random.Random, text: str) -> tuple[tuple[str, str], ...]:
    """Divide a text among finals, and sometimes among two speakers."""
    words: Sequence[str] = text.split()
    speaker = rng.choice(SPEAKERS)
    if len(words) < 2 or rng.random() < 0.5:
        return ((speaker, text),)
    cut = rng.randrange(1, len(words))
    other = rng.choice(SPEAKERS)
    return ((speaker, " ".join(words[:cut])), (other, " ".join(words[cut:])))
