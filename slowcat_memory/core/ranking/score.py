"""The candidates of a query and their scores: one function over arrays.

Every field is scaled to 0..1 and weighted; priors, which do not depend on a memory's words, are
added. The weights were measured on three data sets at once
(docs/decisions/0014-what-recall-looks-at.md). A prior is an option of ``RankOptions`` and a line of
``priors``.

A ranking for a search may be long, and its first ten matter; of a block each memory costs prompt
and may mislead. So a turn's candidates are weighed by ``Weights`` too: what the nearest tokens and
the session say counts more, questions and the agent's words count less (measured in
docs/decisions/0035-what-is-offered.md).
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct

from slowcat_memory.core.ranking.offering import Array, Candidates, Question, Row
from slowcat_memory.core.time.expressions import Interval

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
