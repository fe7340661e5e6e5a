"""What a format is: how its files are recognised, and how they are read into pieces.

A format never sees a path. It recognises a ``Sample`` by content, and reads a ``Text`` once, from its
beginning to its end, without holding more of it than one message or one conversation.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from typing import Protocol

from msgspec import Struct

from slowcat_memory.transfer.formats.json_reader import JsonReader
from slowcat_memory.transfer.transcript import Line, Note, Report, Utterance


class Break(Struct, frozen=True, kw_only=True):
    """A session begins; without a ``label`` it is numbered."""

    line: int = 0
    label: str = ""
    started: datetime | None = None  # naive without a time zone
    conversation: str = ""  # its conversation; "" for the file's only one


class Placed(Struct, frozen=True, kw_only=True):
    """An utterance or a note with its place in the file."""

    said: Utterance | Note
    line: int = 0  # of the file, or the number of its row; for faults
    session: str = ""  # the label of its session; "" for the one that is open
    scope: str = ""  # the scope it was exported from; "" unless ``export`` wrote it
    conversation: str = ""


class Skipped(Struct, frozen=True, kw_only=True):
    """Something that is no turn, and is left out without a fault."""

    line: int
    why: str  # in the plural: "notices of the app"


Piece = Break | Placed | Skipped


class Text(Protocol):
    """A decoded file, which may be read several times."""

    sample: "Sample"

    def lines(self, report: Report | None = None) -> Iterator[Line]:
        """Yield the numbered lines without their ends; report those that cannot be decoded."""

    def json(self) -> JsonReader: ...


class Sample:
    """The beginning of a file, by which its format is recognised."""

    def __init__(self, name: str, text: str) -> None:
        """Store the file's name, which only an error may mention, and its beginning."""
        self.name, self.text = name, text.lstrip("\ufeff")

    @cached_property
    def lines(self) -> list[str]:
        """The lines that are not blank."""
        return [line for line in self.text.splitlines() if line.strip()]

    @property
    def first(self) -> str:
        return self.lines[0] if self.lines else ""

    @cached_property
    def is_json(self) -> bool:
        """Whether the text is JSON, perhaps damaged, and no line such as "[12.05.26] Anna: …"."""
        start = self.text.lstrip()[:200]
        after = start[1:].lstrip()[:1]
        if start.startswith("["):
            return after in '{["]' or (after.isdecimal() and not _looks_timed(start))
        return start.startswith("{")

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of its JSON's keys, such as ".messages[].role"; none for other text."""
        return outline(self.text) if self.is_json else frozenset()

    def has(self, *paths: str) -> bool:
        return all(path in self.paths for path in paths)


def _looks_timed(start: str) -> bool:
    """Return whether a line begins with a time in brackets."""
    inside, closed, _ = start[1:].partition("]")
    return bool(closed) and sum(char.isdecimal() for char in inside) >= 4 and "," not in inside[:2]


Read = Callable[[Text, Report], Iterator[Piece]]
"""Yields a file's pieces in order; reports what cannot be read, and goes on.

Raises ``ValueError`` where the file cannot be read any further.
"""


class Format(Struct, frozen=True, kw_only=True):
    """One format of files."""

    name: str  # for a person: "WhatsApp"
    knows: Callable[[Sample], bool]
    read: Read


# ------------------------------------------------------------------- the outline of JSON
# The paths of keys at the beginning of a JSON text, which may be cut off anywhere.


_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")\s*(:?)|[{}\[\]]')
DEEPEST = 8


def outline(text: str) -> frozenset[str]:
    """Return the paths of keys, for example {".messages", ".messages[].role"}.

    A path begins at the text's outermost values, whichever of them it is. Keys deeper than eight
    levels are left out.
    """
    found = set[str]()
    containers, pending = [""], ""
    for token in _TOKEN.finditer(text):
        if token[1]:
            pending = f"{containers[-1]}.{token[1][1:-1]}" if token[2] else ""
            if pending and len(containers) <= DEEPEST:
                found.add(pending)
        elif token[0] in "{[":
            containers.append(_inside(containers, pending, token[0]))
            pending = ""
        else:
            pending = ""
            if len(containers) > 1:
                containers.pop()
    return frozenset(found)


def _inside(containers: list[str], key: str, opening: str) -> str:
    """Return the path of what a bracket opens; too deep for any key, it does not grow."""
    if len(containers) > DEEPEST:
        return containers[-1]
    return (key or containers[-1]) + ("[]" if opening == "[" else "")
