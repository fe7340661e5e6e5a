"""Exports any model that sentence-transformers loads, by tracing it: the extra ``[models]``.

For a model of which ``graph`` knows no other way. The whole of it is traced, pooling and dense
layers included. Only the export child imports this, for torch takes seconds and half a gigabyte.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import model_files
from slowcat_memory.providers.embedding.export.graph import STATES
from slowcat_memory.providers.embedding.local import OnnxModel, open_tokenizer

SAME = 0.9999  # mean cosine that the traced model must keep
_TEXTS = ("Yes.", "What was the name of my sister's dog again?", "Ich wohne am Alten Markt.")
_HINT = "Choose another model, or serve this one behind an endpoint"
_AXES = {name: {0: "batch", 1: "tokens"} for name in model_files.INPUTS}


class _Graph(torch.nn.Module):
    """The model with plain tensors as arguments; returns unit vectors and hidden states."""

    def __init__(self, model: Any, states: bool) -> None:
        super().__init__()
        self.model = model
        self.states = states

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        out = self.model({"input_ids": input_ids, "attention_mask": attention_mask})
        vectors = torch.nn.functional.normalize(out["sentence_embedding"], dim=-1)
        return (vectors, out["token_embeddings"]) if self.states else vectors


def trace(folder: Path, out: Path, threads: int) -> tuple[Tokenizer, int]:
    """Write the graph of a model, as ``graph.build`` does; STATES only if it has token states.

    Runs no code from the model's repository.

    Returns:
        Its tokenizer, without padding or truncation, and the maximum of tokens.

    Raises:
        ProviderError: It is not supported; the message says why.
    """
    torch.set_num_threads(threads)
    eager = {"attn_implementation": "eager"}  # the exporter can trace it
    model = SentenceTransformer(
        str(folder), device="cpu", local_files_only=True, model_kwargs=eager
    )
    model = model.float().eval()
    if any(getattr(module, "include_prompt", True) is False for module in model):
        raise ProviderError("models that exclude their prompt from pooling are not supported")
    tokenizer = _tokenizer_of(model, out.with_name(model_files.TOKENIZER))
    rows = [tokenizer.encode(text).ids for text in _TEXTS]
    vectors = model.encode(list(_TEXTS), prompt="", normalize_embeddings=True)
    graph = _Graph(model, "token_embeddings" in _outputs(model, rows[0])).eval()
    try:
        _trace(graph, rows[1], out)
        traced = OnnxModel(out)
        ours = np.stack([traced.run(ids)[0] for ids in rows])
    except Exception as error:  # of torch and onnxruntime, each its own
        raise ProviderError(
            f"the model cannot be traced ({type(error).__name__})", hint=_HINT
        ) from error
    if (ours * vectors).sum(axis=1).mean() < SAME:
        raise ProviderError("the traced model computes something else", hint=_HINT)
    return tokenizer, int(model.max_seq_length or 512)


def _tokenizer_of(model: Any, path: Path) -> Tokenizer:
    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ProviderError("the model has no fast tokenizer")
    backend.save(str(path))
    return open_tokenizer(path)


def _outputs(model: Any, row: list[int]) -> dict[str, Any]:
    ids = torch.tensor([row])
    with torch.no_grad():
        return dict(model({"input_ids": ids, "attention_mask": torch.ones_like(ids)}))


def _trace(graph: _Graph, row: list[int], path: Path) -> None:
    ids = torch.tensor([row, row[::-1]])
    outputs = {model_files.OUTPUT: {0: "batch"}}
    if graph.states:
        outputs[STATES] = {0: "batch", 1: "tokens"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            (ids, torch.ones_like(ids)),
            str(path),
            input_names=list(model_files.INPUTS),
            output_names=list(outputs),
            dynamic_axes=_AXES | outputs,
            opset_version=17,
            dynamo=False,  # the other exporter needs onnxscript
        )
