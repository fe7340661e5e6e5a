"""Vectors gathered in a file until all of them are there, so that memory stays bounded."""

import os
from pathlib import Path

import numpy as np

from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.vectors import sealed_vectors


class VectorSpool:
    """The vectors of a sealed index that is being written."""

    def __init__(self, folder: Path, name: str, dim: int) -> None:
        """Begin with none, and no file.

        Args:
            folder: Where the files go.
            name: What their names begin with, see ``vectors``.
            dim: Dimension of the vectors.
        """
        self._folder, self._name, self._dim = folder, name, dim
        self._rows: np.memmap | None = None
        self._has = np.zeros(0, bool)

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._name}.spool.f16"

    def put(self, number: int, count: int, vector: np.ndarray) -> None:
        """Take a vector.

        Args:
            number: Whose.
            count: How many there may be, the same every time.
            vector: Shape (dim,), unit length.
        """
        if self._rows is None:
            with self._path.open("wb") as file:
                if hasattr(os, "posix_fallocate"):  # else a full disk kills who writes to the map
                    os.posix_fallocate(file.fileno(), 0, 2 * count * self._dim)
            shape = (count, self._dim)
            self._rows = np.memmap(self._path, mode="r+", dtype=np.float16, shape=shape)
            self._has = np.zeros(count, bool)
        self._rows[number] = vector
        self._has[number] = True

    def finish(self, options: IndexOptions) -> int:
        """Store the vectors as they are searched.

        Args:
            options: The index's options.

        Returns:
            How many there are; without any, nothing is stored.
        """
        if self._rows is None:
            return 0
        rows = np.flatnonzero(self._has)
        sealed_vectors.write(rows, self._rows, self._folder, options, self._name)
        self._rows = None
        self._path.unlink()
        return len(rows)
