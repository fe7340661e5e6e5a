"""Terms to rows of postings: a sorted array of hashes, so that opening it costs nothing."""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from slowcat_memory.index.files.mapped import open_array


class Vocabulary:
    """The terms of a sealed index; a term's row is its place by hash."""

    def __init__(self, sealed: Path | None = None, source: str = "") -> None:
        """Open a stored vocabulary, or an empty one.

        Args:
            sealed: Folder of the sealed index.
            source: Whose terms.
        """
        self._hashes, self._starts = np.zeros(0, np.uint64), np.zeros(1, np.int64)
        self._bytes = memoryview(b"")
        if sealed is not None:
            self._hashes = open_array(sealed / f"{source}.hashes.npy")
            self._starts = open_array(sealed / f"{source}.starts.npy")
            terms = open_array(sealed / f"{source}.terms.npy")
            self._bytes = memoryview(terms)  # type: ignore[arg-type]  # stubs lag

    @staticmethod
    def write(terms: Sequence[str], folder: Path, source: str) -> np.ndarray:
        """Store terms.

        Args:
            terms: Each once.
            folder: Where the files go.
            source: Whose terms.

        Returns:
            Row of each term, shape (n,), int32.
        """
        hashes = np.fromiter(map(_hash, terms), np.uint64, len(terms))
        order = np.argsort(hashes, kind="stable")
        encoded = [terms[place].encode() for place in order.tolist()]
        starts = np.zeros(len(terms) + 1, np.int64)
        np.cumsum([len(term) for term in encoded], out=starts[1:])
        np.save(folder / f"{source}.hashes.npy", hashes[order])
        np.save(folder / f"{source}.starts.npy", starts)
        np.save(folder / f"{source}.terms.npy", np.frombuffer(b"".join(encoded), np.uint8))
        rows = np.empty(len(terms), np.int32)
        rows[order] = np.arange(len(terms), dtype=np.int32)
        return rows

    def __len__(self) -> int:
        return len(self._hashes)

    def rows(self, terms: Sequence[str]) -> list[int]:
        """Find terms.

        Args:
            terms: The terms.

        Returns:
            Row of each, -1 for one that is not there.
        """
        if not len(self._hashes) or not terms:
            return [-1] * len(terms)
        hashes = np.fromiter(map(_hash, terms), np.uint64, len(terms))
        places = self._hashes.searchsorted(hashes).tolist()
        return [self._at(place, term) for place, term in zip(places, terms, strict=True)]

    def _at(self, place: int, term: str) -> int:
        """Compare the term itself, from the first place that may hold it on: hashes collide."""
        encoded = term.encode()
        while place < len(self._hashes):
            held = self._bytes[self._starts[place] : self._starts[place + 1]]
            if held == encoded:
                return place
            if self._hashes[place] != _hash(term):
                return -1
            place += 1
        return -1

    def name(self, row: int) -> str:
        """Return a row's term.

        Args:
            row: The row.

        Returns:
            The term.
        """
        return bytes(self._bytes[self._starts[row] : self._starts[row + 1]]).decode()


def _hash(term: str) -> int:
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")
