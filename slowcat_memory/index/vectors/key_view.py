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

import numpy as np

from slowcat_memory.core.text.normalize import digest
from slowcat_memory.index.format import Pointer
from slowcat_memory.index.table import Column, Texts, open_or_empty
from slowcat_memory.index.vectors.vector_view import VectorView


class SealedKeys:
    """The sealed keys of one view, ordered by document and name."""

    def __init__(self, sealed: Path | None, view: str) -> None:
        self.targets = open_or_empty(sealed, f"{view}.targets", np.int32)
        self.digests = open_or_empty(sealed, f"{view}.digests", np.int64)
        self.weights = open_or_empty(sealed, f"{view}.weights", np.float32)
        self.names = Texts(sealed, view)

    def __len__(self) -> int:
        return len(self.targets)

    def of_document(self, target: int) -> range:
        wanted = np.array([target, target + 1], self.targets.dtype)
        return range(*self.targets.searchsorted(wanted).tolist())


class KeyWriter:
    """Collects one view's keys, document by document, and stores them."""

    def __init__(self) -> None:
        self._targets, self._digests = array("i"), array("q")
        self._weights, self._names = array("f"), list[bytes]()

    def __len__(self) -> int:
        return len(self._targets)

    def add(self, target: int, pointers: Sequence[Pointer]) -> None:
        """Add all keys of a document, whose number is higher than any before."""
        for pointer in sorted(pointers, key=lambda pointer: pointer.name):
            self._targets.append(target)
            self._digests.append(digest(pointer.text))
            self._weights.append(pointer.weight)
            self._names.append(pointer.name.encode())

    def find(self, target: int, name: str) -> int:
        targets = np.frombuffer(self._targets, np.int32)
        first, last = targets.searchsorted(np.array([target, target + 1], np.int32)).tolist()
        wanted = name.encode()
        return next((n for n in range(first, last) if self._names[n] == wanted), -1)

    def finish(self, folder: Path, view: str) -> None:
        for name, values, kind in (
            ("targets", self._targets, np.int32),
            ("digests", self._digests, np.int64),
            ("weights", self._weights, np.float32),
        ):
            np.save(folder / f"{view}.{name}.npy", np.frombuffer(values, kind))
        Texts.write(self._names, folder, view)


class KeyView:
    """One view's keys, sealed and in the tail. Document numbers are ``targets`` here."""

    def __init__(self, name: str, dense: VectorView, sealed: Path | None = None) -> None:
        """Open the sealed keys of one of ``KEY_VIEWS``; ``dense`` has their vectors."""
        self._sealed = SealedKeys(sealed, name)
        count = len(self._sealed)
        self._targets = Column(self._sealed.targets)
        self._weights = Column(self._sealed.weights)
        self._digests = Column(self._sealed.digests)
        self._alive = Column(np.ones(count, bool))
        self._names: list[str] = []  # of the tail
        self._tail: dict[int, dict[str, int]] = {}  # by document: its keys in the tail
        self._living = count
        self.dense = dense

    def __len__(self) -> int:
        return self._living

    def of_document(self, target: int) -> dict[str, int]:
        sealed = self._sealed.of_document(target) if len(self._sealed) else ()
        found = {self._sealed.names[number]: number for number in sealed if self._alive[number]}
        return found | self._tail.get(target, {})

    def find(self, target: int, name: str) -> int:
        return self.of_document(target).get(name, -1)

    def digest(self, number: int) -> int:
        return int(self._digests[number])

    def put(self, target: int, pointers: Sequence[Pointer]) -> None:
        """Replace a document's keys. One whose text is unchanged keeps its vector."""
        wanted = {pointer.name: pointer for pointer in pointers}
        for name, number in self.of_document(target).items():
            pointer = wanted.get(name)
            if pointer is None or self._digests[number] != digest(pointer.text):
                self._drop(number, target)
            else:
                self._weights[number] = wanted.pop(name).weight
        for name, pointer in wanted.items():
            self._append(target, name, pointer.weight, digest(pointer.text))

    def remove(self, target: int) -> None:
        for number in self.of_document(target).values():
            self._drop(number, target)

    def renumber(self, old: int, new: int) -> None:
        """Move the keys of document ``old`` to ``new``, its new number."""
        for name, number in self.of_document(old).items():
            added = self._append(new, name, self._weights[number], int(self._digests[number]))
            self.dense.renumber(number, added)
            self._drop(number, old)

    def _append(self, target: int, name: str, weight: float, hashed: int) -> int:
        number = len(self._targets)
        self._targets.append(target)
        self._weights.append(weight)
        self._digests.append(hashed)
        self._alive.append(True)
        self._names.append(name)
        self._tail.setdefault(target, {})[name] = number
        self._living += 1
        return number

    def _drop(self, number: int, target: int) -> None:
        self.dense.remove(number)
        self._alive[number] = False
        self._living -= 1
        if number >= len(self._sealed):
            names = self._tail[target]
            del names[self._names[number - len(self._sealed)]]
            if not names:
                del self._tail[target]

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
        sealed = self._sealed.targets
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
