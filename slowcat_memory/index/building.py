"""A sealed index, written from documents that come one by one; memory stays bounded by columns."""

import hashlib
import os
from array import array
from bisect import bisect_left
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.core.text import Tokenizer
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index import compiled, vectors
from slowcat_memory.index.counting import Counting, write_view
from slowcat_memory.index.ids import Ids, chunk_of
from slowcat_memory.index.names import Names
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.views import SOURCES, sources, views

FORMAT = 3
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
NO_TIME = (float("nan"), float("nan"))
VECTORS = "vectors."  # what the names of the dense part's files begin with
SPOOL = "spool.f16"


class Document(Struct, frozen=True, kw_only=True):
    """What the index keeps of a memory.

    Attributes:
        id: The memory's id.
        text: What is indexed: speaker, text, context.
        at: Seconds since the epoch since when it is true.
        importance: 0 to 1.
        pinned: A person asked that it always counts.
        agent: The agent's own words.
        before: Id of the memory said just before it in the same session, "" when none.
        words: Length of the text in words.
        speaker: Whose words they are.
        about: When it speaks of, from and until, seconds since the epoch; None for no time.
    """

    id: str
    text: str
    at: float
    importance: float = 0.5
    pinned: bool = False
    agent: bool = False
    before: str = ""
    words: int = 0
    speaker: str = ""
    about: tuple[float, float] | None = None


class Header(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a sealed index says of itself.

    Attributes:
        format: ``FORMAT`` when it was written.
        documents: How many there are.
        words: Sum of their lengths in words.
        views: Sum of the documents' lengths in tokens, by view.
        vectors: How many of them have a vector.
        speakers: Names, in the order of the column's numbers.
    """

    format: int
    documents: int
    words: int
    views: dict[str, float]
    vectors: int
    speakers: list[str]


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


def digest(text: str) -> int:
    """Reduce a text to a number that tells whether it changed.

    Args:
        text: Any text.

    Returns:
        64 bits, signed.
    """
    hashed = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(hashed, signed=True)


class Builder:
    """Writes a sealed index."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, options: IndexOptions, dim: int) -> None:
        """Begin.

        Args:
            folder: Where the files go; must exist and be empty.
            tokenizer: The same one that queries will use.
            options: The index's options.
            dim: Dimension of the vectors, 0 for none.
        """
        self._folder, self._tokenizer, self._options, self._dim = folder, tokenizer, options, dim
        self._turns, self._others = array("q"), list[str]()
        self._columns: dict[str, array[Any]] = {
            name: array(_code(kind)) for name, kind in COLUMNS.items()
        }
        self._speakers: dict[str, int] = {}
        self._names = Names()
        self._views = views(options)
        self._counting = {source: Counting() for source in sources(self._views)}
        self._unresolved: dict[int, str] = {}  # who names a neighbour that had not come by then
        self._spool: np.memmap | None = None
        self._has = np.zeros(0, bool)

    def add(self, document: Document) -> None:
        """Take the next document.

        Args:
            document: First chunks, by their turns' numbers, then others, by id.

        Raises:
            ValueError: They come in another order.
        """
        turn = chunk_of(document.id)
        chunks_first = bool(turn) and not self._others and turn > (self._turns or (0,))[-1]
        if chunks_first:
            self._turns.append(turn)
        elif self._others and document.id <= self._others[-1]:
            raise ValueError("documents out of order")
        else:
            self._others.append(document.id)
        columns = self._columns
        before = self._find(document.before) if document.before else -1
        if document.before and before < 0:
            self._unresolved[len(columns["before"])] = document.before
        columns["before"].append(before)
        columns["after"].append(-1)
        columns["at"].append(document.at)
        columns["importance"].append(document.importance)
        columns["pinned"].append(document.pinned)
        columns["agent"].append(document.agent)
        columns["words"].append(document.words)
        columns["digest"].append(digest(document.text))
        columns["session"].append(-1)
        columns["speaker"].append(self._speakers.setdefault(document.speaker, len(self._speakers)))
        about = document.about or NO_TIME
        columns["about_from"].append(about[0])
        columns["about_until"].append(about[1])
        self._names.add(document.text, document.speaker)
        for source, counting in self._counting.items():
            counting.add(SOURCES[source](self._tokenizer, document.text))

    def _find(self, memory_id: str) -> int:
        """Find a document's number, -1 for none."""
        turn = chunk_of(memory_id)
        place = bisect_left(self._turns, turn) if turn else len(self._turns)
        if place < len(self._turns) and self._turns[place] == turn:
            return place
        place = bisect_left(self._others, memory_id)
        there = place < len(self._others) and self._others[place] == memory_id
        return len(self._turns) + place if there else -1

    def put_vector(self, memory_id: str, vector: np.ndarray) -> None:
        """Take a vector, once all documents are in; one of a stranger is passed over.

        Args:
            memory_id: Whose.
            vector: Shape (dim,), unit length.
        """
        number, count = self._find(memory_id), len(self._turns) + len(self._others)
        if number < 0:
            return
        if self._spool is None:
            path = self._folder / SPOOL
            with path.open("wb") as file:
                if hasattr(os, "posix_fallocate"):  # else a full disk kills who writes to the map
                    os.posix_fallocate(file.fileno(), 0, 2 * count * self._dim)
            shape = (count, self._dim)
            self._spool = np.memmap(path, mode="r+", dtype=np.float16, shape=shape)
            self._has = np.zeros(count, bool)
        self._spool[number] = vector
        self._has[number] = True

    def finish(self) -> Header:
        """Write everything.

        Returns:
            What the index says of itself.
        """
        folder = self._folder
        Ids.write(np.frombuffer(self._turns, np.int64), self._others, folder)
        columns = {name: np.array(self._columns.pop(name), kind) for name, kind in COLUMNS.items()}
        before, after = columns["before"], columns["after"]
        for number, named in self._unresolved.items():
            before[number] = self._find(named)
        after[before[before >= 0]] = np.flatnonzero(before >= 0)
        columns["session"] = sessions(before)
        for name, values in columns.items():
            np.save(folder / f"{name}.npy", values)
        self._names.write(folder)
        totals = {}
        for source in list(self._counting):
            own = self._counting.pop(source).finish(folder, source)
            for view in self._views:
                if view.source == source:
                    totals[view.name] = write_view(view, own, before, after, folder)
            del own
        if len(before) >= self._options.compiled_from:
            compiled.load()  # into the cache on disk, for the process that talks
        header = Header(
            format=FORMAT,
            documents=len(before),
            words=int(columns["words"].sum()),
            views=totals,
            vectors=self._write_vectors(),
            speakers=list(self._speakers),
        )
        (folder / HEADER).write_bytes(msgspec.json.encode(header))
        return header

    def _write_vectors(self) -> int:
        if self._spool is None:
            return 0
        rows = np.flatnonzero(self._has)
        vectors.write(rows, self._spool, self._folder, self._options)
        self._spool = None
        (self._folder / SPOOL).unlink()
        return len(rows)


def build(
    documents: list[Document],
    held: dict[str, np.ndarray],
    dim: int,
    folder: Path,
    tokenizer: Tokenizer,
    options: IndexOptions,
) -> Header:
    """Write a sealed index of what is in memory.

    Args:
        documents: In any order.
        held: Unit vectors by memory id; some may be missing.
        dim: Dimension of the vectors, 0 for none.
        folder: Where the files go; must exist and be empty.
        tokenizer: The same one that queries will use.
        options: The index's options.

    Returns:
        What the index says of itself.
    """
    builder = Builder(folder, tokenizer, options, dim)
    order = sorted(documents, key=lambda d: (not chunk_of(d.id), chunk_of(d.id), d.id))
    for document in order:
        builder.add(document)
    for memory_id, vector in held.items():
        builder.put_vector(memory_id, vector)
    return builder.finish()


def sessions(before: np.ndarray) -> np.ndarray:
    """Number the sessions: a session is a chain of neighbours, and has its first one's number.

    Args:
        before: Shape (n,), who was said before each document, -1 for nobody.

    Returns:
        Shape (n,), int32.
    """
    first = np.where(before >= 0, before, np.arange(len(before), dtype=np.int32)).astype(np.int32)
    while not np.array_equal(further := first[first], first):
        first = further
    return first


def _code(kind: str) -> str:
    """Return the array type code of a NumPy dtype."""
    return {"int32": "i", "int64": "q", "float32": "f", "float64": "d", "bool": "b"}[kind]
