"""Scores the candidates of one query: views fused, priors added, the best compared by their tokens.

The result is also the retrieval trace: the reasons of rejections are derived from it when the
ledger's row is written, after the waiting turn has continued.
"""

import math
from collections.abc import Collection, Set
from datetime import datetime
from enum import StrEnum

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from slowcat_memory.core.query.understand import ParsedQuery
from slowcat_memory.core.ranking import fusion
from slowcat_memory.core.ranking.calibration import best_of_top, probability
from slowcat_memory.core.ranking.fusion import FuseOptions
from slowcat_memory.core.ranking.priors import RankOptions, closeness, overlap, priors, votes
from slowcat_memory.core.ranking.selection import offer_scores
from slowcat_memory.index import Candidates, Searcher
from slowcat_memory.records import Disclosed, Hit, LeftOut

NONE = np.zeros(0, np.intp)
SOFTNESS = 0.5  # width of the soft edges of a named time span, as a share of its length


class LeftOutReason(StrEnum):
    """Why a candidate was rejected. The ledger stores the values: they must not change."""

    BELOW_FLOOR = "floor"  # none of the best was likely enough to answer
    BELOW_SHARE = "share"  # its score is too low relative to the best
    ALREADY_VISIBLE = "heard"  # the same words are in the LLM's context
    DUPLICATE = "duplicate"  # a better hit says the same
    BEYOND_LIMIT = "enough"  # enough better ones were found
    NO_BUDGET = "room"  # a hit that exceeds the block's token budget
    EXPIRED = "over"  # no longer true at the time of the query
    DELETED = "gone"  # no longer in the store
    WITHHELD = "local"  # its reader must not see it


class RankingTrace(Struct, frozen=True, eq=False):
    """The scored candidates of one query, n of them.

    Attributes:
        views: Normalised scores by view, each of shape (n,), 0 to 1.
        scores: Fused scores and priors, shape (n,); comparable within one query.
        coverage: Share of the query's weight in words that each candidate holds, shape (n,).
        probability: That it answers, shape (n,), 0 to 1.
        priors: The part of ``scores`` that does not depend on the views, shape (n,).
        similarity: MaxSim of the best candidates' tokens and the query's, shape (n,), NaN for all
            others; None without tokens.
        order: Positions of the candidates that may be offered, best first; see ``ordered``.
        below_floor: None is likely enough to answer: ``order`` holds the pinned ones alone.
        reasons: By id, why one of ``order`` is rejected; code that rejects a hit adds to it.
    """

    candidates: Candidates
    views: dict[str, np.ndarray]
    scores: np.ndarray
    coverage: np.ndarray
    probability: np.ndarray
    priors: np.ndarray
    similarity: np.ndarray | None = None
    order: np.ndarray = NONE
    below_floor: bool = False
    reasons: dict[str, str] = field(default_factory=dict)

    def ordered(self, *, for_turn: bool = False, weigh_talk: bool = True) -> "RankingTrace":
        """Return the trace with the candidates in order, best first; no reasons yet.

        Args:
            for_turn: Order them by what is worth offering to a turn, instead of for a search.
            weigh_talk: Whether questions and the agent's words are worth less.
        """
        found, scores = self.candidates, self.scores
        if for_turn:
            talks = found.agent if weigh_talk else np.zeros(len(scores), bool)
            substance = found.substance if weigh_talk else np.ones(len(scores))
            scores = offer_scores(scores, self.views, substance, talks)
        return replace(self, scores=scores, order=np.argsort(-scores, kind="stable"), reasons={})

    def pinned_only(self) -> "RankingTrace":
        """Return the trace with the pinned candidates alone in order: nothing else answers."""
        order = self.order[self.candidates.pinned[self.order]]
        return replace(self, order=order, below_floor=True)

    def likeliest(self, rejected: Collection[int] = ()) -> float:
        """Return the highest probability of the best candidates, except rejected positions."""
        order = self.order[~np.isin(self.order, list(rejected))] if rejected else self.order
        return best_of_top(self.probability[order])

    def max_similarity(self, rejected: Collection[int] = ()) -> float:
        """Return the highest MaxSim of a candidate, except rejected positions.

        NaN without tokens, or if one of the best has none, since it may be nearer.
        """
        if self.similarity is None:
            return math.nan
        kept = _without(self.similarity, rejected)
        return float(np.fmax.reduce(kept)) if len(kept) else math.nan

    def max_coverage(self, rejected: Collection[int] = ()) -> float:
        """Return the highest coverage of a candidate, except rejected positions."""
        return float(_without(self.coverage, rejected).max(initial=0.0))

    def hit(self, position: int, memory: Disclosed) -> Hit:
        cosines = self.candidates.cosine
        cosine = math.nan if cosines is None else float(cosines[position])
        return Hit(
            memory=memory,
            score=round(float(self.scores[position]), 4),
            probability=round(float(self.probability[position]), 4),
            coverage=round(float(self.coverage[position]), 4),
            cosine=None if math.isnan(cosine) else round(cosine, 4),
            views=self._views_of(position),
        )

    def left_out(self, recalled: Set[str], offered: Set[str], limit: int) -> tuple[LeftOut, ...]:
        """Return the best rejected candidates, best first; ``offered``: ids of the others."""
        above, found = frozenset(self.order.tolist()), list[LeftOut]()
        for n in np.argsort(-self.scores, kind="stable").tolist():
            if len(found) >= limit:
                break
            if (id_ := self.candidates.ids[n]) not in offered:
                reason = self._reason(n, above=n in above, recalled=id_ in recalled)
                found.append(
                    LeftOut(
                        memory=id_,
                        reason=str(reason),
                        score=round(float(self.scores[n]), 4),
                        probability=round(float(self.probability[n]), 4),
                        views=self._views_of(n),
                    )
                )
        return tuple(found)

    def _reason(self, n: int, *, above: bool, recalled: bool) -> str:
        if reason := self.reasons.get(self.candidates.ids[n]):
            return reason
        if above:
            return LeftOutReason.NO_BUDGET if recalled else LeftOutReason.BEYOND_LIMIT
        pinned = bool(self.candidates.pinned[n])
        below_floor = self.below_floor and not pinned
        return LeftOutReason.BELOW_FLOOR if below_floor else LeftOutReason.BELOW_SHARE

    def _views_of(self, n: int) -> dict[str, float]:
        return {name: round(float(values[n]), 4) for name, values in self.views.items()}


def _without(values: np.ndarray, rejected: Collection[int]) -> np.ndarray:
    return np.delete(values, list(rejected)) if rejected else values


class Scorer:
    """Scores candidates, with constant weights."""

    def __init__(self, fuse: FuseOptions, rank: RankOptions) -> None:
        self._fuse, self._rank = fuse, rank
        self._fuse_long = replace(fuse, keys=fuse.keys_long)

    def score(
        self,
        searcher: Searcher,
        found: Candidates,
        parsed: ParsedQuery,
        ceiling: float,
        now: datetime,
    ) -> RankingTrace:
        """Score candidates by everything but their tokens.

        ``ceiling`` is the highest possible score of the window view.
        """
        views = fusion.normalise(found.views, found.session)
        named = np.isin(found.speaker, searcher.speaker_numbers(parsed.named))
        when = np.zeros(len(named))
        if parsed.times:
            when = closeness(found.at, parsed.times, SOFTNESS)
            when += overlap(found.about_from, found.about_until, parsed.times)
        bonus = priors(
            at=found.at,
            importance=found.importance,
            pinned=found.pinned,
            named=named,
            when=when,
            votes=votes(views.get("asked"), found.pinned),
            now=now.timestamp(),
            keyed=fusion.keyed_share(found.views.get("keys")),
            options=self._rank,
        )
        coverage = found.views["window"] / max(ceiling, 1e-9)
        return RankingTrace(
            candidates=found,
            views=views,
            scores=self._fused(searcher, views, found) + bonus,
            coverage=coverage,
            probability=probability(coverage, found.cosine, len(searcher)),
            priors=bonus,
        )

    def to_rerank(self, trace: RankingTrace) -> np.ndarray:
        """Return the positions of the best candidates, for reranking by token vectors."""
        depth, size = self._fuse.rerank, len(trace.candidates.ids)
        if not depth or not self._fuse.tokens:
            return NONE
        return np.argpartition(-trace.scores, depth)[:depth] if size > depth else np.arange(size)

    def rerank(
        self,
        searcher: Searcher,
        trace: RankingTrace,
        best: np.ndarray,
        similarity: np.ndarray,
    ) -> RankingTrace:
        """Score again, with the tokens of the best candidates as one more view.

        Args:
            similarity: Their MaxSim scores, NaN for one without tokens, of the shape of ``best``.

        Returns:
            The same trace if none has tokens.
        """
        if np.isnan(similarity).all():
            return trace
        every = np.full(len(trace.scores), np.nan, np.float32)
        every[best] = similarity
        views = {**trace.views, "tokens": fusion.by_tokens(every)}
        return replace(
            trace,
            views=views,
            scores=self._fused(searcher, views, trace.candidates) + trace.priors,
            similarity=None if np.isnan(similarity).any() else every,
        )

    def _fused(
        self, searcher: Searcher, views: dict[str, np.ndarray], found: Candidates
    ) -> np.ndarray:
        keyed = fusion.keyed_share(found.views.get("keys"))
        if searcher.mean_words >= self._fuse.smooth_below_words:
            return fusion.fuse(views, self._fuse_long, keyed)
        scores = fusion.fuse(views, self._fuse, keyed)
        share = self._fuse.smoothing * (1 - keyed) ** 2
        return fusion.smooth(scores, found.before, found.after, share) if share else scores
