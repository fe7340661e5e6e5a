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
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from slowcat_memory.core.text.normalize import fingerprint

Array = np.ndarray
BEST = 6  # hits per query in the fit, and in the decision
STEP = 0.05  # share of the best score that each further memory needs more


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


def least_share(share: float, better: int) -> float:
    """Return the share of the best score that a memory needs beside so many better ones.

    ``share`` is what the second one needs at least; 0 offers everything.
    """
    return min(1.0, share + STEP * max(0, better - 1)) if share and better else share


def any_answers(
    evidence: AnswerEvidence | None,
    likeliest: float,
    *,
    asks: bool,
    asks_for_memory: bool,
    floor: float,
    unknown_below: float,
) -> bool:
    """Decide whether anything is offered: the one decision for a block and for its absence.

    A question for a memory is offered what there is exactly where it is not reported that nothing
    is remembered. Any other question is offered it for the same reason, and any other turn where
    the likeliest of the best memories reaches the floor.

    Args:
        evidence: Of what may be offered; None where the index was not searched completely.
        likeliest: Highest probability of the best memories.
        asks: Whether the turn asks.
        asks_for_memory: Whether it asks about the people here, so that an absence is reported.
        unknown_below: As in ``RecallOptions``; 0 leaves the decision to the floor.
    """
    if asks and unknown_below and evidence is not None:
        known = answer_probability(evidence) >= unknown_below
        if known or asks_for_memory:
            return known
    return likeliest >= floor


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
