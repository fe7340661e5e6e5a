"""Which of a turn's candidates are offered, and whether any is.

A fused score only compares the candidates of one query: the best one scores 1 even if none answers.
Two probabilities are comparable across queries and stores.

``probability`` is of each memory, from the cosine and the share of the query's word weight that the
memory and its neighbours contain. MaxSim adds nothing to these two. It shows whether a memory is
about the query's subject, but hardly which of two such memories has the answer; that is the
ranking's work. So it only decides whether to return anything; the hits are then selected by score.
Fitted by ``benchmarks.calibration`` of commit 557a0057 on RealMem and MADial: the six best hits of each of
their questions, and of the same questions against another person's memory, where nothing answers.
In a store of a few sessions the measures differ: common words weigh as much as rare ones there, and
a cosine that the best of a thousand memories reaches by chance is significant among twenty. So the
constant and the cosine's coefficient depend on the logarithm of the store's size.

``answer_probability`` is that any memory answers, which decides whether to report that nothing is
remembered. Errors cost more here: a user who hears "I do not remember" about their own words will
not ask again. Two measures are the most informative: the MaxSim of the nearest memory (the words
shared with the query, without token vectors), and names that were never said. Fitted by
``benchmarks.unknown`` of the same commit. LoCoMo is never fitted on, and tests both
(docs/decisions/0018-when-nothing-is-remembered.md).
"""

import math
from collections.abc import Sequence, Set
from enum import IntEnum, StrEnum, auto
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.records import Disclosed, Hit, LeftOut

Array = np.ndarray
BEST = 6  # hits per query in the fit, and in the decision
NEAR = 0.95  # share of the MaxSim of what the LLM can read, below which a memory is far below it
STEP = 0.05  # share of the best score that each further memory needs more


class Row(IntEnum):
    """The columns of candidates, a row each."""

    WINDOW = 0  # BM25 over a turn and its neighbours, 0 or more
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


class Question(Struct, frozen=True):
    """The fields of a query, and of the index that it searched, that ranking uses.

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


# Coefficients of logistic regressions: the constant, of the coverage, of the cosine.
FULL = np.array([-4.69, 6.87, 3.88])
SMALL = np.array([-7.01, 6.87, 15.54])
WORDS = (-3.57, 8.52)  # fitted on lexical recalls
FEW, MANY = 20, 600  # store sizes (memories) of SMALL and FULL


def probability(coverage: Array, cosine: Array | None = None, memories: int = MANY) -> Array:
    """Return the probability that each memory answers a query.

    Args:
        coverage: BM25 score as a share of the highest possible, shape (n,).
        cosine: Shape (n,), NaN for a memory without vector; None if the query has none.

    Returns:
        Shape (n,), 0 to 1.
    """
    by_words = WORDS[0] + WORDS[1] * coverage
    if cosine is not None:
        constant, of_coverage, of_cosine = SMALL + size_weight(memories) * (FULL - SMALL)
        both = constant + of_coverage * coverage + of_cosine * cosine
        by_words = np.where(np.isnan(cosine), by_words, both)
    return 1.0 / (1.0 + np.exp(-by_words))


def size_weight(memories: int) -> float:
    """Return 0 for a small store (``FEW`` memories), 1 for a large one (``MANY``), by logarithm."""
    return min(1.0, max(0.0, math.log(max(memories, 1) / FEW) / math.log(MANY / FEW)))


def best_of_top(probabilities: Array) -> float:
    """Return the probability that any memory answers a query: the highest of the first ``BEST``.

    Args:
        probabilities: Of the hits, best score first, shape (n,).
    """
    return float(probabilities[:BEST].max(initial=0.0))


class AnswerEvidence(Struct, frozen=True, kw_only=True):
    """Measures of whether any memory answers a query.

    Attributes:
        coverage: Share of the query's word weight that the best lexical candidate and its
            neighbours contain.
        max_similarity: MaxSim of the nearest candidate's tokens; NaN without tokens.
        unseen_names: Share of the query's names that were never said; 0 for no names.
        memories: Number of memories searched.
        lacks_value: How surely the query asks for an amount or a time that nothing offered has, 0
            to 1.
    """

    coverage: float
    max_similarity: float
    unseen_names: float
    memories: int
    lacks_value: float = 0.0


class Fit(Struct, frozen=True):
    """Coefficients of a logistic regression; ``best`` is of ``max_similarity``, or ``coverage``."""

    bias: float
    best: float
    unseen_names: float


BY_TOKENS = Fit(bias=-8.48, best=15.12, unseen_names=-2.20)
BY_WORDS = Fit(bias=-1.96, best=9.45, unseen_names=-1.96)  # without token vectors
# Added in a store of a few memories: the nearest of few comes less near by chance, and an answer in
# other words is no nearer than in a large store.
FEW_MEMORIES = 0.46
# Added where a question asks for a value that nothing offered has: even a near memory answers no
# question of its own subject then, but the words of an exact one weigh more. Half of it in a large
# store, where the answer may stand beside what is offered.
LACKS_VALUE = -5.0


def answer_probability(evidence: AnswerEvidence) -> float:
    """Return the probability that any memory answers, 0 to 1; 0 without memories."""
    if not evidence.memories:
        return 0.0
    by_words = math.isnan(evidence.max_similarity)
    fit, best = (BY_WORDS, evidence.coverage) if by_words else (BY_TOKENS, evidence.max_similarity)
    logit = fit.bias + fit.best * best + fit.unseen_names * evidence.unseen_names
    few = 1.0 - size_weight(evidence.memories)
    logit += FEW_MEMORIES * few
    logit += LACKS_VALUE * evidence.lacks_value * (0.5 + 0.5 * few)
    return 1.0 / (1.0 + math.exp(-logit))


def nearness_probability(similarity: np.ndarray, memories: int) -> np.ndarray:
    """Return the same for single memories by their MaxSim, shape (n,); 0 where it is NaN."""
    logit = (
        BY_TOKENS.bias + BY_TOKENS.best * similarity + FEW_MEMORIES * (1.0 - size_weight(memories))
    )
    return np.nan_to_num(1.0 / (1.0 + np.exp(-logit)))


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


class Candidates(Struct, eq=False, dict=True, kw_only=True):
    """The n documents that a search proposes for a query; the ranking and the choice fill the rest.

    Attributes:
        block: All that ranking reads of them, shape (len(Row), n), float64; see ``Row``.
        known: Names of the views that the query has; the rows of the others are undefined. Without
            a query vector "dense", "keys" and "asked" are missing, and the last two also if the
            namespace has no such keys.
        ids: Memory ids.
        question: What the scores answer.
        views: Normalised scores by view, each of shape (n,), 0 to 1; "asked" from -1.
        scores: Fused scores, priors and what makes it worth offering, shape (n,); comparable within
            one query.
        ranked: Positions, best first.
        best: Positions of those that are scored by their tokens.
        similarity: MaxSim of the best ones' tokens and the query's, shape (n,), NaN for all others;
            None where there are no tokens.
        below_floor: None is likely enough to answer: ``order`` holds the pinned ones alone.
        reasons: By position, why one of ``order`` is no hit; code that drops a hit adds to it.
        rejected: Positions of those that are no hits, whatever their score.
    """

    block: Array
    known: frozenset[str]
    ids: Sequence[str] = ()
    question: Question = Question(now=0.0, ceiling=0.0, long_turns=False, memories=0)
    views: dict[str, Array] = {}
    scores: Array = np.zeros(0)
    ranked: Array = np.zeros(0, np.intp)
    best: Array = np.zeros(0, np.intp)
    similarity: Array | None = None
    below_floor: bool = False
    reasons: dict[int, str] = {}
    rejected: set[int] = set()

    def __len__(self) -> int:
        return self.block.shape[1]

    @property
    def raw_views(self) -> dict[str, Array]:
        """Raw scores by view, shape (n,)."""
        return {name: self.block[row] for name, row in VIEWS.items() if name in self.known}

    @property
    def pinned(self) -> Array:
        """Whether a user pinned each, shape (n,), bool."""
        return self.block[Row.PINNED] > 0

    @property
    def visible(self) -> Array:
        """Whether the caller has each already, shape (n,), bool."""
        return self.block[Row.VISIBLE] > 0

    @property
    def keyed(self) -> float:
        """The share of them that have a key."""
        if "keys" not in self.known or not len(self):
            return 0.0
        return float(np.mean(~np.isnan(self.block[Row.KEYS])))

    @property
    def visible_ids(self) -> list[str]:
        """Ids of those that the caller has already."""
        return [self.ids[n] for n in np.flatnonzero(self.visible).tolist()]

    @property
    def order(self) -> np.ndarray:
        """Positions of those that may be offered, best first."""
        return self.ranked[self.pinned[self.ranked]] if self.below_floor else self.ranked

    def keep_pinned(self) -> None:
        """Offer pinned candidates alone: no other is likely enough to answer."""
        self.below_floor = True
        self.reasons = {n: reason for n, reason in self.reasons.items() if n in self.rejected}

    def reject(self, position: int, reason: LeftOutReason) -> None:
        self.reasons[position] = reason
        self.rejected.add(position)

    @cached_property
    def coverage(self) -> np.ndarray:
        """Share of the query's weight in words that each holds, shape (n,)."""
        return self.block[Row.WINDOW] / max(self.question.ceiling, 1e-9)

    @cached_property
    def probability(self) -> np.ndarray:
        """That each answers, by words and vectors, shape (n,), 0 to 1."""
        cosine = self.block[Row.COSINE] if "dense" in self.known else None
        return probability(self.coverage, cosine, self.question.memories)

    @cached_property
    def likelihood(self) -> np.ndarray:
        """That each answers, by words and vectors or by its tokens, shape (n,), 0 to 1."""
        near = self.similarity
        if near is None:
            return self.probability
        return np.maximum(self.probability, nearness_probability(near, self.question.memories))

    def is_weak(self, floor: float, compare: bool) -> np.ndarray:
        """Return which candidates answer no turn, shape (n,); pinned ones are never weak.

        Such are below the floor, or (``compare``) far below what the LLM can read already: the place
        of an answer in the context is not filled. By words alone nothing is weak: there the right
        answer is often unlikely.
        """
        near = self.similarity
        if near is None:
            return np.zeros(len(self), bool)
        weak = self.likelihood < floor
        known = near[self.visible & (self.block[Row.SUBSTANCE] > 0)]
        if compare and (best := known[~np.isnan(known)].max(initial=0.0)):
            weak |= ~(near >= NEAR * best)
        return weak & ~self.pinned

    def likeliest(self) -> float:
        """Return the highest probability of the best candidates that are not rejected."""
        first = self.order[: BEST + len(self.rejected)].tolist()
        kept = [n for n in first if n not in self.rejected][:BEST]
        return max(map(self.probability.item, kept), default=0.0)

    def max_similarity(self, but: Set[int] = frozenset()) -> float:
        """Return the highest MaxSim of a candidate that is not among ``but``.

        NaN without tokens, or if one of the best has none, since it may be nearer.
        """
        near, best = self.similarity, self.best
        if near is None or np.isnan(near[best]).any():
            return math.nan
        return max((near.item(n) for n in best.tolist() if n not in but), default=math.nan)

    def max_coverage(self, but: Set[int] = frozenset()) -> float:
        """Return the highest coverage of a candidate that is not among ``but``."""
        coverage = np.delete(self.coverage, [*but]) if but else self.coverage
        return float(coverage.max(initial=0.0))

    def hits(self, chosen: Sequence[Offered]) -> list[Hit]:
        """Return hits; those that are no candidates answer, and are as good as the best."""
        rows = self._columns_at([choice.at for choice in chosen if choice.at >= 0])
        best, remaining = rows[0][0] if rows else 1.0, iter(rows)
        hits = list[Hit]()
        for memory, at in chosen:
            if at < 0:
                hits.append(Hit(memory=memory, score=best, probability=1.0))
                continue
            score, probability, coverage, cosine, *views = next(remaining)
            hits.append(
                Hit(
                    memory=memory,
                    score=score,
                    probability=probability,
                    coverage=coverage,
                    cosine=None if math.isnan(cosine) else cosine,
                    views=dict(zip(self.views, views, strict=True)),
                )
            )
        return hits

    def _columns_at(self, positions: Sequence[int]) -> list[list[float]]:
        """Return score, probability, coverage, cosine and views, rounded, for each position."""
        rows = (self.scores, self.likelihood, self.coverage, self.block[Row.COSINE])
        at = np.array(positions, np.intp)
        return np.array([row[at] for row in (*rows, *self.views.values())]).round(4).T.tolist()

    def left_out(self, recalled: Set[str], offered: Set[str], limit: int) -> tuple[LeftOut, ...]:
        """Return the best rejected candidates, best first; ``offered``: ids of the others."""
        ids, seen = self.ids, self.visible
        every = (n for n in self.ranked.tolist() if ids[n] not in offered and not seen[n])
        rejected = list(islice(every, max(limit, 0)))
        return tuple(
            LeftOut(
                memory=ids[n],
                reason=str(self._reason(n, recalled=ids[n] in recalled)),
                score=score,
                probability=probability,
                views=dict(zip(self.views, views, strict=True)),
            )
            for n, (score, probability, _, _, *views) in zip(
                rejected, self._columns_at(rejected), strict=True
            )
        )

    def _reason(self, n: int, *, recalled: bool) -> str:
        if reason := self.reasons.get(n):
            return reason
        if self.below_floor and not self.pinned[n]:
            return LeftOutReason.BELOW_FLOOR
        return LeftOutReason.NO_BUDGET if recalled else LeftOutReason.BEYOND_LIMIT


def least_share(share: float, better: int) -> float:
    """Return the share of the best score that a memory needs beside so many better ones.

    ``share`` is what the second one needs at least; 0 offers everything.
    """
    return min(1.0, share + STEP * max(0, better - 1)) if share and better else share


def distinct(texts: Sequence[str], threshold: float, limit: int | None = None) -> list[int]:
    """Return the positions of the first of each group of near-equal texts (best first), in order.

    ``threshold`` is the Jaccard similarity of words from which two are equal; a ``limit`` of None
    returns all.
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
