"""Keys of documents, found by their vectors: who is found by a key is the document behind it.

Numbered like documents: sealed ones first, then those of the tail; a number is never used again. A
document's keys go with it: out of the index when it goes, to its new number when it is lifted.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from slowcat_memory.core.text.normalize import digest
from slowcat_memory.index.files.column import Column
from slowcat_memory.index.files.key_file import Pointer, SealedKeys
from slowcat_memory.index.vectors.vector_view import DenseView


class KeyView:
    """One view's keys, sealed and of the tail."""

    def __init__(self, name: str, dim: int, sealed: Path | None = None) -> None:
        """Open what is sealed, or start empty; vectors come by ``dense.attach``.

        Args:
            name: The view's name.
            dim: Dimension of the vectors, 0 for none.
            sealed: Folder of the sealed index.
        """
        self.name = name
        self._sealed = SealedKeys(sealed, name)
        count = len(self._sealed)
        self._targets = Column(np.int32, self._sealed.targets)
        self._weights = Column(np.float32, self._sealed.weights)
        self._digests = Column(np.int64, self._sealed.digests)
        self._alive = Column("bool", np.ones(count, bool))
        self._names: list[str] = []  # of the tail
        self._tail: dict[int, dict[str, int]] = {}  # by document: its keys in the tail
        self._living = count
        self.dense = DenseView(dim)

    def __len__(self) -> int:
        return self._living

    def _name(self, number: int) -> str:
        sealed = len(self._sealed)
        return self._sealed.name(number) if number < sealed else self._names[number - sealed]

    def of(self, target: int) -> dict[str, int]:
        """Return a document's keys.

        Args:
            target: Its number.

        Returns:
            Numbers of keys by name.
        """
        sealed = self._sealed.of(target) if len(self._sealed) else ()
        found = {self._sealed.name(number): number for number in sealed if self._alive[number]}
        return found | self._tail.get(target, {})

    def find(self, target: int, name: str) -> int:
        """Find a key.

        Args:
            target: Its document's number.
            name: Its own name.

        Returns:
            Its number, -1 for none.
        """
        return self.of(target).get(name, -1)

    def digest(self, number: int) -> int:
        """Return the digest of a key's text.

        Args:
            number: Its number.

        Returns:
            The digest.
        """
        return int(self._digests[number])

    # ---------------------------------------------------------------- change

    def put(self, target: int, pointers: Sequence[Pointer]) -> None:
        """Set a document's keys. One that stays as it was keeps its vector.

        Args:
            target: The document's number.
            pointers: All of its keys in this view.
        """
        known, wanted = self.of(target), {pointer.name: pointer for pointer in pointers}
        for name, number in known.items():
            pointer = wanted.get(name)
            if pointer is None or self._digests[number] != digest(pointer.text):
                self._drop(number, target)
            else:
                self._weights[number] = pointer.weight
                del wanted[name]
        for pointer in wanted.values():
            self._append(target, pointer.name, pointer.weight, digest(pointer.text))

    def remove(self, target: int) -> None:
        """Take a document's keys out.

        Args:
            target: The document's number.
        """
        for number in self.of(target).values():
            self._drop(number, target)

    def move(self, old: int, new: int) -> None:
        """Let a document's keys point to it under another number.

        Args:
            old: The document's number until now.
            new: From now on.
        """
        for name, number in self.of(old).items():
            added = self._append(new, name, self._weights[number], int(self._digests[number]))
            self.dense.move(number, added)
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
            held = self._tail[target]
            del held[self._names[number - len(self._sealed)]]
            if not held:
                del self._tail[target]

    def missing(self) -> list[tuple[int, str]]:
        """List the keys without a vector: their documents' numbers, and their names."""
        numbers = np.arange(len(self._targets))
        wanted = self._alive.take(numbers) & ~self.dense.held(len(numbers))
        return [(int(self._targets[n]), self._name(n)) for n in np.flatnonzero(wanted).tolist()]

    # ---------------------------------------------------------------- search

    def nearest(self, query: np.ndarray, k: int) -> np.ndarray:
        """Find the documents that have the nearest keys.

        Args:
            query: Shape (dim,), unit length.
            k: How many keys are looked at, in each generation.

        Returns:
            Document numbers, each once or more, in no order.
        """
        numbers = np.sort(self.dense.top(query, k)[0])
        return self._targets.take(numbers[self._alive.take(numbers)]).astype(np.int64)

    def best(self, query: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Tell how near each document's best key is.

        Args:
            query: Shape (dim,), unit length.
            documents: Document numbers, rising, shape (n,).

        Returns:
            Cosines times the key's weight, shape (n,), float32; NaN where no key has a vector.
        """
        places, weights, cosines = self._compared(query, documents)
        made = np.full(len(documents), np.nan, np.float32)
        np.fmax.at(made, places, weights * cosines)
        return made

    def summed(self, query: np.ndarray, documents: np.ndarray, same: float) -> np.ndarray:
        """Add up what keys of the same sense say for and against each document.

        Args:
            query: Shape (dim,), unit length.
            documents: Document numbers, rising, shape (n,).
            same: The cosine from which a key is of the same sense.

        Returns:
            Shape (n,), float32: the sum of weights, each times how far its key is beyond ``same``,
            0 to 1; 0 where no key is.
        """
        places, weights, cosines = self._compared(query, documents)
        made = np.zeros(len(documents), np.float32)
        beyond = np.fmax(cosines - same, 0.0) / (1 - same)
        np.add.at(made, places, weights * beyond)
        return made

    def _compared(
        self, query: np.ndarray, documents: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compare the keys of documents: whose each is (a place), its weight, its cosine."""
        numbers, places = self._pointing_to(documents)
        return places, self._weights.take(numbers), self.dense.cosines(query, numbers)

    def _pointing_to(self, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the living keys of documents, rising, and each one's place among the documents."""
        held = self._sealed.targets
        wanted = documents.astype(held.dtype)  # of another type, all targets would be converted
        first = held.searchsorted(wanted)
        counts = held.searchsorted(wanted, side="right") - first
        places = np.repeat(np.arange(len(documents)), counts)
        numbers = np.arange(len(places)) + np.repeat(first - np.cumsum(counts) + counts, counts)
        tail = self._targets.tail
        if len(tail) and len(documents):
            at = documents.searchsorted(tail)
            at[at == len(documents)] = 0
            there = np.flatnonzero(documents[at] == tail)
            numbers = np.concatenate((numbers, there + len(held)))
            places = np.concatenate((places, at[there]))
        living = self._alive.take(numbers)
        return numbers[living], places[living]
