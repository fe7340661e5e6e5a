"""Columns of candidates, as ranking reads them: one block of numbers for a reference and a kernel."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.kernels.ranking import VIEWS, Row

Array = np.ndarray


class Frame(Struct, frozen=True, eq=False):
    """The n candidates of a query.

    Attributes:
        block: Shape (len(Row), n), float64, contiguous.
        views: Names of the views that the query has; the rows of the others are undefined.
    """

    block: Array
    views: frozenset[str]

    @classmethod
    def of(cls, columns: Mapping[Row, Array], size: int) -> "Frame":
        """Copy columns of shape (size,) of any dtype; a view that is missing stays undefined."""
        none = np.full(size, np.nan)
        rows = [columns.get(row, none) for row in Row]
        block = np.empty((len(Row), size))
        np.concatenate(rows, out=block.reshape(-1), casting="unsafe")
        return cls(block, frozenset(name for name, row in VIEWS.items() if row in columns))

    def __len__(self) -> int:
        return self.block.shape[1]


class Question(Struct, frozen=True):
    """What ranking reads of a query and of the index that it searched.

    Attributes:
        now: The time of the query, seconds since the epoch.
        ceiling: Highest possible score of the window view.
        long_turns: Whether the namespace's turns are long (see ``FuseOptions.smooth_below_words``).
        memories: How many the index holds.
        speakers: Numbers of the speakers that it names.
        times: The times that it names.
    """

    now: float
    ceiling: float
    long_turns: bool
    memories: int
    speakers: Sequence[int] = ()
    times: Sequence[Interval] = ()
