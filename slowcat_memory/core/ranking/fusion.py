"""Several views' scores into one: normalisation, weighted sum or RRF, sessions, near-duplicates.

Every view is scaled to 0..1 and then weighed. What each of them is worth was measured on three data
sets at once (docs/performance.md, `benchmarks.ablation`); no one of them decides. RRF stays
selectable: it does worse, since a rank does not say by how much.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from slowcat_memory.core.text.normalize import fingerprint

Array = np.ndarray
OF_SESSION = 3  # how many of a session's candidates speak for it
# A cosine of two tokens that have nothing to do with each other, on average over a query (MaxSim of
# all-MiniLM-L6-v2): the zero of that view.
UNRELATED_TOKENS = 0.2
UNRELATED_KEY = 0.2  # a cosine of a question and a key that have little to do with each other


class FuseOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How views become one score.

    Attributes:
        method: "scores" adds normalised scores, "rrf" adds 1 / (rrf_k + rank).
        dense: Weight of the memory's vector.
        tokens: Weight of its tokens' vectors (MaxSim), for the ``rerank`` best by everything else.
        window: Weight of BM25 over a turn and its neighbours.
        turn: Weight of BM25 over the turn alone, where ``index.turn_view`` is on.
        turn_by_words: The same where a query has no vector: nothing else tells a turn from its
            neighbours then.
        keys: Weight of the nearest of its keys (questions, notes, facts), as far as there are any
            (see ``keyed``).
        keys_long: The same where turns are long (see ``smooth_below_words``): a key says sharply
            what a long turn says among other things. +6 R@10 on RealMem.
        turn_with_keys: Weight of BM25 over the turn and the words of its keys, likewise.
        window_with_keys: Weight of the window, likewise: what a turn is about, contexts and keys say.
        session: Weight of its session: its three best candidates, by words and by vectors.
        rerank: How many memories are scored by their tokens; 0 for none. 20 find what 100 find.
        rrf_k: The constant of reciprocal rank fusion (Cormack et al. 2009 use 60).
        smoothing: How much of its neighbours' score a chunk takes, where turns are short and have
            no keys, which tell a turn from its neighbours; less of it as more of them have, and
            that soon: half of the turns of a described chat have keys, small talk has none.
        smooth_below_words: Mean words per chunk of a namespace below which smoothing applies:
            it helps chats of short turns and costs up to 3 points on long rounds.
        duplicate: Jaccard similarity of words from which two hits are the same.
        learned: Use the weights that were learned from judged queries, where any were shown to be
            better than these (see ``core.weigh``). Weights set by hand are left alone.
    """

    method: Literal["scores", "rrf"] = "scores"
    dense: float = 0.24
    tokens: float = 0.37
    window: float = 0.21
    turn: float = 0.03
    turn_by_words: float = 0.25
    keys: float = 0.6
    keys_long: float = 2.0
    turn_with_keys: float = 0.2
    window_with_keys: float = 0.1
    session: float = 0.18
    rerank: int = 20
    rrf_k: float = 60.0
    smoothing: float = 0.3
    smooth_below_words: float = 40.0
    duplicate: float = 0.8
    learned: bool = True

    def weights(self, keyed: float = 0.0) -> dict[str, float]:
        """Spread the weight over the views.

        Args:
            keyed: How far keys speak for the candidates (``keyed``).

        Returns:
            Weight by view.
        """
        weights = {view: getattr(self, view) for view in VIEWS}
        weights["keys"] = keyed * self.keys
        for view in WITH_KEYS:
            weights[view] += keyed * (getattr(self, f"{view}_with_keys") - weights[view])
        return weights


WITH_KEYS = ("turn", "window")  # views that weigh otherwise where there are keys
VIEWS = ("dense", "tokens", "window", "turn", "session", "keys")


def keyed(keys: Array | None) -> float:
    """Tell how far keys speak for candidates.

    Args:
        keys: Shape (n,), NaN where a candidate has none; None where there are none at all.

    Returns:
        The share of the candidates that have any.
    """
    return 0.0 if keys is None or not len(keys) else float(np.mean(~np.isnan(keys)))


def by_maximum(scores: Array) -> Array:
    """Scale non-negative scores (BM25) so that the best is 1.

    Args:
        scores: Shape (n,).

    Returns:
        Shape (n,), 0 to 1; all 0 when nothing matched.
    """
    top = scores.max(initial=0.0)
    return scores / top if top > 0 else np.zeros_like(scores)


def by_cosine(scores: Array, zero: float = 0.0) -> Array:
    """Scale cosines so that the best is 1.

    The scale starts at a fixed point, not at the worst of the candidates: that one depends on how
    many there are.

    Args:
        scores: Shape (n,); NaN where there is none.
        zero: The cosine that says nothing.

    Returns:
        Shape (n,), 0 to 1; 0 where there is none, all 0 when none is above ``zero``.
    """
    return by_maximum(np.fmax(scores - zero, 0.0))  # fmax of NaN and 0 is 0


def by_tokens(scores: Array) -> Array:
    """Scale MaxSim scores, of which only some candidates have one.

    Args:
        scores: Shape (n,); NaN where there is none.

    Returns:
        Shape (n,), 0 to 1; a candidate without one counts as the worst of those that have one.
    """
    scaled = by_cosine(scores, UNRELATED_TOKENS)
    known = ~np.isnan(scores)
    return np.where(known, scaled, scaled[known].min(initial=1.0) if known.any() else 0.0)


def by_session(scores: Array, session: Array) -> Array:
    """Score each candidate by the best of its session: a session on the matter says it repeatedly.

    Args:
        scores: Shape (n,), 0 or more.
        session: Shape (n,), a number for each candidate's session.

    Returns:
        Shape (n,): the sum of the session's ``OF_SESSION`` best, scaled so that the best is 1.
    """
    if not len(scores):
        return scores
    order = np.lexsort((-scores, session))
    held, best = session[order], scores[order]
    sums = best.copy()
    for place in range(1, OF_SESSION):  # where the one so many places on is of the same session
        sums[:-place] += np.where(held[:-place] == held[place:], best[place:], 0.0)
    first = np.searchsorted(held, session)
    return by_maximum(sums[first])


def normalise(raw: dict[str, Array], session: Array) -> dict[str, Array]:
    """Scale the first views to 0..1, and derive the session's from them.

    Args:
        raw: BM25 scores ("window", "turn") and, once the query has a vector, cosines ("dense",
            and "keys" of the best key) and what judged queries say ("asked"), over the same
            candidates, each of shape (n,).
        session: Shape (n,), a number for each candidate's session.

    Returns:
        The same views and "session", each of shape (n,), 0 to 1; "asked" from -1.
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
    if "dense" in views:  # cosines lie close together: their squares do not
        views["session"] = (2 * views["session"] + by_session(views["dense"] ** 2, session)) / 3
    return views


def fuse(views: dict[str, Array], options: FuseOptions, keyed: float = 0.0) -> Array:
    """Fuse the views of one set of candidates.

    Args:
        views: Normalised scores by view, each of shape (n,), over the same candidates. Views that
            are missing (no vectors, past the deadline) give their weight to the others; "asked" is
            a prior (``core.rank``), and no part of it.
        options: Method and weights.
        keyed: How far keys speak for the candidates (see ``keyed``).

    Returns:
        Shape (n,), 0 to 1.
    """
    views = {name: scores for name, scores in views.items() if name != "asked"}
    known = options.weights(keyed)
    if "dense" not in views:
        known["turn"] = options.turn_by_words
    weights = {name: known.get(name, 0.0) for name in views}
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
