"""Scores and order of the candidates of a query. ``core/ranking/rank.py`` has the definition.

This module has the layouts that ranking.c shares with Python: rows, fields and their order.
"""

import ctypes
from ctypes import addressof
from enum import IntEnum, auto

import numpy as np
from msgspec import Struct

from slowcat_memory.kernels.library import INT, POINTER, Function, address

_score = Function("score_candidates", *[POINTER, INT, *5 * [POINTER]], result=INT)
_rank = Function("rank_candidates", *[POINTER, INT, *8 * [POINTER]], result=INT)
SCRATCH_ROWS = 8
DOUBLE, LONG = ctypes.c_double, ctypes.c_int64


class Row(IntEnum):
    """The columns of candidates, a row each: ``enum row`` in ranking.c."""

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
COLUMNS = [row.name.lower() for row in Row if row > Row.ASKED]
"""Names of the other rows, in order."""


class Result(IntEnum):
    """What ``score`` makes of them, a row each: ``enum result`` in ranking.c."""

    OF_WINDOW = 0
    OF_TURN = auto()
    OF_DENSE = auto()
    OF_KEYS = auto()
    OF_ASKED = auto()
    OF_SESSION = auto()
    SCORE = auto()
    COVERAGE = auto()
    PROBABILITY = auto()
    PRIOR = auto()
    SCRATCH = auto()  # to the end


class Weights(ctypes.Structure):
    """Constant options: ``struct weights`` in ranking.c."""

    _fields_ = [
        (name, DOUBLE)
        for name in (
            *("dense", "tokens", "window", "turn", "turn_by_words", "keys", "keys_long"),
            *("turn_with_keys", "window_with_keys", "session", "smoothing"),
            *("importance", "recency", "half_life_days", "pinned", "named", "when", "with_keys"),
            *("asked", "softness", "least_scale", "most_scale"),
            *("unrelated_key", "unrelated_tokens"),
        )
    ]


class Asked(ctypes.Structure):
    """What is read of a query: ``struct question`` in ranking.c."""

    _fields_ = [
        *((name, DOUBLE) for name in ("now", "ceiling", "by_words_bias", "by_words_coverage")),
        *((name, DOUBLE) for name in ("bias", "coverage", "cosine")),
        *((name, LONG) for name in ("views", "long_turns", "every", "speakers", "times")),
        *((name, POINTER) for name in ("speaker", "time")),
    ]


class Scored(Struct, frozen=True, eq=False):
    """Results of ``score``.

    Attributes:
        asked: The argument; it must outlive ``rank``.
        rows: Shape (len(Result) or more, n), float64; see ``Result``.
        counts: Which candidates count, shape (n,), uint8.
        order: Their positions, best first.
    """

    asked: Asked
    rows: np.ndarray
    counts: np.ndarray
    order: np.ndarray


def score(block: np.ndarray, weights: Weights, asked: Asked) -> Scored | None:
    """Score candidates by everything but their tokens.

    Args:
        block: Shape (len(Row), n), float64, C-contiguous.

    Returns:
        None without the compiled library.
    """
    call, size = _score.compiled, block.shape[1]
    if call is None:
        return None
    rows = np.empty((Result.SCRATCH + SCRATCH_ROWS, size))
    counts, order = np.empty(size, np.uint8), np.empty(size, np.int64)
    count = call(
        address(block),
        size,
        addressof(weights),
        addressof(asked),
        address(rows),
        address(counts),
        address(order),
    )
    return Scored(asked, rows, counts, order[:count])


def rank(
    block: np.ndarray,
    weights: Weights,
    scored: Scored,
    similarity: np.ndarray | None,
    offer: np.ndarray,
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray] | None:
    """Score by tokens too, and order by what is worth offering.

    Args:
        scored: From ``score`` of the same block.
        similarity: MaxSim of the candidates, shape (n,), float64, NaN where it is not known.
        offer: Weights of tokens, session, emptiness and the agent's words, shape (4,), float64.

    Returns:
        The view of the tokens, None without any, the scores and the order; None without the
        compiled library.
    """
    call, size = _rank.compiled, block.shape[1]
    if call is None:
        return None
    rows, order = np.empty((2 + 4, size)), np.empty(len(scored.order), np.int64)
    known = call(
        address(block),
        size,
        addressof(weights),
        addressof(scored.asked),
        address(scored.rows),
        address(scored.counts),
        None if similarity is None else address(similarity),
        address(offer),
        address(rows),
        address(order),
    )
    return rows[0] if known else None, rows[1], order
