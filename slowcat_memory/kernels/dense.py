"""Cosines of stored vectors with a query's. No BLAS: OpenBLAS spins a second core meanwhile."""

import numpy as np

from slowcat_memory.kernels.library import INT, POINTER, Function, address

_half = Function("cosines_half", POINTER, INT, POINTER, INT, POINTER, POINTER)
_bytes = Function("cosines_bytes", POINTER, POINTER, INT, POINTER, INT, POINTER, POINTER)


def cosines(
    matrix: np.ndarray, scales: np.ndarray | None, rows: np.ndarray, query: np.ndarray
) -> np.ndarray:
    """Return the cosines of rows with a unit vector.

    Args:
        matrix: Unit vectors, shape (m, dim), C-contiguous: float16, or int8 with ``scales``.
        scales: Shape (m,), float32, what a row of bytes is multiplied by; None for float16.
        rows: Shape (n,), int64; -1 for none.
        query: Shape (dim,), float32.

    Returns:
        Shape (n,), float32; NaN where the row is -1.
    """
    call = (_half if scales is None else _bytes).compiled
    out = np.full(len(rows), np.nan, np.float32)
    if call is None:
        there = rows >= 0
        chosen = rows[there]
        found = np.einsum("ij,j->i", matrix[chosen].astype(np.float32), query)
        out[there] = found if scales is None else found * scales[chosen]
    elif scales is None:
        call(
            address(matrix), matrix.shape[1], address(rows), len(rows), address(query), address(out)
        )
    else:
        call(
            address(matrix),
            address(scales),
            matrix.shape[1],
            address(rows),
            len(rows),
            address(query),
            address(out),
        )
    return out
