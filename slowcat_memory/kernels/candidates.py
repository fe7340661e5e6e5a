"""The documents that the views propose, each once, with all that ranking reads of them.

``index/candidates.py`` has the definition, in NumPy; the rows are those of ``ranking.Row``.
"""

import ctypes
from array import array
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from slowcat_memory.kernels.library import INT, POINTER, Compiled, Function, address
from slowcat_memory.kernels.ranking import Row

_candidates = Function(
    "candidates", *[POINTER] * 4, INT, INT, POINTER, INT, POINTER, INT, INT, *[POINTER] * 6,
    result=INT,
)  # fmt: skip

COLUMNS = (
    *("before", "after", "at", "importance", "pinned", "substance", "asks", "agent"),
    *("session", "speaker", "about_from", "about_until", "alive"),
)
"""The columns of a table that are read, in order."""


class TableFields(ctypes.Structure):
    """``table`` in candidates.c: two addresses for each of ``COLUMNS``."""

    _fields_ = [("base", ctypes.c_int64), ("columns", ctypes.c_void_p * (2 * len(COLUMNS)))]


class Chosen(Struct, frozen=True):
    """What is left of the proposed documents.

    Attributes:
        numbers: Rising, shape (n,), int64.
        block: Shape (len(Row), n), float64; the rows of keys are not filled.
        fresh: How many of the living ones were not visible.
        saying: How many of these say something of their own.
    """

    numbers: np.ndarray
    block: np.ndarray
    fresh: int
    saying: int


def compiled() -> Compiled | None:
    """Return the argument that ``choose`` needs, None where NumPy must choose."""
    return _candidates.compiled


def choose(
    call: Compiled,
    table: TableFields,
    vectors: int,
    cells: Sequence[int],
    proposed: np.ndarray,
    known: int,
    *,
    excluded: Sequence[int],
    visible: Sequence[int],
    talk: bool,
    query: np.ndarray | None,
    own: np.ndarray | None,
) -> Chosen:
    """Choose among proposed documents.

    Args:
        call: From ``compiled``.
        vectors: The address of ``VectorArrays``.
        cells: The addresses of the scores of the window and the turn view, 0 for none.
        proposed: Documents, in any order and repeated, shape (m,), int64.
        known: Documents from this number on are left out.
        excluded: Documents that are left out.
        visible: Documents that are marked.
        talk: Whether those that say nothing of their own are left in.
        query: Shape (dim,), float32; None for no cosines.
        own: Another vector for the row of cosines; None for the same.
    """
    count = len(proposed)
    numbers, block = np.empty((2, count), np.int64), np.empty(len(Row) * count)
    barred, seen = array("q", sorted(excluded)), array("q", sorted(visible))
    views, fresh = array("q", cells), array("q", (0, 0))
    n = call(
        ctypes.addressof(table), vectors, views.buffer_info()[0],
        address(proposed), count, known,
        barred.buffer_info()[0], len(barred), seen.buffer_info()[0], len(seen), talk,
        None if query is None else address(query), None if own is None else address(own),
        address(numbers), address(numbers[1]), address(block), fresh.buffer_info()[0],
    )  # fmt: skip
    filled = block[: len(Row) * n].reshape(len(Row), n)
    return Chosen(numbers[0, :n], filled, *fresh)
