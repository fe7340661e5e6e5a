"""Memory ids by document number and back, without an object for each.

Most documents are chunks, whose ids are the numbers of their turns: those are a sorted array. Other
ids are bytes, concatenated, sorted too.
"""

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np

from slowcat_memory.core.memory import chunk_id, turn_of
from slowcat_memory.index.files.arrays import open_array

TURNS, STARTS, BYTES = "ids.turns.npy", "ids.starts.npy", "ids.others.npy"


def chunk_of(memory_id: str) -> int:
    """Return the turn number in a chunk's id, 0 for any other id."""
    turn = turn_of(memory_id)
    return turn if turn and turn < 2**63 and chunk_id(turn) == memory_id else 0


class IdSequence(Sequence[str]):
    """The ids of some documents, each made when it is read. Stays right while the index changes."""

    def __init__(self, ids: "Ids", numbers: np.ndarray) -> None:
        cut = int(numbers.searchsorted(ids.base))
        self._ids, self._sealed = ids, numbers[:cut]
        self._tail = ids.appended(numbers[cut:])

    def __len__(self) -> int:
        return len(self._sealed) + len(self._tail)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[n] for n in range(*place.indices(len(self)))]
        if place < 0:
            place = range(len(self))[place]
        if place < len(self._sealed):
            return self._ids[self._sealed.item(place)]
        return self._tail[place - len(self._sealed)]

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented


class Ids:
    """Document numbers by id, in the order of addition: those of a sealed index first."""

    def __init__(self, sealed: Path | None = None) -> None:
        self._turns, self._starts = np.zeros(0, np.int64), np.zeros(1, np.int64)
        self._bytes = np.zeros(0, np.uint8)
        if sealed is not None:
            self._turns, self._starts = open_array(sealed / TURNS), open_array(sealed / STARTS)
            self._bytes = open_array(sealed / BYTES)
        self._chunks = len(self._turns)
        self.base = self._chunks + len(self._starts) - 1
        self._tail: list[str] = []
        self._number: dict[str, int] = {}

    @staticmethod
    def write(turns: np.ndarray, others: list[str], folder: Path) -> None:
        """Store ids; both arguments are rising.

        ``turns`` are the turn numbers of the chunks, the first documents, shape (n,); ``others``
        the ids of the documents after them.
        """
        encoded = [memory_id.encode() for memory_id in others]
        starts = np.zeros(len(others) + 1, np.int64)
        np.cumsum([len(one) for one in encoded], out=starts[1:])
        np.save(folder / TURNS, np.asarray(turns, np.int64))
        np.save(folder / STARTS, starts)
        np.save(folder / BYTES, np.frombuffer(b"".join(encoded), np.uint8))

    def __len__(self) -> int:
        return self.base + len(self._tail)

    def append(self, memory_id: str) -> int:
        """Return the next number; an earlier number of the same id is no longer found."""
        number = len(self)
        self._tail.append(memory_id)
        self._number[memory_id] = number
        return number

    def appended(self, numbers: np.ndarray) -> list[str]:
        """Return the ids of appended documents."""
        return [self._tail[place] for place in (numbers - self.base).tolist()]

    def drop(self, number: int) -> None:
        """Make an appended id unfindable. For a sealed one the caller keeps the tombstone."""
        if number >= self.base:
            self._number.pop(self._tail[number - self.base], None)
            self._tail[number - self.base] = ""

    def __getitem__(self, number: int) -> str:
        if number >= self.base:
            return self._tail[number - self.base]
        if number < self._chunks:
            return chunk_id(self._turns.item(number))
        return self._other(number - self._chunks)

    def _other(self, place: int) -> str:
        return self._bytes[self._starts[place] : self._starts[place + 1]].tobytes().decode()

    def find(self, memory_id: str) -> int:
        """Return an id's latest number, -1 when there is none. A sealed one may be dead."""
        number = self._number.get(memory_id)
        if number is not None:
            return number
        if turn := chunk_of(memory_id):
            place = int(self._turns.searchsorted(turn))
            if place < self._chunks and self._turns[place] == turn:
                return place
        count = self.base - self._chunks
        place = bisect_left(range(count), memory_id, key=self._other) if count else 0
        return self._chunks + place if place < count and self._other(place) == memory_id else -1
