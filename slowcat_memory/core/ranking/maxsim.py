"""Late interaction: how well each token of a query is matched by the tokens of a document.

A text's single vector represents its subject, its token vectors the details. MaxSim (Khattab and
Zaharia 2020, "ColBERT") is the mean, over the query's tokens, of the cosine with the nearest token
of the document.
"""

from collections.abc import Sequence

import numpy as np

SCALE = 127.0  # of int8: a cosine is a dot product divided by this once per int8 side


def quantise(tokens: np.ndarray) -> np.ndarray:
    """Return unit token vectors (n, d) times ``SCALE`` as int8; costs about 0.002 of a cosine."""
    return np.rint(tokens * SCALE).astype(np.int8)


def maxsim(query: np.ndarray, documents: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return the MaxSim score of each document.

    Takes 0.14 ms for 12 tokens and 50 documents of 20 tokens, and 0.45 ms when they have 110 (d =
    96, one core).

    Args:
        query: Shape (q, d), float32, unit length.
        documents: Each of shape (n, d), int8 from ``quantise``, or None.

    Returns:
        Shape (len(documents),), float32: cosines, NaN where either side has no tokens.
    """
    scores = np.full(len(documents), np.nan, np.float32)
    held = [i for i, tokens in enumerate(documents) if tokens is not None and len(tokens)]
    if not held or not len(query):
        return scores
    parts: list[np.ndarray] = [documents[i] for i in held]  # type: ignore[misc]  # not None: held
    rows = np.concatenate(parts, dtype=np.float32)
    starts = np.cumsum([0, *map(len, parts[:-1])])
    best = np.maximum.reduceat(rows @ query.T, starts, axis=0)
    scores[held] = best.mean(axis=1) / SCALE
    return scores
