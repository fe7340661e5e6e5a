"""What ``kernels.encoder`` computes, in NumPy and in double precision, step by step from its file."""

import math

import numpy as np

from slowcat_memory.kernels.encoder import FIRST, Encoder


def embed(model: Encoder, ids: list[int], steps: int = 255) -> tuple[np.ndarray, np.ndarray]:
    """Return the vector of a text, and those of its tokens.

    Args:
        model: Where the weights are read.
        ids: Token ids.
        steps: Into how many steps rows are quantised: 127 by instructions without a dot product.
    """
    shape = model.shape

    def linear(rows: np.ndarray, name: str) -> np.ndarray:
        packed = model.section(f"{name}.weights").astype(float)
        codes = packed.swapaxes(1, 2).reshape(-1, rows.shape[1])
        weights = codes * model.section(f"{name}.scales")[:, None]
        return quantised(rows, steps) @ weights.T + model.section(f"{name}.biases")

    def norm(rows: np.ndarray, name: str) -> np.ndarray:
        centred = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + shape.epsilon)
        return centred / spread * model.section(f"{name}.gain") + model.section(f"{name}.bias")

    def attention(mixed: np.ndarray) -> np.ndarray:
        query, key, value = np.split(mixed.reshape(len(ids), 3 * shape.heads, -1), 3, axis=1)
        scores = np.exp(np.einsum("ihd,jhd->hij", query, key))
        shares = scores / scores.sum(axis=2, keepdims=True)
        return np.einsum("hij,jhd->ihd", shares, value).reshape(len(ids), -1)

    words = model.section("words")[ids] * model.section("word_scales")[ids, None].astype(float)
    states = norm(words + model.section("positions")[: len(ids)], "norm")
    for layer in range(shape.layers):
        mixed = attention(linear(states, f"{layer}.attention"))
        states = norm(states + linear(mixed, f"{layer}.mixing"), f"{layer}.middle")
        wide = linear(states, f"{layer}.up")
        wide = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
        states = norm(states + linear(wide, f"{layer}.down"), f"{layer}.last")
    vector = states[0] if shape.pooling == FIRST else states.mean(axis=0)
    tokens = states @ model.section("projection").astype(float)
    return vector / np.linalg.norm(vector), tokens / np.linalg.norm(tokens, axis=1, keepdims=True)


def quantised(rows: np.ndarray, steps: int) -> np.ndarray:
    """Return rows rounded to steps between the least and the largest number of each."""
    low = rows.min(axis=1, keepdims=True)
    step = (rows.max(axis=1, keepdims=True) - low) / steps
    return np.floor((rows - low) / step + 0.5) * step + low
