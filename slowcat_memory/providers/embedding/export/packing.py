"""Packs a BERT-like model for the compiled library (see ``kernels.encoder``).

A model is packed as if it were of the usual kind, and the result is kept only if its vectors are
those of the original, so a kind that computes something else needs no rule here.
"""

from pathlib import Path

import numpy as np

from slowcat_memory.kernels import encoder
from slowcat_memory.kernels.encoder import Encoder, Shape
from slowcat_memory.providers.embedding.export import graph
from slowcat_memory.providers.embedding.export_format import read_json

GOOD_ENOUGH = 0.99  # mean cosine to fp32; all-MiniLM-L6-v2 reaches 0.999
CHECKED = 1  # the sentence of the file's own check

_KINDS = {"bert": 0, "roberta": 2, "xlm-roberta": 2, "camembert": 2}  # first position used


class _Weights:
    """A model's weights by name, as float32."""

    def __init__(self, folder: Path) -> None:
        self._arrays = graph.weights(folder)

    def __call__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def norm(self, name: str, place: str) -> dict[str, np.ndarray]:
        return {f"{name}.gain": self(f"{place}.weight"), f"{name}.bias": self(f"{place}.bias")}

    def linear(self, name: str, place: str) -> dict[str, np.ndarray]:
        return encoder.matrix(name, self(f"{place}.weight"), self(f"{place}.bias"))


def pack(
    folder: Path,
    rows: list[list[int]],
    vectors: np.ndarray,
    projection: np.ndarray | None,
    path: Path,
) -> float:
    """Write a packed model; return its mean cosine to ``vectors``, 0 where it cannot be packed.

    Args:
        folder: The model's.
        rows: Token ids of a few sentences, special ones included.
        vectors: Shape (len(rows), dim), unit length: the model's vectors of them in fp32.
        projection: Shape (hidden, token_dim); None for no token vectors.
        path: The file. One that is not good enough is removed.
    """
    try:
        head = graph.read_head(folder)
        config = read_json(head.transformer / "config.json", {})
        first = _KINDS[config["model_type"]]
        if projection is None:
            projection = np.zeros((config["hidden_size"], 0), np.float32)
        shape = Shape(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            heads=config["num_attention_heads"],
            inner=config["intermediate_size"],
            vocabulary=config["vocab_size"],
            positions=config["max_position_embeddings"] - first,
            pooling=encoder.MEAN if head.pooling == "mean" else encoder.FIRST,
            token_dim=projection.shape[1],
            epsilon=config["layer_norm_eps"],
            checked=len(rows[CHECKED]),
        )
        if head.dense or not shape.fits():
            return 0.0
        arrays = _arrays(_Weights(head.transformer), shape, first)
        arrays |= {
            "projection": projection,
            "check_ids": np.array(rows[CHECKED]),
            "check_vector": vectors[CHECKED],
        }
        encoder.write(path, shape, arrays)
        cosine = _cosine(path, rows, vectors)
    except (AttributeError, KeyError, TypeError, ValueError):  # of another kind
        cosine = 0.0
    if cosine < GOOD_ENOUGH:
        path.unlink(missing_ok=True)
        return 0.0
    return cosine


def _cosine(path: Path, rows: list[list[int]], vectors: np.ndarray) -> float:
    try:
        packed = Encoder(path)
    except ValueError:  # its own check failed: the other pooling, or another kind
        return 0.0
    ours = np.stack([packed.run(ids)[0] for ids in rows])
    return float((ours * vectors).sum(axis=1).mean())


def _arrays(weights: _Weights, shape: Shape, first: int) -> dict[str, np.ndarray]:
    words, scales = encoder.quantise_rows(weights("embeddings.word_embeddings.weight"))
    positions = weights("embeddings.position_embeddings.weight")[first:]
    arrays = {
        "words": words,
        "word_scales": scales,
        "positions": positions + weights("embeddings.token_type_embeddings.weight")[0],
        **weights.norm("norm", "embeddings.LayerNorm"),
    }
    for layer in range(shape.layers):
        arrays |= _layer(weights, shape, layer)
    return arrays


def _layer(weights: _Weights, shape: Shape, layer: int) -> dict[str, np.ndarray]:
    place = f"encoder.layer.{layer}"
    scale = 1 / np.sqrt(shape.hidden // shape.heads)  # of the attention scores, into the queries
    parts = [
        [weights(f"{place}.attention.self.{part}.{kind}") * factor for kind in ("weight", "bias")]
        for part, factor in (("query", scale), ("key", 1), ("value", 1))
    ]
    matrix, biases = (np.concatenate(kind).astype(np.float32) for kind in zip(*parts, strict=True))
    return {
        **encoder.matrix(f"{layer}.attention", matrix, biases),
        **weights.linear(f"{layer}.mixing", f"{place}.attention.output.dense"),
        **weights.norm(f"{layer}.middle", f"{place}.attention.output.LayerNorm"),
        **weights.linear(f"{layer}.up", f"{place}.intermediate.dense"),
        **weights.linear(f"{layer}.down", f"{place}.output.dense"),
        **weights.norm(f"{layer}.last", f"{place}.output.LayerNorm"),
    }
