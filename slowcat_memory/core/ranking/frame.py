"""The candidates of a query, as ranking reads them: one block of numbers."""

from collections.abc import Sequence
from enum import IntEnum, auto

import numpy as np
from msgspec import Struct

from slowcat_memory.core.time.expressions import Interval

Array = np.ndarray


class Row(IntEnum):
    """The columns of candidates, a row each."""

    WINDOW = 0  # BM25 over a turn and its neighbours, 0 or more
    TURN = auto()  # BM25 over the turn alone, 0 or more
    DENSE = auto()  # cosine, NaN without a vector
    KEYS = auto()  # cosine of the best key, NaN without one
    ASKED = auto()  # votes of judged queries
    COSINE = auto()  # cosine with the query's own words, NaN without a vector
    BEFORE = auto()  # position of the previous neighbour, -1 for none
    AFTER = auto()  # position of the next one
    AT = auto()  # seconds since the epoch
    IMPORTANCE = auto()  # 0 to 1
    SUBSTANCE = auto()  # share of its words that say something, 0 to 1
    AGENT = auto()  # 1 for the agent's words
    PINNED = auto()  # 1 for what a user pinned
    SESSION = auto()  # a number for its session
    SPEAKER = auto()  # a number for its speaker
    ABOUT_FROM = auto()  # start of the time that it mentions, NaN for none
    ABOUT_UNTIL = auto()  # its end
    VISIBLE = auto()  # 1 for what the caller has already


VIEWS = {row.name.lower(): row for row in Row if row <= Row.ASKED}
"""The rows of raw views; a query may lack any but the first."""


class Frame(Struct, frozen=True, eq=False, kw_only=True):
    """The n candidates of a query.

    Attributes:
        block: All that ranking reads of them, shape (len(Row), n), float64; see ``Row``.
        known: Names of the views that the query has; the rows of the others are undefined. Without
            a query vector "dense", "keys" and "asked" are missing, and the last two also if the
            namespace has no such keys.
    """

    block: Array
    known: frozenset[str]

    def __len__(self) -> int:
        return self.block.shape[1]

    @property
    def views(self) -> dict[str, Array]:
        """Raw scores by view, shape (n,)."""
        return {name: self.block[row] for name, row in VIEWS.items() if name in self.known}

    @property
    def cosine(self) -> Array | None:
        """Cosines with the query's own words, shape (n,); None without a query vector.

        The view "dense" has those with a vector that the dialogue turned.
        """
        return self.block[Row.COSINE] if "dense" in self.known else None

    @property
    def pinned(self) -> Array:
        """Whether a user pinned each, shape (n,), bool."""
        return self.block[Row.PINNED] > 0

    @property
    def visible(self) -> Array:
        """Whether the caller has each already, shape (n,), bool."""
        return self.block[Row.VISIBLE] > 0


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
