"""Arrays of a sealed index in mapped files, and columns that grow behind them.

The kernel may drop a clean page of a mapped file at any time. It counts as this process's memory
while it is mapped, and costs a soft fault of about a microsecond when it is mapped again. Where
the kernel keeps files in pieces of 2 MB, one access maps the whole piece: a query that reads 400
scattered rows maps 300 MB at a million memories. ``madvise(MADV_RANDOM)`` does not help: without
huge pages it still maps 220 MB, and is slower.
"""

import mmap
import threading
from pathlib import Path
from weakref import WeakSet

import numpy as np


class _Map(mmap.mmap):
    """A map that can be weakly referenced: it ends with the last array over it."""


_shared: WeakSet[_Map] = WeakSet()  # read-only maps
_lock = threading.Lock()  # around ``_shared``


def open_array(path: Path, *, private: bool = False) -> np.ndarray:
    """Map a stored array.

    Takes 0.05 ms, a tenth of ``np.load``: an index has some thirty of them. Returns a plain array
    over the map: slicing a ``memmap`` costs 2 us.

    Args:
        path: An ``.npy`` file of version 1.0.
        private: Copy on write: changes stay in memory and the file stays as it is.

    Raises:
        ValueError: The file is not of that format.
        TypeError: The file is shorter than its header says.
    """
    with path.open("rb") as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"{path.name} is an array of another version")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        offset = file.tell()
        access = mmap.ACCESS_COPY if private else mmap.ACCESS_READ
        mapped = _Map(file.fileno(), 0, access=access)
    if not private:
        with _lock:
            _shared.add(mapped)
    return np.ndarray(shape, dtype, buffer=mapped, offset=offset)


def release_pages() -> None:
    """Unmap the pages of every read-only map; they are mapped again when they are read."""
    if hasattr(mmap, "MADV_DONTNEED"):
        with _lock:
            maps = list(_shared)
        for mapped in maps:
            mapped.madvise(mmap.MADV_DONTNEED)


def split_rows(rows: np.ndarray, base: int) -> tuple[np.ndarray, np.ndarray]:
    """Split rising rows, shape (n,), into sealed ones and tail ones, these counted from ``base``."""
    if not len(rows) or rows[-1] < base:
        return rows, rows[:0]
    cut = int(rows.searchsorted(base))
    return rows[:cut], rows[cut:] - base


class Column:
    """One value per document: a sealed array whose length is fixed, and a tail with cheap append."""

    def __init__(self, dtype: type | str, sealed: np.ndarray | None = None) -> None:
        """Start empty, or with values of shape (n,), writable, not copied; rows are added after."""
        self._sealed = np.zeros(0, dtype) if sealed is None else sealed
        self._base = len(self._sealed)
        self._tail = np.zeros(0, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._base + self._length

    def __getitem__(self, row: int) -> float:
        if row < self._base:
            return self._sealed[row].item()
        return self._tail[: self._length][row - self._base].item()

    def __setitem__(self, row: int, value: float) -> None:
        if row < self._base:
            self._sealed[row] = value
        else:
            self._tail[: self._length][row - self._base] = value

    @property
    def tail(self) -> np.ndarray:
        """The appended values, shape (m,), writable."""
        return self._tail[: self._length]

    def take(self, rows: np.ndarray) -> np.ndarray:
        return self.gather(*split_rows(rows, self._base))

    def gather(self, sealed: np.ndarray, tail: np.ndarray) -> np.ndarray:
        """Return the values of rows that ``split_rows`` has split, the sealed ones first."""
        if not len(tail):
            return self._sealed[sealed]
        if not len(sealed):
            return self._tail[tail]
        return np.concatenate((self._sealed[sealed], self._tail[tail]))

    def append(self, value: float) -> None:
        if self._length == len(self._tail):
            grown = np.zeros(max(64, 2 * self._length), self._tail.dtype)
            grown[: self._length] = self.tail
            self._tail = grown
        self._tail[self._length] = value
        self._length += 1
