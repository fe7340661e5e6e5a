"""Columns of candidates, as ranking reads them: one block of numbers."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from slowcat_memory.core.time.expressions import Interval

Array = np.ndarray


class Frame(Struct, frozen=True, eq=False):
    """The n candidates of a query.

    Attributes:
        block: Shape (len(Row), n), float64, contiguous.
        views: Names of the views that the query has; the rows of the others are undefined.
    """

    block: Array
    views: frozenset[str]

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
