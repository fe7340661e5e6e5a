"""Hashed bag-of-words vectors, for use without an embedding model."""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

DIM = 512


def bags(texts: Sequence[Sequence[str]]) -> np.ndarray:
    """Return vectors of texts by their words; rare words weigh most.

    Args:
        texts: The words of each text.

    Returns:
        Shape (len(texts), DIM), float32, unit length; the same texts give the same vectors.
    """
    held = Counter(word for words in texts for word in set(words))
    rows = np.zeros((len(texts), DIM), np.float32)
    for row, words in zip(rows, texts, strict=True):
        for word, count in sorted(Counter(words).items()):
            place = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
            weight = math.log(1 + len(texts) / held[word]) * math.sqrt(count)
            row[place // 2 % DIM] += weight if place % 2 else -weight
        if not row.any():
            row[0] = 1.0
        row /= np.linalg.norm(row)
    return rows
