"""Candidates ranked by their priors."""

import numpy as np

from slowcat_memory.core.ranking.priors import RankOptions, priors

DAY = 86_400.0


NOW = 1000 * DAY


def ranked(
    options: RankOptions = RankOptions(), *, keyed: float = 0.0, **facts: list
) -> list[float]:
    size = max(len(values) for values in facts.values())
    given = {
        "scores": [0.5] * size,
        "at": [0.0] * size,
        "importance": [0.5] * size,
        "pinned": [False] * size,
        "named": [False] * size,
        "when": [0.0] * size,
        "votes": [0.0] * size,
        **facts,
    }
    scores = np.array(given.pop("scores"))
    columns = {name: np.array(values) for name, values in given.items()}
    return (scores + priors(**columns, now=NOW, options=options, keyed=keyed)).tolist()
