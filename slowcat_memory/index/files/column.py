"""One column of a table with a row per document: a mapped file, and what came after it."""

import numpy as np


def split(numbers: np.ndarray, base: int) -> tuple[np.ndarray, np.ndarray]:
    """Tell sealed rows from those of the tail.

    Args:
        numbers: Rows in rising order, shape (n,).
        base: The first one that is not sealed.

    Returns:
        The sealed rows, and the others counted from ``base``.
    """
    if not len(numbers) or numbers[-1] < base:
        return numbers, numbers[:0]
    cut = int(numbers.searchsorted(base))
    return numbers[:cut], numbers[cut:] - base


class Column:
    """A one-dimensional array with cheap append over one that only changes in place."""

    def __init__(self, dtype: type | str, sealed: np.ndarray | None = None) -> None:
        """Start with values, or empty.

        Args:
            dtype: NumPy dtype of the values.
            sealed: Shape (n,), writable, kept as it is; numbers from n on are appended.
        """
        self._sealed = np.zeros(0, dtype) if sealed is None else sealed
        self._base = len(self._sealed)
        self._tail = np.zeros(0, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._base + self._length

    def __getitem__(self, number: int) -> float:
        if number < self._base:
            return self._sealed[number].item()
        return self._tail[: self._length][number - self._base].item()

    def __setitem__(self, number: int, value: float) -> None:
        if number < self._base:
            self._sealed[number] = value
        else:
            self._tail[: self._length][number - self._base] = value

    @property
    def tail(self) -> np.ndarray:
        """What was appended, shape (m,), writable."""
        return self._tail[: self._length]

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """Return the values of some rows.

        Args:
            numbers: Rows in rising order, shape (n,).

        Returns:
            Shape (n,).
        """
        return self.gather(*split(numbers, self._base))

    def gather(self, sealed: np.ndarray, tail: np.ndarray) -> np.ndarray:
        """Return the values of some rows that ``split`` has told apart.

        Args:
            sealed: Sealed rows.
            tail: The others, counted from the first that is not sealed.

        Returns:
            Their values, in this order.
        """
        if not len(tail):
            return self._sealed[sealed]
        if not len(sealed):
            return self._tail[tail]
        return np.concatenate((self._sealed[sealed], self._tail[tail]))

    def append(self, value: float) -> None:
        """Add a row.

        Args:
            value: Its value.
        """
        if self._length == len(self._tail):
            grown = np.zeros(max(64, 2 * self._length), self._tail.dtype)
            grown[: self._length] = self.tail
            self._tail = grown
        self._tail[self._length] = value
        self._length += 1
