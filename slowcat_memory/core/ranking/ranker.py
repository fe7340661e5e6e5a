"""Ranks the candidates of a query in two steps: by everything but their tokens, then by these too."""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.ranking import fusion
from slowcat_memory.core.ranking.calibration import probability
from slowcat_memory.core.ranking.frame import Array, Frame, Question, Row
from slowcat_memory.core.ranking.fusion import FuseOptions
from slowcat_memory.core.ranking.priors import RankOptions, priors
from slowcat_memory.core.ranking.selection import Weights, offer_scores

MISSING = {"dense": np.nan, "keys": np.nan}  # of a view's score, 0 for all others


class Scores(Struct, frozen=True, eq=False):
    """The scores of n candidates.

    Attributes:
        views: Normalised scores by view, each of shape (n,), 0 to 1; "asked" from -1.
        scores: Fused scores and priors, shape (n,); comparable within one query.
        coverage: Share of the query's weight in words that each candidate holds, shape (n,).
        probability: That it answers, shape (n,), 0 to 1.
        priors: The part of ``scores`` that does not depend on the views, shape (n,).
        order: Positions of the candidates that count, best first. The views and scores of the
            others mean nothing.
    """

    views: dict[str, Array]
    scores: Array
    coverage: Array
    probability: Array
    priors: Array
    order: Array


class Ranker:
    """Both steps, with constant weights."""

    def __init__(self, fuse: FuseOptions, rank: RankOptions) -> None:
        self._fuse, self._rank = fuse, rank
        self._fuse_long = replace(fuse, keys=fuse.keys_long)

    def score(self, frame: Frame, question: Question, *, every: bool = False) -> Scores:
        """Score candidates by everything but their tokens, and order them.

        Args:
            every: Whether candidates that the caller has already count too.
        """
        counts = np.ones(len(frame), bool) if every else ~frame.visible
        raw = {
            name: np.where(counts, view, MISSING.get(name, 0.0))
            for name, view in frame.views.items()
        }
        views = fusion.normalise(raw, frame.block[Row.SESSION])
        bonus = priors(frame, question, self._rank, _keyed(frame, counts))
        coverage = frame.block[Row.WINDOW] / max(question.ceiling, 1e-9)
        scores = self._fused(frame, question, views, counts) + bonus
        return Scores(
            views=views,
            scores=scores,
            coverage=coverage,
            probability=probability(coverage, frame.cosine, question.memories),
            priors=bonus,
            order=_order(scores, np.flatnonzero(counts)),
        )

    def rank(
        self,
        frame: Frame,
        question: Question,
        scored: Scores,
        similarity: Array | None,
        weights: Weights,
    ) -> Scores:
        """Score by tokens too, and order by what is worth offering.

        Args:
            scored: From ``score``.
            similarity: MaxSim of the candidates, shape (n,), float64, NaN where it is not known;
                None or all NaN adds no view.
            weights: Of what makes a memory worth offering; ``PLAIN`` for the order of a search.
        """
        views, scores = scored.views, scored.scores
        if similarity is not None and not np.isnan(similarity).all():
            views = {**views, "tokens": fusion.by_tokens(similarity)}
            counts = np.zeros(len(frame), bool)
            counts[scored.order] = True
            scores = self._fused(frame, question, views, counts) + scored.priors
        substance, agent = frame.block[Row.SUBSTANCE], frame.block[Row.AGENT]
        scores = offer_scores(scores, views, substance, agent, weights)
        order = _order(scores, np.sort(scored.order))
        return replace(scored, views=views, scores=scores, order=order)

    def _fused(
        self, frame: Frame, question: Question, views: dict[str, Array], counts: Array
    ) -> Array:
        keyed = _keyed(frame, counts)
        if question.long_turns:
            return fusion.fuse(views, self._fuse_long, keyed)
        scores = np.where(counts, fusion.fuse(views, self._fuse, keyed), 0.0)
        share = self._fuse.smoothing * (1 - keyed) ** 2
        before, after = frame.block[Row.BEFORE].astype(int), frame.block[Row.AFTER].astype(int)
        return fusion.smooth(scores, before, after, share) if share else scores


def _keyed(frame: Frame, counts: Array) -> float:
    return fusion.keyed_share(frame.block[Row.KEYS][counts]) if "keys" in frame.known else 0.0


def _order(scores: Array, positions: Array) -> Array:
    """Return rising positions by their scores, best first; equal ones stay in order."""
    return positions[np.argsort(-scores[positions], kind="stable")]
