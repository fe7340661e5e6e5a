"""Converts a sentence-transformers model to one ONNX graph: token ids in, unit vectors out.

The second output is the vectors of single tokens: their last hidden states, projected (see
``token_vectors``). The projection is appended to the finished graph, so it stays fp32.

The whole model is traced, pooling and dense layers included, so that any model works. A step is
kept only if it does not change the vectors. Measured with all-MiniLM-L6-v2 on one core: fusing
attention halves the time to load (35 instead of 65 ms; onnxruntime fuses the rest at load, so runs
are no faster), int8 is three times as fast and a quarter as large, and leaving layer norms alone
makes runs a seventh faster (see docs/decisions/0012).

Only the export child imports this.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import export_format
from slowcat_memory.providers.embedding.onnx import OnnxModel

SAME = 0.9999  # mean cosine that a change of format must keep
GOOD_ENOUGH = 0.98  # mean cosine of int8 to fp32; all-MiniLM-L6-v2 reaches 0.991
OPSET = 17

_FUSABLE = {"bert", "roberta", "xlm-roberta", "camembert", "distilbert"}
_STATES = "states"  # the second output until the projection is appended
_AXES = {name: {0: "batch", 1: "tokens"} for name in export_format.INPUTS}

SENTENCES = (
    "Yes.",
    "What was the name of my sister's dog again?",
    "we drove up to the lake on saturday and the boat would not start",
    "My flight to Lisbon leaves at ten past six in the morning, so wake me up at four.",
    "Ich habe am Dienstag einen Termin beim Zahnarzt.",
    "The new job pays less, but I can walk there, and nobody phones me after five.",
    "Is there anything in the fridge that I could cook for six people?",
    "She plays the violin in the city's youth orchestra, and last year she taught her little "
    "brother, who would rather play football, enough of it that the two of them could surprise "
    "their grandmother on her eightieth birthday. Everybody cried, even the neighbours.",
)


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


def convert(
    model: Any,
    rows: list[list[int]],
    vectors: np.ndarray,
    projection: np.ndarray | None,
    folder: Path,
    say: Callable[[str], None],
) -> tuple[bool, float]:
    """Write ``model.onnx``; return whether it is int8, and its mean cosine to ``vectors``.

    Args:
        model: A ``SentenceTransformer``.
        rows: Token ids of a few sentences, special ones included.
        vectors: Shape (len(rows), dim), unit length: the model's own vectors of them.
        projection: Shape (hidden, token_dim); None for no token output.
        folder: Output folder; intermediate files stay there too.

    Raises:
        ProviderError: No exporter keeps the model's vectors.
    """
    best = _traced(_Graph(model, projection is not None).eval(), rows, vectors, folder, say)
    say("fusing")
    best = _fused(model, best, rows, vectors)
    say("quantising to int8")
    small = folder / "int8.onnx"
    cosine = _attempt(lambda: _quantise(best, small), small, rows, vectors)
    int8 = cosine >= GOOD_ENOUGH
    if not int8:
        small, cosine = best, mean_cosine(best, rows, vectors)
    if projection is not None:
        _project(small, projection)
    small.replace(folder / export_format.MODEL)
    return int8, cosine


def mean_cosine(path: Path, rows: list[list[int]], vectors: np.ndarray) -> float:
    model = OnnxModel(path)
    ours = np.stack([model.run(ids)[0] for ids in rows])
    return float((ours * vectors).sum(axis=1).mean())


def _traced(
    graph: _Graph,
    rows: list[list[int]],
    vectors: np.ndarray,
    folder: Path,
    say: Callable[[str], None],
) -> Path:
    """Try the exporters in turn: torch's older one, then the newer, which needs onnxscript."""
    path = folder / "traced.onnx"
    for dynamo in (False, True):
        say("tracing" if not dynamo else "tracing with the other exporter")
        if _attempt(lambda d=dynamo: _trace(graph, rows, path, d), path, rows, vectors) >= SAME:  # type: ignore[misc]
            return path
    raise ProviderError(
        "the model cannot be exported to ONNX",
        hint="Choose another model, or serve this one behind an endpoint",
    )


def _trace(graph: _Graph, rows: list[list[int]], path: Path, dynamo: bool) -> None:
    ids = torch.tensor([rows[1], rows[1][::-1]])
    outputs = {export_format.OUTPUT: {0: "batch"}}
    if graph.states:
        outputs[_STATES] = {0: "batch", 1: "tokens"}
    options: dict[str, Any] = {"dynamic_axes": _AXES | outputs}
    if dynamo:
        shape = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
        options = {"dynamic_shapes": (shape, shape), "external_data": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            (ids, torch.ones_like(ids)),
            str(path),
            input_names=list(export_format.INPUTS),
            output_names=list(outputs),
            opset_version=None if dynamo else OPSET,
            dynamo=dynamo,
            **options,
        )


def _fused(model: Any, path: Path, rows: list[list[int]], vectors: np.ndarray) -> Path:
    config = getattr(model, "config", None)
    if getattr(config, "model_type", "") not in _FUSABLE:
        return path
    fused = path.with_name("fused.onnx")
    same = _attempt(lambda: _fuse(config, path, fused), fused, rows, vectors) >= SAME
    return fused if same else path


def _fuse(config: Any, path: Path, out: Path) -> None:
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    options = FusionOptions("bert")
    # Fused, these are slower than their parts, whose biases move into the int8 products (see
    # ``onnx.NOT_FUSED``, which keeps onnxruntime from fusing them at load).
    options.enable_skip_layer_norm = False
    options.enable_bias_skip_layer_norm = False
    options.enable_bias_gelu = False
    optimizer.optimize_model(
        str(path),
        model_type="bert",
        num_heads=config.num_attention_heads,
        hidden_size=config.hidden_size,
        opt_level=0,
        optimization_options=options,
    ).save_model_to_file(str(out))


def _quantise(path: Path, out: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        str(path),
        str(out),
        per_channel=True,  # one scale for a whole matrix costs 3 points of cosine
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def _project(path: Path, projection: np.ndarray) -> None:
    """Replace the states among a graph's outputs by their unit projections."""
    model = onnx.load(path)
    graph, dim = model.graph, projection.shape[1]
    graph.initializer.append(onnx.numpy_helper.from_array(projection, "projection"))
    graph.node.append(onnx.helper.make_node("MatMul", [_STATES, "projection"], ["projected"]))
    graph.node.append(
        onnx.helper.make_node(
            "LpNormalization", ["projected"], [export_format.TOKEN_OUTPUT], axis=-1
        )
    )
    (states,) = (output for output in graph.output if output.name == _STATES)
    graph.output.remove(states)
    graph.output.append(
        onnx.helper.make_tensor_value_info(
            export_format.TOKEN_OUTPUT, onnx.TensorProto.FLOAT, ["batch", "tokens", dim]
        )
    )
    onnx.save(model, path)


def _attempt(
    step: Callable[[], None], path: Path, rows: list[list[int]], vectors: np.ndarray
) -> float:
    """Run a step that may raise anything; return the mean cosine of its file, 0 when it failed."""
    try:
        step()
        return mean_cosine(path, rows, vectors)
    except Exception as error:
        warnings.warn(f"{path.name}: {error!r}"[:500], stacklevel=2)
        return 0.0
