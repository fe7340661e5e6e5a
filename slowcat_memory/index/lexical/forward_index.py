"""The forward index: the terms of each document, and the vocabulary that numbers them.

A document's own terms and those of its keys are counted apart, since windows share only the former.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from slowcat_memory.index.files.arrays import open_array

Counts = Mapping[str, int]
"""Occurrences by term."""
NAME = "words"  # prefix of the names of the files
OWN = f"{NAME}.own"


class Vocabulary:
    """The terms of a sealed index; a term's row is its position in a sorted array of hashes.

    Opening it costs nothing, whatever its size.
    """

    def __init__(self, sealed: Path | None = None) -> None:
        self._hashes, self._starts = np.zeros(0, np.uint64), np.zeros(1, np.int64)
        self._terms = np.zeros(0, np.uint8)
        if sealed is not None:
            self._hashes = open_array(sealed / f"{NAME}.hashes.npy")
            self._starts = open_array(sealed / f"{NAME}.starts.npy")
            self._terms = open_array(sealed / f"{NAME}.terms.npy")

    @staticmethod
    def write(terms: Sequence[str], folder: Path) -> np.ndarray:
        """Store distinct terms and return the row of each, shape (n,), int32."""
        encoded = [term.encode() for term in terms]
        hashes = np.fromiter(map(_hash, encoded), np.uint64, len(terms))
        order = np.argsort(hashes, kind="stable")
        encoded = [encoded[place] for place in order.tolist()]
        starts = np.zeros(len(terms) + 1, np.int64)
        np.cumsum([len(term) for term in encoded], out=starts[1:])
        np.save(folder / f"{NAME}.hashes.npy", hashes[order])
        np.save(folder / f"{NAME}.starts.npy", starts)
        np.save(folder / f"{NAME}.terms.npy", np.frombuffer(b"".join(encoded), np.uint8))
        rows = np.empty(len(terms), np.int32)
        rows[order] = np.arange(len(terms), dtype=np.int32)
        return rows

    def __len__(self) -> int:
        return len(self._hashes)

    def rows(self, terms: Sequence[str]) -> list[int]:
        """Return the row of each term, -1 for an unknown one."""
        hashes = np.array([_hash(term.encode()) for term in terms], np.uint64)
        places = self._hashes.searchsorted(hashes).tolist()
        return [self._row(*found) for found in zip(places, terms, hashes, strict=True)]

    def _row(self, place: int, term: str, hashed: np.uint64) -> int:
        while place < len(self) and self._hashes[place] == hashed:
            if self.term(place) == term:
                return place
            place += 1
        return -1

    def term(self, row: int) -> str:
        return self._terms[self._starts[row] : self._starts[row + 1]].tobytes().decode()


def _hash(encoded: bytes) -> int:
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little")


class ForwardIndex:
    """Every document's own terms, sealed and in the tail."""

    def __init__(self, sealed: Path | None) -> None:
        self.vocabulary = Vocabulary(sealed)
        self._indptr = np.zeros(1, np.int64)
        self._rows, self._times = np.zeros(0, np.int32), np.zeros(0, np.uint16)
        if sealed is not None:
            self._indptr = open_array(sealed / f"{OWN}.indptr.npy")
            self._rows = open_array(sealed / f"{OWN}.rows.npy")
            self._times = open_array(sealed / f"{OWN}.times.npy")
        self._tail: dict[int, Counts] = {}

    def add(self, document: int, own: Counts) -> None:
        self._tail[document] = own

    def remove(self, document: int) -> None:
        """Remove a tail document's terms; does nothing for a sealed one."""
        self._tail.pop(document, None)

    def own(self, document: int) -> Counts:
        """Return a document's own terms; read-only."""
        counts = self._tail.get(document)
        return self._by_term(self._sealed(document)) if counts is None else counts

    def sum_sealed(self, documents: list[int]) -> tuple[Counter[str], list[int]]:
        """Sum sealed documents' own terms; return occurrences by term, and the terms' rows."""
        total: Counter[int] = Counter()
        for document in documents:
            total.update(self._sealed(document))
        return Counter(self._by_term(total)), list(total)

    def _sealed(self, document: int) -> dict[int, int]:
        part = slice(int(self._indptr[document]), int(self._indptr[document + 1]))
        return dict(zip(self._rows[part].tolist(), self._times[part].tolist(), strict=True))

    def _by_term(self, counts: dict[int, int]) -> Counts:
        term = self.vocabulary.term
        return {term(row): times for row, times in counts.items()}
