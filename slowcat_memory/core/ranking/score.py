"""The candidates of a query: which are offered and whether any is, and their scores.

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
from collections.abc import Callable, Sequence, Set
from enum import IntEnum, StrEnum, auto
from functools import cached_property
from itertools import islice
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta, Struct

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
        if all(len(words & other) < threshold * len(words | other) for other in seen):
            kept.append(position)
            seen.append(words)
    return kept


# ------------------------------------------------------------------- scores
# One function over arrays. Every field is scaled to 0..1 and weighted; priors, which do not depend on
# a memory's words, are added. The weights were measured on three data sets at once
# (docs/decisions/0014-what-recall-looks-at.md). A prior is an option of ``RankOptions`` and a line
# of ``priors``.
#
# A ranking for a search may be long, and its first ten matter; of a block each memory costs prompt
# and may mislead. So a turn's candidates are weighed by ``Weights`` too: what the nearest tokens and
# the session say counts more, questions and the agent's words count less (measured in
# docs/decisions/0035-what-is-offered.md).

Weight = Annotated[float, Meta(ge=0, le=10)]
Share = Annotated[float, Meta(ge=0, le=1)]
Bonus = Annotated[float, Meta(ge=0, le=2)]
OF_SESSION = 3  # candidates that count for a session
# Mean cosine of unrelated tokens over a query (MaxSim of all-MiniLM-L6-v2): zero of that field.
UNRELATED_TOKENS = 0.2
UNRELATED_KEY = 0.2  # cosine of an unrelated question and key
FIELDS = ("dense", "tokens", "window", "session", "keys")
SOFTNESS = 0.5  # width of the soft edges of a named time span, as a share of its length
LEAST_SCALE, MOST_SCALE = 6 * 3_600.0, 90 * 86_400.0  # seconds, for the decay outside an interval


class FuseOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights of the fields, and use of their sum. Only the ratio of the weights counts.

    The weights were fitted together on three data sets: change one only with a benchmark of your
    own conversations.

    Attributes:
        method: "scores" adds the fields' scores; "rrf" adds their reciprocal ranks, which say nothing
            of distances and find less.
        rrf_k: Constant of reciprocal rank fusion, 1 / (k + rank); 60 is usual.
        dense: Weight of the memory's vector.
        tokens: Weight of its tokens' vectors (MaxSim), for the ``rerank`` best by all other fields.
        window: Weight of BM25 over a turn and its neighbours.
        keys: Weight of the nearest of its keys (questions, notes, facts), multiplied by the share
            of the candidates that have any.
        keys_long: The same for long turns (see ``smooth_below_words``), where a key is more
            specific than the turn. +6 R@10 on RealMem.
        window_with_keys: Weight of the window, where all candidates have keys: contexts and keys
            already name the turn's subject.
        session: Weight of its session: its three best candidates, by words and by vectors.
        rerank: Number of memories scored by their tokens; 0 for none, which is fastest. 20 find
            what 100 find.
        smoothing: Share of its neighbours' score added to a chunk's, for short turns without keys.
            It falls quickly as more turns have keys, which separate them from their neighbours:
            half of the turns of a described chat have keys, small talk has none.
        smooth_below_words: Mean words per chunk of a namespace below which smoothing applies: it
            helps chats of short turns and costs up to 3 points on long rounds.
        duplicate: Jaccard similarity of words from which two hits are equal; above 1 keeps all.
    """

    method: Literal["scores", "rrf"] = "scores"
    rrf_k: Annotated[float, Meta(ge=0, le=1000)] = 60.0
    dense: Weight = 0.24
    tokens: Weight = 0.37
    window: Weight = 0.21
    keys: Weight = 0.6
    keys_long: Weight = 2.0
    window_with_keys: Weight = 0.1
    session: Weight = 0.18
    rerank: Annotated[int, Meta(ge=0, le=1000)] = 20
    smoothing: Share = 0.3
    smooth_below_words: Annotated[float, Meta(ge=0, le=1_000_000)] = 40.0
    duplicate: Annotated[float, Meta(ge=0, le=2)] = 0.8

    def weights(self, candidates: Candidates, *, long_turns: bool) -> dict[str, float]:
        """Return the weight by field."""
        keyed, weights = candidates.keyed, {field: getattr(self, field) for field in FIELDS}
        weights["keys"] = keyed * (self.keys_long if long_turns else self.keys)
        weights["window"] += keyed * (self.window_with_keys - self.window)
        return weights


class RankOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bonuses added to the fused score, which is 0 to 1.

    Attributes:
        importance: Added at importance 1, subtracted at 0; 0.5 is neutral.
        recency: Added for a new memory, fading with ``half_life_days``. Helps with ongoing matters
            (RealMem), and costs a little for questions about long ago.
        half_life_days: Days in which the recency bonus halves; 0 for no such bonus.
        pinned: Added for a memory that a user pinned.
        named: Added for the words of a speaker whom the query names.
        when: Added for a memory said at the time that the query names, fading outside; and again
            for one that mentions that time.
        with_keys: Factor on ``recency``, ``named`` and ``when`` for memories with keys, as keys and
            contexts already name people and days (+0.6 R@10 on three described LoCoMo chats).
        asked: Added for a memory judged to answer similar queries, subtracted for one judged not
            to; 0 for neither. 0.1 and 0.3 gain 2.3 and 4.3 points on reworded questions (LoCoMo),
            0.2 gains 3.6; a judge that guesses costs half of that.
    """

    importance: Bonus = 0.10
    recency: Bonus = 0.12
    half_life_days: Annotated[float, Meta(ge=0, le=36_500)] = 30.0
    pinned: Bonus = 0.20
    named: Bonus = 0.40
    when: Bonus = 0.24
    with_keys: Annotated[float, Meta(ge=0, le=1)] = 0.6
    asked: Bonus = 0.2


class Weights(Struct, frozen=True):
    """Added to a score of 0 to 1: for the views' scores, without substance, for the agent's words."""

    tokens: float = 0.2
    session: float = 0.2
    empty: float = -0.2
    agent: float = -0.1


WEIGHTS = Weights()
ABOUT_TALK = Weights(empty=0.0, agent=0.0)  # for a turn about earlier questions and answers
PLAIN = Weights(tokens=0.0, session=0.0, empty=0.0, agent=0.0)  # the order of a search


def score(
    candidates: Candidates,
    question: Question,
    fuse: FuseOptions,
    rank: RankOptions,
    weights: Weights = PLAIN,
    compare: Callable[[Array], Array | None] = lambda best: None,
) -> Candidates:
    """Score candidates by all fields but their tokens, and then the best of them by these too.

    The scores are put into the record, which is returned.

    Args:
        weights: Of what makes a memory worth offering.
        compare: Returns the MaxSim of the candidates, shape (n,), float64, NaN for all but those at
            the given positions, or None.
    """
    block = candidates.block
    views = normalise(candidates.raw_views, block)
    fields = fuse.weights(candidates, long_turns=question.long_turns)
    share = 0.0 if question.long_turns else fuse.smoothing * (1 - candidates.keyed) ** 2
    bonus = priors(candidates, question, rank)
    scores = smooth(_mean(views, fields, fuse), block, share) + bonus
    best = _order(scores)[: fuse.rerank if fuse.tokens else 0]
    similarity = compare(best) if len(best) else None
    if similarity is not None and not np.isnan(similarity).all():
        views["tokens"] = by_tokens(similarity)
        scores = smooth(_mean(views, fields, fuse), block, share) + bonus
    scores = (
        scores + weights.empty * (1.0 - block[Row.SUBSTANCE]) + weights.agent * block[Row.AGENT]
    )
    scores = scores + weights.session * views["session"] + weights.tokens * views.get("tokens", 0.0)
    candidates.question, candidates.views, candidates.best = question, views, best
    candidates.scores, candidates.ranked = scores, _order(scores)
    candidates.similarity = similarity
    return candidates


def _order(scores: Array) -> Array:
    """Return positions by their scores, best first; equal ones stay in order."""
    return np.argsort(-scores, kind="stable")


def _mean(views: dict[str, Array], weights: dict[str, float], fuse: FuseOptions) -> Array:
    """Return the weighted mean of the fields, or of their ranks, shape (n,), 0 to 1.

    A missing field (no vectors, past the deadline) leaves its weight to the others.
    """
    fields = [name for name in views if name in weights]
    total = max(sum(weights[name] for name in fields), 1e-9)
    if fuse.method == "rrf":
        views = {name: by_rank(views[name], fuse.rrf_k) for name in fields}
    return np.sum([weights[name] / total * views[name] for name in fields], axis=0)


# ------------------------------------------------------------------- fields to 0..1


def by_maximum(scores: Array) -> Array:
    """Scale non-negative scores (BM25), shape (n,), so that the best is 1; all 0 stay 0."""
    top = scores.max(initial=0.0)
    return scores / top if top > 0 else np.zeros_like(scores)


def by_cosine(scores: Array, zero: float = 0.0) -> Array:
    """Scale cosines so that ``zero`` becomes 0 and the best 1.

    The zero is fixed because the worst candidate depends on how many there are.

    Args:
        scores: Shape (n,); NaN for a missing cosine.

    Returns:
        Shape (n,), 0 to 1; 0 for a missing cosine, all 0 if none is above ``zero``.
    """
    return by_maximum(np.fmax(scores - zero, 0.0))  # fmax of NaN and 0 is 0


def by_rank(scores: Array, k: float) -> Array:
    """Return reciprocal ranks, shape (n,), the best 1; equals share a rank, scores of 0 stay 0."""
    better = np.searchsorted(np.sort(-scores), -scores)
    return np.where(scores > 0, (k + 1) / (k + 1 + better), 0.0)


def by_tokens(scores: Array) -> Array:
    """Scale MaxSim scores, shape (n,), to 0..1; NaN (no score) counts as the worst existing one."""
    scaled = by_cosine(scores, UNRELATED_TOKENS)
    known = ~np.isnan(scores)
    return np.where(known, scaled, scaled[known].min(initial=1.0) if known.any() else 0.0)


def by_session(scores: Array, session: Array) -> Array:
    """Score each candidate by its session, which often mentions its subject repeatedly.

    Args:
        scores: Shape (n,), 0 or more.
        session: Shape (n,), each candidate's session number.

    Returns:
        Shape (n,): the sum of the session's ``OF_SESSION`` best, scaled so that the best is 1.
    """
    order = np.lexsort((-scores, session))
    held, best = session[order], scores[order]
    sums = best.copy()
    for place in range(1, OF_SESSION):  # add the next candidates in order, if of the same session
        sums[:-place] += np.where(held[:-place] == held[place:], best[place:], 0.0)
    return by_maximum(sums[np.searchsorted(held, session)])


def normalise(raw: dict[str, Array], block: Array) -> dict[str, Array]:
    """Return the fields, each of shape (n,), 0 to 1 ("asked" from -1), and "session"."""
    scales = {
        "dense": by_cosine,
        "keys": lambda scores: by_cosine(scores, UNRELATED_KEY),
        "asked": lambda votes: np.clip(votes, -1.0, 1.0),
    }
    views = {name: scales.get(name, by_maximum)(scores) for name, scores in raw.items()}
    views["session"] = by_session(views["window"], block[Row.SESSION])
    if "dense" in views:  # squared because cosines are close together
        by_vectors = by_session(views["dense"] ** 2, block[Row.SESSION])
        views["session"] = (2 * views["session"] + by_vectors) / 3
    return views


def smooth(scores: Array, block: Array, share: float) -> Array:
    """Add a share of the neighbouring turns' scores to each chunk's (score smoothing)."""
    if not share:
        return scores
    padded = np.append(scores, 0.0)  # position -1 reads this 0
    before, after = block[[Row.BEFORE, Row.AFTER]].astype(int)
    return (scores + share * (padded[before] + padded[after])) / (1 + 2 * share)


# ------------------------------------------------------------------- priors


def priors(candidates: Candidates, question: Question, options: RankOptions) -> Array:
    """Return the bonus added to each candidate's fused score, shape (n,)."""
    row, less = candidates.block, 1.0 - candidates.keyed * (1.0 - options.with_keys)
    return (
        options.importance * (2 * row[Row.IMPORTANCE] - 1)
        + options.pinned * row[Row.PINNED]
        + options.recency * less * freshness(row[Row.AT], question.now, options.half_life_days)
        + options.named * less * np.isin(row[Row.SPEAKER], question.speakers)
        + options.when * less * closeness(row[Row.AT], question.times)
        + options.when * less * overlap(row[Row.ABOUT_FROM], row[Row.ABOUT_UNTIL], question.times)
        + options.asked * votes(candidates)
    )


def freshness(at: Array, now: float, half_life_days: float) -> Array:
    """Return how new memories are, shape (n,): 1 at ``now`` and later, half of it a half-life ago.

    ``at`` and ``now`` are seconds since the epoch; all 0 without a half-life.
    """
    if half_life_days <= 0:
        return np.zeros(len(at))
    return np.exp2(np.maximum(0.0, now - at) / (-86_400 * half_life_days))


def closeness(at: Array, intervals: Sequence[Interval]) -> Array:
    """Return how near the times of memories are to any of some intervals.

    Args:
        at: Seconds since the epoch, shape (n,).

    Returns:
        Shape (n,): 1 inside an interval, decaying to 0 outside; all 0 without intervals. It is
        halved at a distance of ``SOFTNESS`` of the interval's length, 6 hours to 90 days.
    """
    near = np.zeros(len(at))
    for interval in intervals:
        start, end = interval.start.timestamp(), interval.end.timestamp()
        outside = np.maximum(np.maximum(start - at, at - end), 0.0)
        scale = min(max(SOFTNESS * (end - start), LEAST_SCALE), MOST_SCALE)
        near = np.maximum(near, np.exp2(outside / -scale))
    return near


def overlap(starts: Array, ends: Array, intervals: Sequence[Interval]) -> Array:
    """Return how much of the times that memories mention overlaps with any of some intervals.

    Args:
        starts: Start of the time that each memory mentions, seconds since the epoch, shape (n,);
            NaN for none.

    Returns:
        Shape (n,), 0 to 1: the overlap's share of the shorter of the two, so that a Saturday within
        "last month" counts in full.
    """
    shared = np.zeros(len(starts))
    length = ends - starts
    for interval in intervals:
        start, end = interval.start.timestamp(), interval.end.timestamp()
        common = np.minimum(ends, end) - np.maximum(starts, start)
        shorter = np.minimum(length, end - start)
        share = np.divide(common, shorter, out=np.zeros(len(starts)), where=shorter > 0)
        shared = np.maximum(shared, share)
    return shared


def votes(candidates: Candidates) -> Array | float:
    """Return the judgements of queries like this one, shape (n,), -1 to 1; 0 where none is known.

    An LLM judged that a memory answers a query (above 0) or does not (below 0). The index sums the
    judgements of queries with a near vector, weighted by how near they are. They only reorder
    candidates: they drop none, change no probability, and never lower a pinned memory.
    """
    if "asked" not in candidates.known:
        return 0.0
    bounded = np.clip(candidates.block[Row.ASKED], -1.0, 1.0)
    return np.where(candidates.pinned, np.maximum(bounded, 0.0), bounded)
