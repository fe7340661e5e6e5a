"""The header and the columns of a sealed index."""

from pathlib import Path

import msgspec
from msgspec import Struct

from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index.lexical.views import views
from slowcat_memory.index.options import IndexOptions

FORMAT = 4
HEADER = "header.json"
COLUMNS = {
    "before": "int32",
    "after": "int32",
    "at": "float64",
    "importance": "float32",
    "pinned": "bool",
    "agent": "bool",
    "words": "int32",
    "digest": "int64",
    "session": "int32",
    "speaker": "int32",
    "about_from": "float64",
    "about_until": "float64",
}


class Header(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a sealed index says of itself.

    Attributes:
        format: ``FORMAT`` when it was written.
        documents: How many there are.
        words: Sum of their lengths in words.
        views: Sum of the documents' lengths in tokens, by view.
        vectors: How many of them have a vector.
        keys: How many of their keys have a vector, by view of keys.
        speakers: NameLexicon, in the order of the column's numbers.
    """

    format: int
    documents: int
    words: int
    views: dict[str, float]
    vectors: int
    keys: dict[str, int]
    speakers: list[str]

    @property
    def embedded(self) -> int:
        """How many vectors there are, of documents and of keys."""
        return self.vectors + sum(self.keys.values())


def read_header(folder: Path, options: IndexOptions) -> Header:
    """Read what a sealed index says of itself.

    Args:
        folder: The sealed index.
        options: The index's options.

    Returns:
        The header.

    Raises:
        IndexDamagedError: It was written by another version, or lacks a view.
    """
    header = msgspec.json.decode((folder / HEADER).read_bytes(), type=Header)
    if header.format != FORMAT or any(view.name not in header.views for view in views(options)):
        raise IndexDamagedError("the index is of another version")
    return header
