"""Combines the scores of a candidate's fields: normalisation, weighted sum, sessions, duplicates.

Every field is scaled to 0..1 and then weighted. The weights were measured on three data sets at
once (docs/decisions/0014-what-recall-looks-at.md).
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from slowcat_memory.core.ranking.calibration import best_of_top
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.records import Hit

Array = np.ndarray
Weight = Annotated[float, Meta(ge=0, le=10)]
Share = Annotated[float, Meta(ge=0, le=1)]
OF_SESSION = 3  # candidates that count for a session
# Mean cosine of unrelated tokens over a query (MaxSim of all-MiniLM-L6-v2): zero of that field.
UNRELATED_TOKENS = 0.2
UNRELATED_KEY = 0.2  # cosine of an unrelated question and key
VIEWS = ("dense", "tokens", "window", "turn", "session", "keys")
WITH_KEYS = ("turn", "window")  # fields with another weight where memories have keys


class FuseOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights of the fields, and use of their sum. Only the ratio of the weights counts.

    The weights were fitted together on three data sets: change one only with a benchmark of your
    own conversations.

    Attributes:
        dense: Weight of the memory's vector.
        tokens: Weight of its tokens' vectors (MaxSim), for the ``rerank`` best by all other fields.
        window: Weight of BM25 over a turn and its neighbours.
        turn: Weight of BM25 over the turn alone, where ``index.turn_view`` is on.
        turn_by_words: The same for a query without a vector, when only this field separates a turn
            from its neighbours.
        keys: Weight of the nearest of its keys (questions, notes, facts), multiplied by the share
            of the candidates that have any.
        keys_long: The same for long turns (see ``smooth_below_words``), where a key is more
            specific than the turn. +6 R@10 on RealMem.
        turn_with_keys: Weight of BM25 over the turn and the words of its keys, where all candidates
            have keys.
        window_with_keys: Weight of the window, likewise: contexts and keys already name the turn's
            subject.
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

    dense: Weight = 0.24
    tokens: Weight = 0.37
    window: Weight = 0.21
    turn: Weight = 0.03
    turn_by_words: Weight = 0.25
    keys: Weight = 0.6
    keys_long: Weight = 2.0
    turn_with_keys: Weight = 0.2
    window_with_keys: Weight = 0.1
    session: Weight = 0.18
    rerank: Annotated[int, Meta(ge=0, le=1000)] = 20
    smoothing: Share = 0.3
    smooth_below_words: Annotated[float, Meta(ge=0, le=1_000_000)] = 40.0
    duplicate: Annotated[float, Meta(ge=0, le=2)] = 0.8

    def weights(self, keyed: float = 0.0) -> dict[str, float]:
        """Return the weight by field; ``keyed`` is from ``keyed_share``."""
        weights = {view: getattr(self, view) for view in VIEWS}
        weights["keys"] = keyed * self.keys
        for view in WITH_KEYS:
            weights[view] += keyed * (getattr(self, f"{view}_with_keys") - weights[view])
        return weights


def keyed_share(keys: Array | None) -> float:
    """Return the share of the candidates that have a key.

    Args:
        keys: Cosines of the best keys, shape (n,), NaN for a candidate without; None for no keys.
    """
    return 0.0 if keys is None or not len(keys) else float(np.mean(~np.isnan(keys)))


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
    if not len(scores):
        return scores
    order = np.lexsort((-scores, session))
    held, best = session[order], scores[order]
    sums = best.copy()
    for place in range(1, OF_SESSION):  # add the next candidates in order, if of the same session
        sums[:-place] += np.where(held[:-place] == held[place:], best[place:], 0.0)
    first = np.searchsorted(held, session)
    return by_maximum(sums[first])


def normalise(raw: dict[str, Array], session: Array) -> dict[str, Array]:
    """Scale the fields to 0..1, and derive the session scores.

    Args:
        raw: BM25 scores ("window", "turn") and, once the query has a vector, cosines ("dense", and
            "keys" of the best key) and votes of judged queries ("asked"), each of shape (n,).
        session: Shape (n,), each candidate's session number.

    Returns:
        The same fields and "session", each of shape (n,), 0 to 1; "asked" from -1.
    """
    views = {
        name: by_cosine(scores) if name == "dense" else by_maximum(scores)
        for name, scores in raw.items()
        if name not in ("keys", "asked")
    }
    if "keys" in raw:
        views["keys"] = by_cosine(raw["keys"], UNRELATED_KEY)
    if "asked" in raw:
        views["asked"] = np.clip(raw["asked"], -1.0, 1.0)
    views["session"] = by_session(views["window"], session)
    if "dense" in views:  # squared because cosines are close together
        views["session"] = (2 * views["session"] + by_session(views["dense"] ** 2, session)) / 3
    return views


def fuse(views: dict[str, Array], options: FuseOptions, keyed: float = 0.0) -> Array:
    """Return the weighted mean of the candidates' fields.

    Args:
        views: Normalised scores by field, each of shape (n,). A missing field (no vectors, past the
            deadline) leaves its weight to the others; "asked" is a prior and is ignored.
        keyed: Share of the candidates that have keys.

    Returns:
        Shape (n,), 0 to 1.
    """
    views = {name: scores for name, scores in views.items() if name != "asked"}
    known = options.weights(keyed)
    if "dense" not in views:
        known["turn"] = options.turn_by_words
    weights = {name: known.get(name, 0.0) for name in views}
    if not any(weights.values()):
        weights = dict.fromkeys(views, 1.0)  # all the weight is on missing fields
    total = sum(weights.values())
    parts = (weight / total * views[name] for name, weight in weights.items())
    return sum(parts, start=np.zeros(len(next(iter(views.values()))), np.float32))


def smooth(scores: Array, before: Array, after: Array, share: float) -> Array:
    """Add a share of the neighbouring turns' scores to each chunk's (score smoothing), shape (n,).

    ``before`` has the position in ``scores`` of each previous chunk, -1 for none; so has ``after``.
    """
    padded = np.append(scores, 0.0)  # position -1 reads this 0
    return (scores + share * (padded[before] + padded[after])) / (1 + 2 * share)


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


def union(found: Sequence[Sequence[Hit]], limit: int, duplicate: float) -> list[Hit]:
    """Merge the hits of several namespaces; the scores of the result are comparable.

    A score only compares hits of one namespace: it is scaled by the best of them, and rare words of
    one namespace are common in another. The probability that a hit answers is comparable
    everywhere, but orders hits less well. So each namespace keeps its order by score, scaled by the
    probability that it answers at all.

    Args:
        found: Hits by namespace, best first, after each namespace's own thresholds.
        duplicate: Jaccard similarity of words from which two hits are equal; the better is kept.
    """
    if len(found) == 1:
        return list(found[0])
    every = sorted((hit for hits in found for hit in _scaled(hits)), key=lambda hit: -hit.score)
    kept = distinct([hit.memory.text for hit in every], duplicate, limit)
    return [every[place] for place in kept]


def _scaled(hits: Sequence[Hit]) -> list[Hit]:
    """Scale one namespace's scores so that the best is its probability of answering."""
    best = max((hit.score for hit in hits), default=0.0)
    answers = best_of_top(np.array([hit.probability for hit in hits]))
    return [replace(hit, score=hit.score / best * answers if best > 0 else 0.0) for hit in hits]
