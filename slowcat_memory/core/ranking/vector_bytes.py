"""A vector in bytes: a byte for each coordinate, and a scale that keeps the length.

The store keeps vectors so, and an index compares them as they are kept: a memory answers the same
before a restart and after it. A cosine changes by less than 0.005 (docs/decisions/0049).
"""

import numpy as np

LEVELS = 127.0


def to_bytes(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the bytes of a vector, shape (dim,), int8, and their scale."""
    values = np.asarray(values, np.float32)
    levels = np.rint(values * (LEVELS / max(float(np.abs(values).max(initial=0.0)), 1e-12)))
    scale = np.linalg.norm(values) / max(float(np.linalg.norm(levels)), 1e-12)
    return levels.astype(np.int8), float(scale)


def as_kept(values: np.ndarray) -> np.ndarray:
    """Return a vector as the store will return it, shape (dim,), float32; twice is as once."""
    levels, scale = to_bytes(values)
    return levels * np.float32(scale)
