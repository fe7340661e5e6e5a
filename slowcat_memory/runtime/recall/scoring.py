"""The ranked candidates of one query, from which hits and evidence are read.

They are also the retrieval trace: the reasons of rejections are derived from it when the ledger's
row is written, after the waiting turn has continued.
"""

import math
from collections.abc import Sequence, Set
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from slowcat_memory.core.ranking.offering import BEST, nearness_probability
from slowcat_memory.core.ranking.score import Candidates, Row, Scores
from slowcat_memory.records import Disclosed, Hit, LeftOut

NEAR = 0.95  # share of the MaxSim of what the LLM can read, below which a memory is far below it


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


class Offered(NamedTuple):
    """A memory that is offered, and its position among the candidates; -1 if it is none of them."""

    memory: Disclosed
    at: int = -1


class RankingTrace(Struct, eq=False):
    """The scored candidates of one query, n of them.

    Attributes:
        memories: How many the index holds.
        below_floor: None is likely enough to answer: ``order`` holds the pinned ones alone.
        reasons: By position, why one of ``order`` is no hit; code that drops a hit adds to it.
        rejected: Positions of those that are no hits, whatever their score.
    """

    candidates: Candidates
    scores: Scores
    memories: int
    below_floor: bool = False
    reasons: dict[int, str] = {}
    rejected: set[int] = set()

    @property
    def order(self) -> np.ndarray:
        """Positions of those that may be offered, best first."""
        order = self.scores.order
        return order[self.candidates.pinned[order]] if self.below_floor else order

    @property
    def visible(self) -> list[str]:
        """Ids of the candidates that the LLM can read already."""
        ids = self.candidates.ids
        return [ids[n] for n in np.flatnonzero(self.candidates.visible).tolist()]

    def reset(self) -> None:
        """Forget which are no hits, and why."""
        self.below_floor, self.reasons, self.rejected = False, {}, set()

    def keep_pinned(self) -> None:
        """Offer pinned candidates alone: no other is likely enough to answer."""
        self.below_floor = True
        self.reasons = {n: reason for n, reason in self.reasons.items() if n in self.rejected}

    def reject(self, position: int, reason: LeftOutReason) -> None:
        self.reasons[position] = reason
        self.rejected.add(position)

    @property
    def likelihood(self) -> np.ndarray:
        """That each answers, by words and vectors or by its tokens, shape (n,), 0 to 1."""
        likely, near = self.scores.probability, self.scores.similarity
        return (
            likely
            if near is None
            else np.maximum(likely, nearness_probability(near, self.memories))
        )

    def is_weak(self, floor: float, compare: bool) -> np.ndarray:
        """Return which candidates answer no turn, shape (n,); pinned ones are never weak.

        Such are below the floor, or (``compare``) far below what the LLM can read already: the place
        of an answer in the context is not filled. By words alone nothing is weak: there the right
        answer is often unlikely.
        """
        candidates, near = self.candidates, self.scores.similarity
        if near is None:
            return np.zeros(len(candidates), bool)
        weak = self.likelihood < floor
        known = near[candidates.visible & (candidates.block[Row.SUBSTANCE] > 0)]
        if compare and (best := known[~np.isnan(known)].max(initial=0.0)):
            weak |= ~(near >= NEAR * best)
        return weak & ~candidates.pinned

    def likeliest(self) -> float:
        """Return the highest probability of the best candidates that are not rejected."""
        first = self.order[: BEST + len(self.rejected)].tolist()
        kept = [n for n in first if n not in self.rejected][:BEST]
        return max(map(self.scores.probability.item, kept), default=0.0)

    def max_similarity(self, but: Set[int] = frozenset()) -> float:
        """Return the highest MaxSim of a candidate that is not among ``but``.

        NaN without tokens, or if one of the best has none, since it may be nearer.
        """
        near, best = self.scores.similarity, self.scores.best
        if near is None or np.isnan(near[best]).any():
            return math.nan
        return max((near.item(n) for n in best.tolist() if n not in but), default=math.nan)

    def max_coverage(self, but: Set[int] = frozenset()) -> float:
        """Return the highest coverage of a candidate that is not among ``but``."""
        kept = self.order[~np.isin(self.order, [*but])]
        return float(self.scores.coverage[kept].max(initial=0.0))

    def hits(self, chosen: Sequence[Offered]) -> list[Hit]:
        """Return hits; those that are no candidates answer, and are as good as the best."""
        rows = self._columns_at([one.at for one in chosen if one.at >= 0])
        best, remaining = rows[0][0] if rows else 1.0, iter(rows)
        return [
            self._hit(one.memory, next(remaining))
            if one.at >= 0
            else Hit(memory=one.memory, score=best, probability=1.0)
            for one in chosen
        ]

    def _hit(self, memory: Disclosed, row: Sequence[float]) -> Hit:
        score, probability, coverage, cosine, *views = row
        return Hit(
            memory=memory,
            score=score,
            probability=probability,
            coverage=coverage,
            cosine=None if math.isnan(cosine) else cosine,
            views=dict(zip(self.scores.views, views, strict=True)),
        )

    def _columns_at(self, positions: Sequence[int]) -> list[list[float]]:
        """Return score, probability, coverage, cosine and views, rounded, for each position."""
        scores, block = self.scores, self.candidates.block
        rows = (scores.scores, self.likelihood, scores.coverage, block[Row.COSINE])
        at = np.array(positions, np.intp)
        return np.array([row[at] for row in (*rows, *scores.views.values())]).round(4).T.tolist()

    def left_out(self, recalled: Set[str], offered: Set[str], limit: int) -> tuple[LeftOut, ...]:
        """Return the best rejected candidates, best first; ``offered``: ids of the others."""
        above, ids = frozenset(self.order.tolist()), self.candidates.ids
        seen = self.candidates.visible
        every = (n for n in self.scores.order.tolist() if ids[n] not in offered and not seen[n])
        rejected = list(islice(every, max(limit, 0)))
        return tuple(
            LeftOut(
                memory=ids[n],
                reason=str(self._reason(n, above=n in above, recalled=ids[n] in recalled)),
                score=score,
                probability=probability,
                views=dict(zip(self.scores.views, views, strict=True)),
            )
            for n, (score, probability, _, _, *views) in zip(
                rejected, self._columns_at(rejected), strict=True
            )
        )

    def _reason(self, n: int, *, above: bool, recalled: bool) -> str:
        if reason := self.reasons.get(n):
            return reason
        if above:
            return LeftOutReason.NO_BUDGET if recalled else LeftOutReason.BEYOND_LIMIT
        pinned = bool(self.candidates.pinned[n])
        below_floor = self.below_floor and not pinned
        return LeftOutReason.BELOW_FLOOR if below_floor else LeftOutReason.BELOW_SHARE
