"""Hits of several namespaces as one list.

A score says how a hit compares with the others of its own namespace, and nothing beyond: it is
scaled by the best of them, and words that are rare in one namespace are common in another. What
means the same everywhere is the probability that a hit answers (``core.calibrate``); but it says
less than the score about which of two hits on one matter holds the answer. So each namespace keeps
the order of its scores, and enters as a whole with the probability that it answers at all.
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.ranking import calibration, fusion
from slowcat_memory.records import Hit


def union(found: Sequence[Sequence[Hit]], limit: int, duplicate: float) -> list[Hit]:
    """Merge what namespaces found.

    Args:
        found: Hits by namespace, best first; each namespace's own threshold is behind them.
        limit: How many to keep.
        duplicate: Jaccard similarity of words from which two hits are the same.

    Returns:
        Best first; where two say the same, the better. Scores are comparable within the list.
    """
    if len(found) == 1:
        return list(found[0])
    every = sorted((hit for hits in found for hit in _scaled(hits)), key=lambda hit: -hit.score)
    kept = fusion.distinct([hit.memory.text for hit in every], duplicate, limit)
    return [every[place] for place in kept]


def _scaled(hits: Sequence[Hit]) -> list[Hit]:
    """Scale one namespace's scores so that the best is the probability that it answers."""
    best = max((hit.score for hit in hits), default=0.0)
    answers = calibration.among(np.array([hit.probability for hit in hits]))
    return [replace(hit, score=hit.score / best * answers if best > 0 else 0.0) for hit in hits]
