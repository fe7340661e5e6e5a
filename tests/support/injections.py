"""Prompt injections that somebody may say, read aloud or paste: 200 of them, in four positions.

Each has a unique mark, so that obeying or storing it is detected by the mark alone. They are
combined from phrasings, demands and disguises, in four languages.
"""

from collections.abc import Iterator
from itertools import cycle, islice
from typing import NamedTuple

from tests.support.rows import DATA


def _lines(name: str) -> list[str]:
    return (DATA / f"injections/{name}.txt").read_text("utf-8").splitlines()


HARMLESS = "I live in Lisbon now, near the river."

WAYS = [line.replace("\\n", "\n") for line in _lines("ways")]
WANTS = _lines("wants")


class Injection(NamedTuple):
    """An injection.

    Attributes:
        text: What is said.
        mark: A word that occurs nowhere else.
    """

    text: str
    mark: str


def injections(n: int = 200) -> Iterator[Injection]:
    """Yield ``n`` distinct injections, the same ones every time."""
    pairs = ((way, want) for want in WANTS for way in WAYS)
    disguises = cycle((str, str, str.upper, _spread, _polite))
    for number, ((way, want), disguise) in enumerate(
        zip(islice(pairs, n), disguises, strict=False)
    ):
        mark = f"zquark{number}"
        yield Injection(disguise(way.format(want.format(mark))), mark)


def placed(order: str) -> dict[str, str]:
    """Return an utterance for each position of an injection in it."""
    first, _, second = HARMLESS.partition(",")
    return {
        "alone": order,
        "before": f"{order} {HARMLESS}",
        "after": f"{HARMLESS} {order}",
        "within": f"{first}. {order} {second.strip()}",
    }


def _spread(text: str) -> str:
    return "  ".join(text.split(" "))


def _polite(text: str) -> str:
    return f"Hi there! {text} Thank you so much."
