"""Writes a sealed index from documents that come one by one; memory is bounded by columns."""

from array import array
from bisect import bisect_left
from pathlib import Path
from typing import Any

import numpy as np

from slowcat_memory.core.text.normalize import Tokenizer, digest
from slowcat_memory.index.files.document import KEY_VIEWS, NO_TIME, Document, split_key_id
from slowcat_memory.index.files.header import COLUMNS, FORMAT, Header, write_header
from slowcat_memory.index.lexical.lexical_writer import LexicalWriter
from slowcat_memory.index.lexical.name_lexicon import NameLexicon
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.table import Ids, chunk_of
from slowcat_memory.index.vectors.key_view import KeyWriter
from slowcat_memory.index.vectors.vector_view import VECTORS, VectorSpool


class Builder:
    """Writes a sealed index: every ``add``, then every ``put_vector``, then ``finish``."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, options: IndexOptions, dim: int) -> None:
        """Start an index in an existing, empty folder; ``dim`` is 0 without vectors.

        Queries must use the same tokenizer.
        """
        self._folder, self._tokenizer, self._options = folder, tokenizer, options
        self._turns, self._others = array("q"), list[str]()
        self._columns: dict[str, array[Any]] = {
            name: array(_type_code(kind)) for name, kind in COLUMNS.items()
        }
        self._speakers: dict[str, int] = {}
        self._names = NameLexicon()
        self._words = LexicalWriter()
        self._unresolved: dict[int, str] = {}  # documents whose predecessor had not come yet
        self._vectors = VectorSpool(folder, VECTORS, dim)
        self._keys = {name: KeyWriter() for name in KEY_VIEWS}
        self._key_vectors = {
            name: VectorSpool(folder, f"{VECTORS}.{name}", dim) for name in KEY_VIEWS
        }

    def add(self, document: Document) -> None:
        """Add the next document: first chunks, by their turns' numbers, then others, by id.

        Raises:
            ValueError: They come in another order.
        """
        self._append_id(document.id)
        columns = self._columns
        number = len(columns["before"])
        before = self._find(document.before) if document.before else -1
        if document.before and before < 0:
            self._unresolved[number] = document.before
        about = document.about or NO_TIME
        row = {
            "before": before,
            "after": -1,
            "at": document.at,
            "importance": document.importance,
            "pinned": document.pinned,
            "substance": document.substance,
            "asks": document.asks,
            "agent": document.agent,
            "words": document.words,
            "digest": digest(document.text),
            "session": -1,
            "speaker": self._speakers.setdefault(document.speaker, len(self._speakers)),
            "about_from": about[0],
            "about_until": about[1],
        }
        for name, value in row.items():
            columns[name].append(value)
        self._names.add(document.text, document.speaker)
        self._words.add(self._tokenizer(document.text))
        for name, writer in self._keys.items():
            writer.add(number, document.pointers(name))

    def _append_id(self, memory_id: str) -> None:
        turn = chunk_of(memory_id)
        if turn and not self._others and turn > (self._turns or (0,))[-1]:
            self._turns.append(turn)
        elif self._others and memory_id <= self._others[-1]:
            raise ValueError("documents out of order")
        else:
            self._others.append(memory_id)

    def _find(self, memory_id: str) -> int:
        turn = chunk_of(memory_id)
        place = bisect_left(self._turns, turn) if turn else len(self._turns)
        if place < len(self._turns) and self._turns[place] == turn:
            return place
        place = bisect_left(self._others, memory_id)
        there = place < len(self._others) and self._others[place] == memory_id
        return len(self._turns) + place if there else -1

    def put_vector(self, memory_id: str, vector: np.ndarray) -> None:
        """Set the vector of a document or key, shape (dim,), unit length; an unknown id is ignored.

        All documents must have been added.
        """
        if (number := self._find(memory_id)) >= 0:
            self._vectors.put(number, len(self._turns) + len(self._others), vector)
            return
        owner, name = split_key_id(memory_id)
        if (target := self._find(owner) if owner else -1) < 0:
            return
        for view, writer in self._keys.items():
            if (key := writer.find(target, name)) >= 0:
                self._key_vectors[view].put(key, len(writer), vector)

    def finish(self) -> Header:
        folder = self._folder
        Ids.write(np.frombuffer(self._turns, np.int64), self._others, folder)
        columns = self._finish_columns()
        before, after = columns["before"], columns["after"]
        for name, values in columns.items():
            np.save(folder / f"{name}.npy", values)
        self._names.write(folder)
        tokens = self._words.finish(folder, self._options, before, after)
        for name, writer in self._keys.items():
            writer.finish(folder, name)
        header = Header(
            format=FORMAT,
            documents=len(before),
            words=int(columns["words"].sum()),
            k1=self._options.k1,
            b=self._options.b,
            tokens=tokens,
            vectors=self._vectors.finish(),
            keys={name: spool.finish() for name, spool in self._key_vectors.items()},
            speakers=list(self._speakers),
        )
        write_header(header, folder)
        return header

    def _finish_columns(self) -> dict[str, np.ndarray]:
        """Return the columns with all neighbours resolved and the sessions numbered."""
        columns = {name: np.array(self._columns.pop(name), kind) for name, kind in COLUMNS.items()}
        before = columns["before"]
        for number, predecessor in self._unresolved.items():
            before[number] = self._find(predecessor)
        columns["after"][before[before >= 0]] = np.flatnonzero(before >= 0)
        columns["session"] = number_sessions(before)
        return columns


def number_sessions(before: np.ndarray) -> np.ndarray:
    """Return each document's session: the number of the first one of its chain of neighbours.

    ``before`` is the previous document of each, -1 for none. Both have shape (n,); the result is
    int32.
    """
    first = np.where(before >= 0, before, np.arange(len(before), dtype=np.int32)).astype(np.int32)
    while not np.array_equal(further := first[first], first):
        first = further
    return first


def _type_code(kind: str) -> str:
    return {"int32": "i", "int64": "q", "float32": "f", "float64": "d", "bool": "b"}[kind]
