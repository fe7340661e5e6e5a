"""The interface of a format: recognising its files, and reading them into pieces."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from io import BytesIO

import msgspec
from msgspec import Raw, Struct

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.transcript import Line, Note, Report, Utterance, fault

SAMPLE = 64_000  # bytes by which a format is recognised
MOST_VALUES = 5_000_000  # of a JSON text; each costs memory, however short it is
_JSON = re.compile(rb'\s*(?:\{|\[\s*[{"\[\]])')


class NotATranscriptError(TranscriptError):
    """The file is no transcript: in a folder or an archive, something that lies beside one."""


class Break(Struct, frozen=True, kw_only=True):
    """A session begins; without a ``label`` it is numbered."""

    line: int = 0
    label: str = ""
    started: datetime | None = None  # naive without a time zone
    conversation: str = ""  # its conversation; "" for the file's only one


class Placed(Struct, frozen=True, kw_only=True):
    """An utterance or a note with its place in the file."""

    said: Utterance | Note
    line: int = 0  # of the file, or the number of its message; for faults
    session: str = ""  # the label of its session; "" for the one that is open
    scope: str = ""  # the scope it was exported from; "" unless ``export`` wrote it
    conversation: str = ""


class Skipped(Struct, frozen=True, kw_only=True):
    """Something that is no turn, and is left out without a fault."""

    line: int
    why: str  # in the plural: "notices of the app"


Piece = Break | Placed | Skipped


class Text:
    """The content of a file, in UTF-8."""

    def __init__(self, name: str, content: bytes) -> None:
        """Keep the content; only errors and the recognition of damaged rows use the name."""
        self.name, self.content = name, content
        self.is_json = _JSON.match(content) is not None
        self.is_list = self.is_json and content.lstrip().startswith(b"[")
        start = content[:SAMPLE].decode(errors="replace").splitlines()
        self.beginning = [line for line in start if line.strip()]

    def lines(self, report: Report) -> Iterator[Line]:
        """Yield the numbered lines without their ends; report those that are not UTF-8."""
        for number, raw in enumerate(BytesIO(self.content), start=1):
            try:
                yield number, raw.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                report(fault(number, "not UTF-8"))

    @cached_property
    def objects(self) -> list[Raw]:
        """The values of a JSON list, or the only value of other JSON; none of another text.

        Raises:
            TranscriptError: The JSON is damaged.
        """
        if not self.is_json:
            return []
        content = self.content if self.is_list else b"[%b]" % self.content
        try:
            check_values(content)
            return msgspec.json.decode(content, type=list[Raw])
        except (ValueError, RecursionError) as error:
            hint = "Export it again: it may have been cut off."
            raise TranscriptError(f"{self.name} is damaged: {error}", hint=hint) from None

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the first of its JSON objects."""
        try:
            return frozenset(msgspec.json.decode(self.objects[0], type=dict[str, Raw]))
        except (IndexError, ValueError):
            return frozenset()


def check_values(text: bytes) -> None:
    """Refuse JSON of so many values that they would not fit into memory.

    Raises:
        ValueError: There are more than ``MOST_VALUES``.
    """
    if sum(map(text.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")


class Format(Struct, frozen=True, kw_only=True):
    """One format of files.

    ``read`` yields a file's pieces in order; it reports what cannot be read, and goes on.
    """

    name: str  # for a person: "WhatsApp"
    knows: Callable[[Text], bool]
    read: Callable[[Text, Report], Iterator[Piece]]
