"""Calibration: from scores to the probability that a memory answers the query.

A fused score only compares the candidates of one query: the best one scores 1 even if none answers.
Two measures are comparable across queries and stores: the cosine, and the share of the query's word
weight that the memory and its neighbours contain. A logistic regression turns them into a
probability. MaxSim adds nothing to these two.

Fitted by ``python -m benchmarks.calibration`` on RealMem and MADial: the six best hits of each of
their questions, and of the same questions against another person's memory, where nothing answers.
On LoCoMo, which is not part of the fit, questions against the wrong conversation are separated from
the right one with an area under the ROC of 0.91 (docs/decisions/0018-when-nothing-is-remembered.md).

In a store of a few sessions the measures differ: common words weigh as much as rare ones there, and
a cosine that the best of a thousand memories reaches by chance is significant among twenty. So the
constant and the cosine's coefficient depend on the logarithm of the store's size, fitted on all
sizes at once (the unrelated questions also on one to eight sessions of another person).

The probability shows whether a memory is about the query's subject, but hardly which of two such
memories has the answer; that is the ranking's work. So the probability only decides whether to
return anything (``best_of_top``); the hits are then selected by score.
"""

import math

import numpy as np
from msgspec import Struct

Array = np.ndarray
BEST = 6  # hits per query in the fit, and in the decision


class Calibration(Struct, frozen=True):
    """Coefficients of a logistic regression; ``bias`` is the constant."""

    bias: float
    coverage: float
    cosine: float = 0.0


FULL = Calibration(bias=-4.69, coverage=6.87, cosine=3.88)
SMALL = Calibration(bias=-7.01, coverage=6.87, cosine=15.54)
WORDS = Calibration(bias=-3.57, coverage=8.52)  # fitted on lexical recalls
FEW, MANY = 20, 600  # store sizes (memories) of SMALL and FULL


def probability(coverage: Array, cosine: Array | None = None, memories: int = MANY) -> Array:
    """Return the probability that each memory answers a query.

    Args:
        coverage: BM25 score as a share of the highest possible, shape (n,).
        cosine: Shape (n,), NaN for a memory without vector; None if the query has none.

    Returns:
        Shape (n,), 0 to 1.
    """
    by_words = WORDS.bias + WORDS.coverage * coverage
    if cosine is not None:
        fit = for_store_size(memories)
        both = fit.bias + fit.coverage * coverage + fit.cosine * cosine
        by_words = np.where(np.isnan(cosine), by_words, both)
    return 1.0 / (1.0 + np.exp(-by_words))


def size_weight(memories: int) -> float:
    """Return 0 for a small store (``FEW`` memories), 1 for a large one (``MANY``), by logarithm."""
    return min(1.0, max(0.0, math.log(max(memories, 1) / FEW) / math.log(MANY / FEW)))


def for_store_size(memories: int) -> Calibration:
    share = size_weight(memories)
    return Calibration(
        bias=SMALL.bias + share * (FULL.bias - SMALL.bias),
        coverage=SMALL.coverage + share * (FULL.coverage - SMALL.coverage),
        cosine=SMALL.cosine + share * (FULL.cosine - SMALL.cosine),
    )


def best_of_top(probabilities: Array) -> float:
    """Return the probability that any memory answers a query: the highest of the first ``BEST``.

    Args:
        probabilities: Of the hits, best score first, shape (n,).
    """
    return float(probabilities[:BEST].max(initial=0.0))
