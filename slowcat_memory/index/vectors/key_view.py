"""Index keys of documents, searched by their vectors: a hit on a key is a hit on its document.

Keys are numbered like documents: sealed ones first, then those of the tail; a number is never used
again. A document's keys follow it: they leave the index with it, and take its new number when it is
promoted to the tail.

A key's text is not stored, only its digest, which shows whether it changed. Its vector is
in files of its own (see ``sealed_vectors``).
"""

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slowcat_memory.core.text.normalize import digest
from slowcat_memory.index.format import Pointer
from slowcat_memory.index.table import Column, open_or_empty
from slowcat_memory.index.vectors.vector_view import VectorView

COLUMNS = {"targets": np.int32, "names": np.int64, "digests": np.int64, "weights": np.float32}
"""The files of a view: each key's document, and the digests of its name and its text."""


class KeyWriter:
    """Collects one view's keys, document by document, and stores them."""

    def __init__(self) -> None:
        self._columns: dict[str, array[Any]] = {
            name: array(np.dtype(kind).char) for name, kind in COLUMNS.items()
        }

    def __len__(self) -> int:
        return len(self._columns["targets"])

    def add(self, target: int, pointers: Sequence[Pointer]) -> None:
        """Add all keys of a document, whose number is higher than any before."""
        for one in pointers:
            row = (target, digest(one.name), digest(one.text), one.weight)
            for column, value in zip(self._columns.values(), row, strict=True):
                column.append(value)

    def find(self, target: int, name: str) -> int:
        targets = np.frombuffer(self._columns["targets"], np.int32)
        first, last = targets.searchsorted(np.array([target, target + 1], np.int32)).tolist()
        names, wanted = self._columns["names"], digest(name)
        return next((n for n in range(first, last) if names[n] == wanted), -1)

    def finish(self, folder: Path, view: str) -> None:
        for name, kind in COLUMNS.items():
            np.save(folder / f"{view}.{name}.npy", np.frombuffer(self._columns[name], kind))


class KeyView:
    """One view's keys, sealed and in the tail. Document numbers are ``targets`` here."""

    def __init__(self, view: str, dense: VectorView, sealed: Path | None = None) -> None:
        """Open the sealed keys of one of ``KEY_VIEWS``; ``dense`` has their vectors."""
        self._targets, self._names, self.digests, self._weights = (
            Column(open_or_empty(sealed, f"{view}.{name}", kind)) for name, kind in COLUMNS.items()
        )
        self._sealed = len(self._targets)
        self._alive = Column(np.ones(self._sealed, bool))
        self._tail: dict[int, list[int]] = {}  # by document: its keys in the tail
        self.dense = dense

    def __len__(self) -> int:
        return int(np.count_nonzero(self._alive.values))

    def of_document(self, target: int) -> dict[int, int]:
        """Return a document's keys by the digests of their names."""
        wanted = np.array([target, target + 1], np.int32)
        sealed = range(*self._targets.values[: self._sealed].searchsorted(wanted).tolist())
        numbers = (*sealed, *self._tail.get(target, ()))
        return {int(self._names[n]): n for n in numbers if self._alive[n]}

    def find(self, target: int, name: str) -> int:
        return self.of_document(target).get(digest(name), -1)

    def put(self, target: int, pointers: Sequence[Pointer]) -> None:
        """Replace a document's keys. One whose text is unchanged keeps its vector."""
        wanted = {digest(pointer.name): pointer for pointer in pointers}
        for name, number in self.of_document(target).items():
            pointer = wanted.get(name)
            if pointer is None or self.digests[number] != digest(pointer.text):
                self._drop(number)
            else:
                self._weights[number] = wanted.pop(name).weight
        for name, pointer in wanted.items():
            self._append(target, name, pointer.weight, digest(pointer.text))

    def remove(self, target: int) -> None:
        for number in self.of_document(target).values():
            self._drop(number)
        self._tail.pop(target, None)

    def renumber(self, old: int, new: int) -> None:
        """Move the keys of document ``old`` to ``new``, its new number."""
        for name, number in self.of_document(old).items():
            added = self._append(new, name, self._weights[number], int(self.digests[number]))
            self.dense.renumber(number, added)
        self.remove(old)

    def _append(self, target: int, name: int, weight: float, hashed: int) -> int:
        number = len(self._targets)
        self._targets.append(target)
        self._names.append(name)
        self.digests.append(hashed)
        self._weights.append(weight)
        self._alive.append(True)
        self._tail.setdefault(target, []).append(number)
        return number

    def _drop(self, number: int) -> None:
        self.dense.remove(number)
        self._alive[number] = False

    def without_vector(self) -> np.ndarray:
        """Return the document of each key that has no vector."""
        return self._targets.values[self._alive.values & ~self.dense.present(len(self._targets))]

    def nearest(self, query: np.ndarray, k: int) -> np.ndarray:
        """Return the documents of the k nearest keys of each generation, unordered, not unique."""
        numbers = np.sort(self.dense.nearest(query, k))
        return self._targets.values[numbers[self._alive.values[numbers]]].astype(np.int64)

    def best_cosines(self, query: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Return each document's best key: cosine times weight.

        ``documents`` are rising numbers, shape (n,). The result has shape (n,), float32; NaN for
        documents without a key vector.
        """
        places, weights, cosines = self._compare(query, documents)
        best = np.full(len(documents), np.nan, np.float32)
        np.fmax.at(best, places, weights * cosines)
        return best

    def sum_votes(self, query: np.ndarray, documents: np.ndarray, same: float) -> np.ndarray:
        """Sum the weights of the keys that mean the same as the query, shape (n,), float32.

        A key means the same from the cosine ``same`` on. Its weight is multiplied by how far its
        cosine is beyond ``same``, 0 to 1; the sum is 0 without a key. ``documents`` are rising
        numbers, shape (n,).
        """
        places, weights, cosines = self._compare(query, documents)
        total = np.zeros(len(documents), np.float32)
        beyond = np.fmax(cosines - same, 0.0) / (1 - same)
        np.add.at(total, places, weights * beyond)
        return total

    def _compare(
        self, query: np.ndarray, documents: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return, for each key of the documents: document position, weight, cosine."""
        numbers, places = self._pointing_to(documents)
        return places, self._weights.values[numbers], self.dense.cosines(query, numbers)

    def _pointing_to(self, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the living keys of documents, rising, and the position of each one's document."""
        sealed = self._targets.values[: self._sealed]
        wanted = documents.astype(sealed.dtype)  # of another type, all targets would be converted
        first = sealed.searchsorted(wanted)
        counts = sealed.searchsorted(wanted, side="right") - first
        # One run of sealed keys per document, all runs concatenated.
        places = np.repeat(np.arange(len(documents)), counts)
        numbers = np.arange(len(places)) + np.repeat(first - np.cumsum(counts) + counts, counts)
        tail = self._targets.values[len(sealed) :]
        if len(tail) and len(documents):
            at = documents.searchsorted(tail)
            at[at == len(documents)] = 0
            there = np.flatnonzero(documents[at] == tail)
            numbers = np.concatenate((numbers, there + len(sealed)))
            places = np.concatenate((places, at[there]))
        living = self._alive.values[numbers]
        return numbers[living], places[living]
