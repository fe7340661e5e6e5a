"""Weights of the views, learned from judged queries; none is taken that was not shown to be better.

A judged query keeps every candidate's views and its score. What other weights would have made of it
is that score plus what the views' weighted sum changed, so that priors stay as they were. A pairwise
logistic regression (a linear RankNet, Burges et al. 2005) moves the weights within bounds; what it
gains is told by queries that it has not seen, fold by fold, with a paired bootstrap.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

Array = np.ndarray
STEPS = 150  # of the descent; it has settled after a hundred
SEED = 7  # of folds and of the bootstrap: the same queries give the same answer


class WeighOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When learned weights are taken.

    Attributes:
        least: Judged queries below which nothing is learned.
        margin: Gain in mean average precision, on queries not learned from, below which the
            weights stay; a point, below which differences mean nothing.
        bound: Factor by which a weight may grow or shrink at most.
        ridge: What moving away from the weights in use costs: few queries move them little.
        sharpness: Steepness of the logistic curve, per unit of score.
        folds: Parts of the queries, each judged by weights learned from the others.
        rounds: Of the bootstrap.
    """

    least: int = 50
    margin: float = 0.01
    bound: float = 2.0
    ridge: float = 0.2
    sharpness: float = 12.0
    folds: int = 5
    rounds: int = 1000


class Ranked(Struct, frozen=True, eq=False):
    """One judged query.

    Attributes:
        views: Normalised scores, shape (n, v), views in one order.
        scores: What the candidates scored, shape (n,).
        good: Which of them answer, bool, shape (n,): some, but not all.
    """

    views: Array
    scores: Array
    good: Array


class Learned(Struct, frozen=True, kw_only=True):
    """What came of learning.

    Attributes:
        weights: The weights, shape (v,), of the same sum as those before.
        queries: From how many queries.
        before: Mean average precision by the weights in use, on queries not learned from.
        after: By learned ones.
        low: Lower end of the 95 % interval of the gain.
        adopted: Whether they are shown to be better.
    """

    weights: Array
    queries: int
    before: float
    after: float
    low: float
    adopted: bool


def learn(queries: Sequence[Ranked], weights: Array, options: WeighOptions) -> Learned | None:
    """Learn weights, and judge them.

    Args:
        queries: Judged queries.
        weights: The weights in use, shape (v,), 0 or more.
        options: When they are taken.

    Returns:
        What came of it; None of too few queries.
    """
    queries = [one for one in queries if one.good.any() and not one.good.all()]
    if len(queries) < max(options.least, options.folds, 2):
        return None
    part = np.random.default_rng(SEED).permutation(len(queries)) % options.folds
    gains, before = np.zeros(len(queries)), np.zeros(len(queries))
    for fold in range(options.folds):
        own = weights + descend(_pick(queries, part != fold), weights, options)
        for n in np.flatnonzero(part == fold).tolist():
            before[n] = precision(queries[n], weights, weights)
            gains[n] = precision(queries[n], weights, own) - before[n]
    low = _low(gains, options.rounds)
    return Learned(
        weights=weights + descend(queries, weights, options),
        queries=len(queries),
        before=float(before.mean()),
        after=float((before + gains).mean()),
        low=low,
        adopted=bool(gains.mean() >= options.margin and low > 0),
    )


def descend(queries: Sequence[Ranked], weights: Array, options: WeighOptions) -> Array:
    """Find the change of the weights that best puts what answers before what does not.

    Args:
        queries: Judged queries, of which some of the candidates answer, but not all.
        weights: The weights in use, shape (v,).
        options: Bounds and ridge.

    Returns:
        The change, shape (v,), of sum 0; each weight stays within its bounds.
    """
    total = max(float(weights.sum()), 1e-9)
    base = weights / total
    views, gaps, shares = _pairs(queries)
    change = np.zeros_like(base)
    for _ in range(STEPS):
        behind = 1.0 / (1.0 + np.exp(options.sharpness * (gaps + views @ change)))
        pull = options.sharpness * ((shares * behind) @ views)
        moved = change + 0.02 * (pull - options.ridge * change)
        change = _bounded(moved, base, options.bound)
    return change * total


def precision(query: Ranked, weights: Array, others: Array) -> float:
    """Tell how well other weights would have ranked a query.

    Args:
        query: The query.
        weights: The weights that its scores were made with, shape (v,).
        others: The other ones.

    Returns:
        Average precision, 0 to 1.
    """
    scores = query.scores + query.views @ (others / others.sum() - weights / weights.sum())
    good = query.good[np.argsort(-scores, kind="stable")]
    found = np.flatnonzero(good)
    return float(np.mean(np.arange(1, len(found) + 1) / (found + 1)))


def _pairs(queries: Sequence[Ranked]) -> tuple[Array, Array, Array]:
    """List what answers beside what does not: differences of views and scores; a query weighs 1."""
    views, gaps, shares = [], [], []
    for one in queries:
        good, bad = np.flatnonzero(one.good), np.flatnonzero(~one.good)
        a, b = (grid.ravel() for grid in np.meshgrid(good, bad))
        views.append(one.views[a] - one.views[b])
        gaps.append(one.scores[a] - one.scores[b])
        shares.append(np.full(len(a), 1.0 / (len(a) * len(queries))))
    return np.concatenate(views), np.concatenate(gaps), np.concatenate(shares)


def _bounded(change: Array, base: Array, bound: float) -> Array:
    """Put a change back into its bounds, with sum 0; what has no weight gets none."""
    low, high = base / bound - base, base * bound - base
    used = base > 0
    for _ in range(8):
        change = np.clip(change, low, high)
        change[used] -= change.sum() / max(1, int(used.sum()))
    return np.clip(change, low, high)


def _pick(queries: Sequence[Ranked], which: Array) -> list[Ranked]:
    return [queries[n] for n in np.flatnonzero(which).tolist()]


def _low(gains: Array, rounds: int) -> float:
    """Return the lower end of the 95 % interval of a mean, by resampling queries."""
    picked = np.random.default_rng(SEED).integers(0, len(gains), (rounds, len(gains)))
    return float(np.percentile(gains[picked].mean(axis=1), 2.5))


def agreement(queries: Sequence[Ranked], rounds: int = 1000) -> tuple[float, float]:
    """Tell how far a judge agrees with recall that the best is better than the rest.

    Who judges at random, or calls everything good, agrees by chance: 0.5.

    Args:
        queries: Judged queries.
        rounds: Of the bootstrap.

    Returns:
        The chance that what answers scores higher than what does not (ROC AUC within a query), and
        the lower end of its 95 % interval; 0.5 and 0 of fewer than two queries.
    """
    areas = [_area(one) for one in queries if one.good.any() and not one.good.all()]
    if len(areas) < 2:
        return 0.5, 0.0
    return float(np.mean(areas)), _low(np.array(areas), rounds)


def _area(query: Ranked) -> float:
    good, bad = query.scores[query.good], query.scores[~query.good]
    gaps = good[:, None] - bad[None, :]
    return float(np.mean((gaps > 0) + 0.5 * (gaps == 0)))
