"""Late interaction: how well each token of a query is matched by the tokens of a document.

A text's single vector represents its subject, its token vectors the details. MaxSim (Khattab and
Zaharia 2020, "ColBERT") is the mean, over the query's tokens, of the cosine with the nearest token
of the document.
"""

from collections.abc import Sequence

import numpy as np

from slowcat_memory.core.ranking import token_codes
from slowcat_memory.core.ranking.token_codes import SCALE
from slowcat_memory.kernels import token_scores


def quantise(tokens: np.ndarray) -> np.ndarray:
    """Return unit token vectors (n, d) times ``SCALE`` as int8; costs about 0.002 of a cosine."""
    return np.rint(tokens * SCALE).astype(np.int8)


def maxsim(query: np.ndarray, documents: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return the MaxSim score of each document.

    Takes 0.05 ms for 12 tokens and 20 documents of 20 tokens.

    Args:
        query: Shape (q, d), float32, unit length.
        documents: Each the codes of ``token_codes.encode``, or None.

    Returns:
        Shape (len(documents),), float32: cosines, NaN where either side has no tokens.
    """
    scores = np.full(len(documents), np.nan, np.float32)
    if not len(query):
        return scores
    query = np.ascontiguousarray(query, np.float32)
    held = [place for place, tokens in enumerate(documents) if tokens is not None and len(tokens)]
    if held:
        parts: list[np.ndarray] = [documents[place] for place in held]  # type: ignore[misc]  # not None: held
        scores[held] = _score(query, np.concatenate(parts), np.array(list(map(len, parts))))
    return scores


def _score(query: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    dim = query.shape[1]
    found = token_scores.by_codes(query, token_codes.columns(dim), codes, counts)
    if found is None:
        rotated = np.einsum("ij,jk->ik", query, token_codes.rotation(dim))
        found = _mean_of_best(rotated, token_codes.decode(codes, dim), counts)
    return np.minimum(found * token_codes.SHRINKAGE, 1.0)


def _mean_of_best(query: np.ndarray, rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
    products = np.einsum("ij,kj->ki", query, rows)  # no BLAS, which spins a second core meanwhile
    starts = np.cumsum(counts) - counts
    return np.maximum.reduceat(products, starts, axis=0).mean(axis=1, dtype=np.float32)
