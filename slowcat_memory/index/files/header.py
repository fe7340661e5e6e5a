"""The header of a sealed index, and its columns."""

from pathlib import Path

import msgspec
from msgspec import Struct

from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index.options import IndexOptions

FORMAT = 11  # raised with every change of the files: an index of another format is rebuilt
HEADER = "header.json"
COLUMNS = {
    "before": "int32",
    "after": "int32",
    "at": "float64",
    "importance": "float32",
    "pinned": "bool",
    "substance": "float32",
    "asks": "bool",
    "agent": "bool",
    "words": "int32",
    "digest": "int64",
    "session": "int32",
    "speaker": "int32",
    "about_from": "float64",
    "about_until": "float64",
}
"""Names and dtypes of the columns, one ``.npy`` file each, one row per document."""


class Header(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The totals of a sealed index.

    Attributes:
        format: ``FORMAT`` when it was written.
        words: Sum of their lengths in words.
        k1: Of the scores in the postings; see ``IndexOptions``.
        b: Likewise.
        tokens: Sum of the lengths of their windows in tokens.
        vectors: How many documents have a vector.
        keys: How many keys have a vector, by view of keys.
        speakers: Names, in the order of the column's numbers.
    """

    format: int
    documents: int
    words: int
    k1: float
    b: float
    tokens: float
    vectors: int
    keys: dict[str, int]
    speakers: list[str]

    @property
    def embedded(self) -> int:
        return self.vectors + sum(self.keys.values())


def write_header(header: Header, folder: Path) -> None:
    (folder / HEADER).write_bytes(msgspec.json.encode(header))


def read_header(folder: Path, options: IndexOptions) -> Header:
    """Read the header of a sealed index.

    Raises:
        IndexDamagedError: It has another format, or was scored with another ``k1`` or ``b``.
        msgspec.ValidationError: It is not a header.
    """
    header = msgspec.json.decode((folder / HEADER).read_bytes(), type=Header)
    if header.format != FORMAT or (header.k1, header.b) != (options.k1, options.b):
        raise IndexDamagedError("the index is of another version")
    return header
