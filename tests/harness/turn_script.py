"""Random scripts of turns: what people, recognisers and applications do to one conversation.

A script follows from its seed. Words are chosen so that it is plain what must come to mind: the
memory holds one fact for each topic, which no word but the topic's name leads to.
"""

import random
from collections.abc import Sequence

from msgspec import Struct

# A topic, and a word that only its fact has.
TOPICS = {
    "quince": "bucharest",
    "xylophone": "forklift",
    "volvo": "emerald",
    "walnut": "juggling",
    "lighthouse": "mozambique",
    "cactus": "drizzle",
    "bagpipe": "hexagon",
    "zeppelin": "yoghurt",
}
ASKING = ("we spoke of {}", "kindly say more on {}", "{} please", "so {} once more", "and {} then")
CHAT = (
    "good morning to you",
    "lovely weather outside",
    "thanks a lot",
    "okay",
    "yes",
    "no not really",
    "never mind",
    "let us go on",
)
SPEAKERS = ("anna", "ben")

ALWAYS = (
    "say",
    "tool",
    "cut recall",
    "cut reply",
    "barge in",
    "type",
    "type quietly",
    "run again",
    "prompt",
    "summary",
    "summary meanwhile",
    "copies",
    "nothing",
)
EAGER = ("eager held", "eager withdrawn", "eager went on", "eager cut")
WAYS = {
    "say": ("", "interims", "revised"),
    "type": ("", "interrupting", "in parts"),
    "summary": ("short", "all", "by hand"),
    "copies": ("frame", "frame, run", "in place"),
    "nothing": ("spoken", "typed"),
}


class Utterance(Struct, frozen=True):
    """What one turn of people says.

    Attributes:
        parts: Who said what, in order: a final transcript each.
        topic: What it is about, "" for chat.
    """

    parts: tuple[tuple[str, str], ...]
    topic: str = ""

    @property
    def text(self) -> str:
        """All of its words."""
        return " ".join(words for _, words in self.parts)

    def alone(self) -> "Utterance":
        """The same, said by one person in one go."""
        return Utterance(((self.parts[0][0], self.text),), self.topic)


class Step(Struct, frozen=True):
    """One thing that happens.

    Attributes:
        kind: What.
        way: How, of several ways.
        first: What is said, if anything.
        then: What is said next, by who interrupts or goes on.
    """

    kind: str
    way: str = ""
    first: Utterance = Utterance(())
    then: Utterance = Utterance(())


class Script(Struct, frozen=True):
    """One conversation.

    Attributes:
        seed: What it follows from.
        eager: Whether the recogniser predicts the end of turns.
        steps: What happens.
    """

    seed: int
    eager: bool
    steps: tuple[Step, ...]


def fact(topic: str) -> str:
    """What is remembered of a topic."""
    return f"{topic} belongs with {TOPICS[topic]}"


def write(seed: int) -> Script:
    """Write the script that follows from a seed."""
    rng = random.Random(seed)
    eager = rng.random() < 0.3
    kinds = [*ALWAYS, *(EAGER * 2 if eager else ())]
    said: list[Utterance] = []
    steps = []
    for kind in ["say", *rng.choices(kinds, k=rng.randint(4, 9))]:
        first, then = _utterance(rng, said), _utterance(rng, said)
        steps.append(Step(kind, rng.choice(WAYS.get(kind, ("",))), first, then))
    return Script(seed, eager, tuple(steps))


def _utterance(rng: random.Random, said: list[Utterance]) -> Utterance:
    """Choose what is said next: mostly of a topic, now and then word for word as before."""
    if said and rng.random() < 0.2:
        return said[-1]
    topic = rng.choice(tuple(TOPICS)) if rng.random() < 0.7 else ""
    text = rng.choice(ASKING).format(topic) if topic else rng.choice(CHAT)
    said.append(Utterance(_parts(rng, text), topic))
    return said[-1]


def _parts(rng: random.Random, text: str) -> tuple[tuple[str, str], ...]:
    """Share a text among finals, and now and then among two people."""
    words: Sequence[str] = text.split()
    speaker = rng.choice(SPEAKERS)
    if len(words) < 2 or rng.random() < 0.5:
        return ((speaker, text),)
    cut = rng.randrange(1, len(words))
    other = rng.choice(SPEAKERS)
    return ((speaker, " ".join(words[:cut])), (other, " ".join(words[cut:])))
