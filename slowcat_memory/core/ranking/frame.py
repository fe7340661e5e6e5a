"""Columns of candidates, as ranking reads them: one block of numbers."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.kernels.ranking import VIEWS

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
    def of(cls, views: Sequence[Array | None], columns: Sequence[Array | None]) -> "Frame":
        """Copy the rows of ``VIEWS`` and then those of ``COLUMNS``, of any dtype.

        Without the view "dense" there is no column "cosine" either.
        """
        rows = [*views, *columns]
        filler = views[0]
        assert filler is not None  # the window is always there
        block = np.empty((len(rows), len(filler)))
        np.concatenate(
            [filler if row is None else row for row in rows],
            out=block.reshape(-1),
            casting="unsafe",
        )
        known = (name for name, view in zip(VIEWS, views, strict=True) if view is not None)
        return cls(block, frozenset(known))

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
