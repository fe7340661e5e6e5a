"""Late interaction: how well each token of a query is matched by the tokens of a document.

A text's single vector represents its subject, its token vectors the details. MaxSim (Khattab and
Zaharia 2020, "ColBERT") is the mean, over the query's tokens, of the cosine with the nearest token
of the document.

A document's tokens are kept in two bits a dimension, with near-equal ones merged into one.

A code needs no fitting, so it is the same for every model: the vectors are rotated by a fixed
matrix, after which their coordinates are spread alike, and each coordinate is rounded to one of
four evenly spaced levels. A code means the unit vector in the direction of its levels.

A quarter of the bits, and half of the tokens, cost no recall that could be measured, and a memory
takes a tenth of the room (docs/decisions/0049).
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

SCALE = 127.0  # of int8 vectors: a cosine of tokens is a dot product divided by this, once a side
MERGE_FROM = 0.65  # cosine from which two tokens of a text become one
TOGETHER = 128  # tokens of a long text that are compared with one another, which is quadratic
PER_BYTE = 4  # coordinates in a byte
STEP = 0.9957  # between two levels, in standard deviations: the best four for a normal distribution
SEED = 3  # of the rotation's signs; of 14, all within half a point of recall
MIDDLE = 1.5  # code of a coordinate of zero, between the second and the third level
# What a MaxSim of codes is multiplied by, to equal in the mean that of the vectors (LoCoMo, 20,000
# pairs): rounding and merging turn the nearest token away.
SHRINKAGE = 1.135
SHIFTS = np.array([0, 2, 4, 6], np.uint8)  # of the four coordinates in a byte
LEVELS = (np.arange(256)[:, None] >> SHIFTS & 3).astype(np.float32) - np.float32(MIDDLE)  # by byte


def width_of(dim: int) -> int:
    """Return the bytes of a token with ``dim`` coordinates."""
    return -(-dim // PER_BYTE)


def quantise(tokens: np.ndarray) -> np.ndarray:
    """Return unit token vectors (n, d) times ``SCALE`` as int8; costs about 0.002 of a cosine."""
    return np.rint(tokens * SCALE).astype(np.int8)


def encode(tokens: np.ndarray) -> np.ndarray:
    """Return the codes of a text's tokens.

    Args:
        tokens: Shape (n, dim), of any length each; zero vectors are left out.

    Returns:
        Shape (m, ``width_of(dim)``), uint8, m <= n. Byte j holds the coordinates from 4 * j on,
        the first in its lowest bits.
    """
    units = _unit(tokens.astype(np.float32))
    parts = [merge(units[at : at + TOGETHER]) for at in range(0, max(1, len(units)), TOGETHER)]
    kept = np.concatenate(parts)
    dim, width = tokens.shape[1], width_of(tokens.shape[1])
    levels = np.floor(np.einsum("ij,jk->ik", kept, rotation(dim)) * (dim**0.5 / STEP)) + 2
    codes = np.ones(
        (len(kept), PER_BYTE * width), np.uint8
    )  # also in the padding, which is never read
    codes[:, :dim] = np.clip(levels, 0, 3)
    return np.bitwise_or.reduce(codes.reshape(len(kept), width, PER_BYTE) << SHIFTS, axis=2)


def decode(codes: np.ndarray, dim: int) -> np.ndarray:
    """Return the rotated unit vectors of codes, shape (n, dim), float32."""
    levels = LEVELS.take(codes, axis=0).reshape(len(codes), -1)[:, :dim]
    return levels / np.sqrt(np.einsum("ij,ij->i", levels, levels))[:, None]


def merge(tokens: np.ndarray) -> np.ndarray:
    """Merge unit vectors (n, dim) of one text, the nearest first, until all are distinct.

    A merged token is the mean direction of all that went into it. Most words of a sentence that
    belong together have near-equal vectors, and a query's token needs only the best of them.
    """
    tokens, weights = tokens.copy(), np.ones(len(tokens), np.float32)
    cosines = np.einsum("ij,kj->ik", tokens, tokens)
    np.fill_diagonal(cosines, -1.0)
    while len(tokens) > 1:
        row, other = divmod(int(cosines.argmax()), len(tokens))
        if cosines[row, other] < MERGE_FROM:
            break
        mean = weights[row] * tokens[row] + weights[other] * tokens[other]
        tokens[row] = mean / max(float(np.sqrt(mean @ mean)), 1e-9)
        weights[row] += weights[other]
        weights[other], tokens[other], cosines[other], cosines[:, other] = 0.0, 0.0, -1.0, -1.0
        nearness = np.where(weights > 0, np.einsum("ij,j->i", tokens, tokens[row]), -1.0)
        nearness[row] = -1.0
        cosines[row] = cosines[:, row] = nearness
    return tokens[weights > 0]


def maxsim(query: np.ndarray, documents: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return the MaxSim score of each document.

    Args:
        query: Shape (q, d), float32, unit length.
        documents: Each the codes of ``encode``, or None.

    Returns:
        Shape (len(documents),), float32: cosines, NaN where either side has no tokens.
    """
    scores = np.full(len(documents), np.nan, np.float32)
    codes = [tokens for tokens in documents if tokens is not None and len(tokens)]
    if not len(query) or not codes:
        return scores
    dim, counts = query.shape[1], np.array([*map(len, codes)])
    rotated = np.einsum("ij,jk->ik", query, rotation(dim))
    rows = decode(np.concatenate(codes), dim)
    products = np.einsum("ij,kj->ki", rotated, rows)  # no BLAS, which spins a second core meanwhile
    best = np.maximum.reduceat(products, np.cumsum(counts) - counts, axis=0)
    means = best.mean(axis=1, dtype=np.float32) * SHRINKAGE
    scores[[tokens is not None and len(tokens) > 0 for tokens in documents]] = np.minimum(
        means, 1.0
    )
    return scores


@cache
def rotation(dim: int) -> np.ndarray:
    """Return the rotation for ``dim`` coordinates, shape (dim, dim), float32; the same everywhere.

    Two cosine transforms with fixed random signs before each: they mix every coordinate into all.
    """
    place = np.arange(dim)
    transform = np.cos(np.pi * (2 * place[:, None] + 1) * place / (2 * dim)) * np.sqrt(2 / dim)
    transform[:, 0] /= np.sqrt(2)
    first, second = _signs(2 * dim).reshape(2, dim)
    matrix = np.einsum("ij,jk->ik", first[:, None] * transform * second, transform)
    return np.ascontiguousarray(matrix, np.float32)


def _signs(count: int) -> np.ndarray:
    state, signs = SEED, np.ones(count)
    for place in range(count):
        state = (state * 1103515245 + 12345) % 2**31  # the C standard's example: the same for ever
        signs[place] = 1.0 if state >> 30 else -1.0
    return signs


def _unit(tokens: np.ndarray) -> np.ndarray:
    lengths = np.sqrt(np.einsum("ij,ij->i", tokens, tokens))
    return tokens[lengths > 0] / lengths[lengths > 0, None]


# A text's single vector is kept in a byte a coordinate, and a scale that keeps the length. The index
# compares vectors as the store keeps them, so a memory answers the same before a restart and after
# it. A cosine changes by less than 0.005 (docs/decisions/0049).
def to_bytes(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the bytes of a vector, shape (dim,), int8, and their scale."""
    values = np.asarray(values, np.float32)
    levels = np.rint(values * (SCALE / max(float(np.abs(values).max(initial=0.0)), 1e-12)))
    scale = np.linalg.norm(values) / max(float(np.linalg.norm(levels)), 1e-12)
    return levels.astype(np.int8), float(scale)


def as_kept(values: np.ndarray) -> np.ndarray:
    """Return a vector as the store will return it, shape (dim,), float32; twice is as once."""
    levels, scale = to_bytes(values)
    return levels * np.float32(scale)
