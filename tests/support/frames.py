"""Candidates with columns at random, as ranking reads them."""

from datetime import UTC, datetime

import numpy as np

from slowcat_memory.core.ranking.score import VIEWS, Candidates, Question, Row
from slowcat_memory.core.time.expressions import Interval

NOW, DAY = 1.8e9, 86_400.0
NAN = float("nan")


def some(random: np.random.Generator, size: int, share: float) -> np.ndarray:
    return random.random(size) < share


def frame_at_random(
    random: np.random.Generator, size: int, views: frozenset[str], visible: float = 0.2
) -> Candidates:
    """Draw the columns of candidates.

    Args:
        views: The views besides the window.
        visible: Share of them that the caller has already.
    """
    none, zero = np.full(size, NAN), np.zeros(size)
    about = np.where(some(random, size, 0.5), NAN, NOW - 300 * DAY * random.random(size))
    columns = {
        "window": random.gamma(1, 4, size) * some(random, size, 0.8),
        "dense": np.where(some(random, size, 0.2), none, random.normal(0.2, 0.2, size)),
        "keys": np.where(some(random, size, 0.5), none, random.normal(0.3, 0.2, size)),
        "asked": np.where(some(random, size, 0.5), zero, random.normal(0, 1, size)),
        "before": random.integers(-1, max(size, 1), size),
        "after": random.integers(-1, max(size, 1), size),
        "at": NOW - 400 * DAY * random.random(size) + 2 * DAY,
        "importance": random.choice([0.0, 0.5, 1.0], size),
        "substance": random.random(size),
        "agent": some(random, size, 0.4),
        "pinned": some(random, size, 0.1),
        "session": random.permutation(random.integers(0, 2**31, size // 4 + 1).repeat(4))[:size],
        "speaker": random.integers(0, 4, size),
        "about_from": about,
        "about_until": about + random.choice([0, 1, 30], size) * DAY,
        "visible": some(random, size, visible),
    }
    columns["cosine"] = columns["dense"] + 0.1 * random.random(size)
    known = {"window"} | views
    names = [row.name.lower() for row in Row]
    rows = [none if name in VIEWS and name not in known else columns[name] for name in names]
    return Candidates(block=np.array(rows, float), known=known)


def question_at_random(random: np.random.Generator) -> Question:
    times = tuple(
        Interval(
            datetime.fromtimestamp(NOW - (start + length) * DAY, UTC),
            datetime.fromtimestamp(NOW - start * DAY, UTC),
            "",
        )
        for start, length in zip(
            random.integers(0, 300, 2), random.choice([1, 7, 365], 2), strict=True
        )
    )
    return Question(
        now=NOW,
        ceiling=float(random.choice([0.0, 10.0])),
        long_turns=bool(random.integers(2)),
        memories=int(random.choice([0, 1, 100, 10_000])),
        speakers=random.integers(0, 4, random.integers(3)).tolist(),
        times=times[: random.integers(3)],
    )
