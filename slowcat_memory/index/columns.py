"""Arrays that grow: one column of a table with a row per document."""

import numpy as np


class Column:
    """A one-dimensional array with cheap append; ``values`` is a view of what is filled."""

    def __init__(self, dtype: type | str, values: np.ndarray | None = None) -> None:
        """Start with values, or empty.

        Args:
            dtype: NumPy dtype of the values.
            values: Shape (n,), copied on first growth.
        """
        self._array = np.zeros(0, dtype) if values is None else np.asarray(values, dtype)
        self._length = len(self._array)

    @property
    def values(self) -> np.ndarray:
        """The filled part, shape (n,), writable."""
        return self._array[: self._length]

    def __len__(self) -> int:
        return self._length

    def append(self, value: float) -> None:
        """Add a row.

        Args:
            value: Its value.
        """
        if self._length == len(self._array):
            grown = np.zeros(max(64, 2 * self._length), self._array.dtype)
            grown[: self._length] = self.values
            self._array = grown
        self._array[self._length] = value
        self._length += 1
