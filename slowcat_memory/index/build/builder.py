"""A sealed index, written from documents that come one by one; memory stays bounded by columns."""

from array import array
from bisect import bisect_left
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.core.text.normalize import digest
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index.lexical import scorer_loader
from slowcat_memory.index.files import key_file
from slowcat_memory.index.lexical.counting import Counting, write_view
from slowcat_memory.index.files.document import NO_TIME, Document
from slowcat_memory.index.files.ids import Ids, chunk_of
from slowcat_memory.index.files.key_file import KeyWriter
from slowcat_memory.index.lexical.name_lexicon import Names
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.vectors.spool import Spool
from slowcat_memory.index.vectors.sealed_vectors import VECTORS
from slowcat_memory.index.lexical.views import SOURCES, keyed, sources, views

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
        speakers: Names, in the order of the column's numbers.
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
        self._spool = Spool(folder, VECTORS, dim)
        self._keyed = keyed(self._views)
        self._keys = {name: KeyWriter() for name in key_file.VIEWS}
        self._key_spools = {name: Spool(folder, f"{VECTORS}.{name}", dim) for name in self._keys}

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
            counting.add(
                SOURCES[source](self._tokenizer, document.text),
                SOURCES[source](self._tokenizer, document.told) if source in self._keyed else (),
            )
        for name, writer in self._keys.items():
            held = [(pointer, digest(pointer.text)) for pointer in document.pointers(name)]
            writer.add(len(columns["before"]) - 1, held)

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
            memory_id: Whose: a document's id, or a key's.
            vector: Shape (dim,), unit length.
        """
        if (number := self._find(memory_id)) >= 0:
            self._spool.put(number, len(self._turns) + len(self._others), vector)
            return
        owner, name = key_file.parts(memory_id)
        if (target := self._find(owner) if owner else -1) < 0:
            return
        for view, writer in self._keys.items():
            if (key := writer.find(target, name)) >= 0:
                self._key_spools[view].put(key, len(writer), vector)

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
            own, told = self._counting.pop(source).finish(folder, source)
            for view in self._views:
                if view.source == source:
                    keys = told if view.keys else None
                    totals[view.name] = write_view(view, own, keys, before, after, folder)
            del own, told
        for name, writer in self._keys.items():
            writer.finish(folder, name)
        if len(before) >= self._options.compiled_from:
            scorer_loader.load()  # into the cache on disk, for the process that talks
        header = Header(
            format=FORMAT,
            documents=len(before),
            words=int(columns["words"].sum()),
            views=totals,
            vectors=self._spool.finish(self._options),
            keys={name: s.finish(self._options) for name, s in self._key_spools.items()},
            speakers=list(self._speakers),
        )
        (folder / HEADER).write_bytes(msgspec.json.encode(header))
        return header


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
