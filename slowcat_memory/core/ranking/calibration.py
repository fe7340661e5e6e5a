"""Calibration: from scores to the probability that a memory answers the query.

A fused score compares the candidates of one query; the best of nothing scores 1 as well. Two
measures mean the same in every query and every store: the cosine, and the share of the query's
weight in words that the memory and its neighbours hold. A logistic regression makes a probability
of them. MaxSim adds nothing to these two.

Fitted by ``python -m benchmarks.calibration`` on RealMem and MADial: the six best hits of each of
their questions, and of the same questions asked of somebody else's memory, where nothing answers.
On LoCoMo, which was not fitted on, questions asked of the wrong conversation are told from its own
with an area under the ROC of 0.91 (docs/performance.md).

In a store of a few sessions the same measures mean something else: common words weigh as much as
rare ones there, and a cosine that the best of a thousand memories reaches by chance is significant
among twenty. So the constant and the cosine's coefficient depend on the logarithm of the store's
size, fitted on all sizes at once (the unrelated questions also of one to eight sessions of somebody
else's).

The probability says whether a memory is about the query's subject, and little about which of two
such memories holds the answer: that is the ranking's work. So it decides whether anything is
offered at all (``best_of_top``), and what is offered then is decided by score.
"""

import math

import numpy as np
from msgspec import Struct

Array = np.ndarray
BEST = 6  # hits of a query that the fit used, and that decide


class Calibration(Struct, frozen=True):
    """Coefficients of a logistic regression.

    Attributes:
        bias: The constant.
        coverage: Of the share of the query's weight in words that is held.
        cosine: Of the cosine.
    """

    bias: float
    coverage: float
    cosine: float = 0.0


FULL = Calibration(bias=-4.69, coverage=6.87, cosine=3.88)
SMALL = Calibration(bias=-7.01, coverage=6.87, cosine=15.54)
WORDS = Calibration(bias=-3.57, coverage=8.52)  # fitted on recalls by words alone
FEW, MANY = 20, 600  # memories of a store to which SMALL and FULL belong


def probability(coverage: Array, cosine: Array | None = None, memories: int = MANY) -> Array:
    """Return the probability that each memory answers a query.

    Args:
        coverage: BM25 score as a share of the highest that any text could have, shape (n,).
        cosine: Shape (n,), NaN where a memory has no vector; None when the query has none.

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
    """Interpolate between the coefficients of small and of large stores."""
    share = size_weight(memories)
    return Calibration(
        bias=SMALL.bias + share * (FULL.bias - SMALL.bias),
        coverage=SMALL.coverage + share * (FULL.coverage - SMALL.coverage),
        cosine=SMALL.cosine + share * (FULL.cosine - SMALL.cosine),
    )


def best_of_top(probabilities: Array) -> float:
    """Return the probability that any memory answers a query: the highest of the ``BEST`` first.

    Args:
        probabilities: Of the hits, best score first, shape (n,).
    """
    return float(probabilities[:BEST].max(initial=0.0))
