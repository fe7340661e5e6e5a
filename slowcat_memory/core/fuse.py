"""Several views' scores into one: normalisation, weighted sum or RRF, smoothing, near-duplicates.

Normalised-score fusion is the default because it was measured ahead on LoCoMo: R@10 of equal-weight
reciprocal rank fusion 67.1 (k = 60) and 72.0 (k = 0), BM25 over a window alone 73.9, weighted
normalised scores 77.2. RRF stays selectable.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from slowcat_memory.core.text import fingerprint

Array = np.ndarray


class FuseOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How views become one score.

    Attributes:
        method: "scores" adds normalised scores, "rrf" adds 1 / (rrf_k + rank).
        dense: Weight of the vectors; the lexical views share the rest.
        window: Share of the window view within the lexical weight; the turn view has the rest.
        rrf_k: The constant of reciprocal rank fusion (Cormack et al. 2009 use 60).
        smoothing: How much of its neighbours' score a chunk takes, where turns are short.
        smooth_below_words: Mean words per chunk of a namespace below which smoothing applies:
            it helps chats of short turns and costs up to 3 points on long rounds.
        duplicate: Jaccard similarity of words from which two hits are the same.
    """

    method: Literal["scores", "rrf"] = "scores"
    dense: float = 0.55
    window: float = 0.7
    rrf_k: float = 60.0
    smoothing: float = 0.1
    smooth_below_words: float = 40.0
    duplicate: float = 0.8

    def weights(self) -> dict[str, float]:
        """Spread the weight over the views.

        Returns:
            Weight by view, summing to 1.
        """
        lexical = 1.0 - self.dense
        return {
            "dense": self.dense,
            "window": lexical * self.window,
            "turn": lexical * (1.0 - self.window),
        }


def by_maximum(scores: Array) -> Array:
    """Scale non-negative scores (BM25) so that the best is 1.

    Args:
        scores: Shape (n,).

    Returns:
        Shape (n,), 0 to 1; all 0 when nothing matched.
    """
    top = scores.max(initial=0.0)
    return scores / top if top > 0 else np.zeros_like(scores)


def by_range(scores: Array) -> Array:
    """Scale scores of any sign (cosines) so that the best is 1 and the worst 0.

    Args:
        scores: Shape (n,); NaN where there is none.

    Returns:
        Shape (n,), 0 to 1; all 0 when they are equal, and 0 where there is none.
    """
    known = scores[~np.isnan(scores)]
    low, high = known.min(initial=np.inf), known.max(initial=-np.inf)
    return np.nan_to_num((scores - low) / (high - low)) if high > low else np.zeros_like(scores)


def normalise(view: str, scores: Array) -> Array:
    """Scale one view's scores to 0..1 by the rule for its kind.

    Args:
        view: The view's name.
        scores: Shape (n,).

    Returns:
        Shape (n,), 0 to 1.
    """
    return by_range(scores) if view == "dense" else by_maximum(scores)


def fuse(views: dict[str, Array], options: FuseOptions) -> Array:
    """Fuse the views of one set of candidates.

    Args:
        views: Normalised scores by view, each of shape (n,), over the same candidates. Views that
            are missing (no vectors, past the deadline) give their weight to the others.
        options: Method and weights.

    Returns:
        Shape (n,), 0 to 1.
    """
    weights = {name: options.weights().get(name, 0.0) for name in views}
    if not any(weights.values()):
        weights = dict.fromkeys(views, 1.0)  # all the weight is on a view that is missing
    total = sum(weights.values())
    parts = (
        weight
        / total
        * (_reciprocal(views[name], options.rrf_k) if options.method == "rrf" else views[name])
        for name, weight in weights.items()
    )
    return sum(parts, start=np.zeros(len(next(iter(views.values()))), np.float32))


def _reciprocal(scores: Array, k: float) -> Array:
    """Score by rank, scaled so that the first is 1; equals share a rank, no match gets 0."""
    rank = np.searchsorted(np.sort(-scores), -scores)
    return np.where(scores > 0, (k + 1) / (k + 1 + rank), 0.0).astype(np.float32)


def smooth(scores: Array, before: Array, after: Array, share: float) -> Array:
    """Let each chunk take a share of the scores of the turns around it.

    Args:
        scores: Shape (n,).
        before: Shape (n,), position in ``scores`` of the chunk before, -1 when there is none.
        after: The same for the chunk after.
        share: Share of each neighbour.

    Returns:
        Shape (n,).
    """
    padded = np.append(scores, 0.0)  # position -1 reads this 0
    return (scores + share * (padded[before] + padded[after])) / (1 + 2 * share)


def distinct(texts: Sequence[str], threshold: float, limit: int | None = None) -> list[int]:
    """Keep the first of each group of near-equal texts.

    Args:
        texts: Best first.
        threshold: Jaccard similarity of their words from which two count as the same.
        limit: How many to keep at most; None for all.

    Returns:
        Positions of the texts to keep, in order.
    """
    kept: list[int] = []
    seen: list[frozenset[str]] = []
    for position, text in enumerate(texts):
        if len(kept) == limit:
            break
        words = frozenset(fingerprint(text).split())
        if all(_jaccard(words, other) < threshold for other in seen):
            kept.append(position)
            seen.append(words)
    return kept


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    if not a and not b:
        return 1.0
    common = len(a & b)
    return common / (len(a) + len(b) - common)
