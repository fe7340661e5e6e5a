"""From scores to a probability: does this memory answer the query?

A fused score compares the candidates of one query; the best of nothing scores 1 as well. Two
measures mean the same in every query and every store: the cosine, and the share of the query's
weight in words that the memory and its neighbours hold. A logistic regression makes a probability
of them. MaxSim adds nothing to these two.

Fitted by ``python -m benchmarks.calibration`` on RealMem and MADial: the six best hits of each of
their questions, and of the same questions asked of somebody else's memory, where nothing answers. On
LoCoMo, which it never saw, questions asked of the wrong conversation are told from its own with an
area under the ROC of 0.91 (docs/performance.md).

In a store of a few sessions the same measures say something else: common words weigh as much as rare
ones there, and a cosine that the best of a thousand memories reaches by chance means something in
twenty. So the constant and the cosine's coefficient go with the logarithm of the store's size, fitted
on all sizes at once (the unrelated questions also of one to eight sessions of somebody else's).

It says whether a memory is about what is asked, and little about which of two such memories holds
the answer: that is the ranking's work. So it decides whether anything is offered at all (``among``),
and what is offered then is decided by score.
"""

import math

import numpy as np
from msgspec import Struct

Array = np.ndarray
BEST = 6  # the best hits of a query, which it is fitted on, and which decide


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
    """Estimate how likely memories answer a query.

    Args:
        coverage: BM25 score as a share of the highest that any text could have, shape (n,).
        cosine: Shape (n,), NaN where a memory has no vector; None when the query has none.
        memories: How many the store holds.

    Returns:
        Shape (n,), 0 to 1.
    """
    by_words = WORDS.bias + WORDS.coverage * coverage
    if cosine is not None:
        fit = of_size(memories)
        both = fit.bias + fit.coverage * coverage + fit.cosine * cosine
        by_words = np.where(np.isnan(cosine), by_words, both)
    return 1.0 / (1.0 + np.exp(-by_words))


def largeness(memories: int) -> float:
    """Place a store between small and large, by the logarithm of its size.

    Args:
        memories: How many it holds.

    Returns:
        0 up to ``FEW``, 1 from ``MANY`` on.
    """
    return min(1.0, max(0.0, math.log(max(memories, 1) / FEW) / math.log(MANY / FEW)))


def of_size(memories: int) -> Calibration:
    """Go over from the small stores' coefficients to the large ones'.

    Args:
        memories: How many a store holds.

    Returns:
        The coefficients for stores of this size.
    """
    share = largeness(memories)
    return Calibration(
        bias=SMALL.bias + share * (FULL.bias - SMALL.bias),
        coverage=SMALL.coverage + share * (FULL.coverage - SMALL.coverage),
        cosine=SMALL.cosine + share * (FULL.cosine - SMALL.cosine),
    )


def among(probabilities: Array) -> float:
    """Estimate how likely a memory answers a query at all.

    Args:
        probabilities: Of the hits, best score first, shape (n,).

    Returns:
        That of the likeliest of the ``BEST`` first; 0 when there is none.
    """
    return float(probabilities[:BEST].max(initial=0.0))
