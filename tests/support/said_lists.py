"""The lists of injections and of ordinary sentences in tests/data, a tuned and a held-out half each.

The guard is tuned on one half alone; of the other one only counts are looked at.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

DATA = Path(__file__).parents[1] / "data"
HALVES: tuple["Half", ...] = ("tuned", "held_out")
Half = Literal["tuned", "held_out"]
_HEADING = re.compile(r"\[([a-z ]+) (en|de)\]")


class Case(NamedTuple):
    """An injection.

    Attributes:
        disguise: What it is dressed up as.
        said: What somebody says.
        marks: Lower-case parts of words; a sentence with all of them gives the order.
    """

    disguise: str
    language: str
    said: str
    marks: tuple[str, ...]

    def is_in(self, sentence: str) -> bool:
        return all(mark in sentence.casefold() for mark in self.marks)


def cases(half: Half, name: str = "injections") -> Iterator[Case]:
    disguise = language = ""
    for line in _lines(half, name):
        if heading := _HEADING.fullmatch(line):
            disguise, language = heading.groups()
        else:
            said, marks = line.split(" => ")
            yield Case(disguise, language, said, tuple(marks.casefold().split()))


def ordinary(half: Half) -> list[str]:
    return _lines(half, "ordinary")


def _lines(half: Half, name: str) -> list[str]:
    return (DATA / name / f"{half}.txt").read_text("utf-8").splitlines()
