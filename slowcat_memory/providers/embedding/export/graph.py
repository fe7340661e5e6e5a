"""Makes the ONNX graph of a model from its own files, without torch.

The tokens' last hidden states come from an ONNX file that the model's folder has, or from BERT
weights in safetensors. What follows them is read from the folder's ``modules.json``: such files
usually end before pooling. Only the export child imports this.

The result has the inputs of ``model_files`` and two outputs: the vectors of texts, and ``STATES``
(``project`` replaces them). Measured with all-MiniLM-L6-v2: 2e-7 from sentence-transformers.
"""

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data
from safetensors.numpy import load_file

from slowcat_memory.providers.embedding import model_files
from slowcat_memory.providers.embedding.model_files import read_json

STATES = "states"  # the second output until the projection is appended: (batch, tokens, hidden)
OPSET, IR_VERSION = 20, 9  # of a graph from weights; onnxruntime 1.20 reads them
_HIDDEN = ("last_hidden_state", "token_embeddings")  # outputs of ONNX files of transformers
_BERT = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
_MODULES = ("Transformer", "Pooling", "Normalize")  # of sentence-transformers, in order


def build(folder: Path, out: Path) -> None:
    """Write the graph of a model.

    Raises:
        ValueError: The model is of another kind; the text says which.
        Exception: Of onnx and safetensors, for damaged files.
    """
    transformer, pooling = read_modules(folder)
    given = model_files.onnx_file(folder)
    model, states = _open(given) if given else _bert(transformer)
    net = _Builder(model.graph)
    net.node("Identity", states, name=STATES)
    vectors = _pooled(net, states, pooling)
    net.node("LpNormalization", vectors, name=model_files.OUTPUT, axis=-1, p=2)
    _set_outputs(model.graph, {model_files.OUTPUT: 2, STATES: 3})
    onnx.save(model, out)


def project(path: Path, projection: np.ndarray) -> None:
    """Replace the states among a graph's outputs by their unit projections (hidden, token_dim)."""
    model = onnx.load(path)
    net = _Builder(model.graph)
    projected = net.node("MatMul", STATES, net.constant(projection))
    net.node("LpNormalization", projected, name=model_files.TOKEN_OUTPUT, axis=-1, p=2)
    _set_outputs(model.graph, {model_files.OUTPUT: 2, model_files.TOKEN_OUTPUT: 3})
    onnx.save(model, path)


def share(path: Path, source: Path) -> None:
    """Let a graph read its word embeddings from the model's own file, by a hard link beside it.

    They are half of a small model, on disk and, since the file is mapped, in memory. The graph
    stays as it is where no file has them as they are, or where a link to it is not possible.
    """
    model = onnx.load(path)
    table = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    for file in source.glob("*.safetensors"):
        offset = file.read_bytes().find(table.raw_data)
        if offset >= 0:
            with contextlib.suppress(OSError):
                os.link(file.resolve(), path.parent / model_files.WEIGHTS)
                set_external_data(table, model_files.WEIGHTS, offset, len(table.raw_data))
                table.ClearField("raw_data")
                path.write_bytes(model.SerializeToString())
            return


def read_modules(folder: Path) -> tuple[Path, str]:
    """Return the folder of a model's weights, and its pooling: "mean" or "cls".

    Raises:
        ValueError: Its ``modules.json`` has a module that is not written here.
    """
    modules = read_json(folder / "modules.json", [])
    places = {module["type"].rpartition(".")[2]: folder / module["path"] for module in modules}
    if [*places] != [kind for kind in _MODULES if kind in places]:
        raise ValueError(f"it consists of {', '.join(places)}")
    pooling = places.get("Pooling", folder / "1_Pooling") / "config.json"
    return places.get("Transformer", folder), _pooling(read_json(pooling, {}))


def _weights(folder: Path) -> dict[str, np.ndarray]:
    """Read all safetensors of a folder as float32, named as in a plain encoder.

    Raises:
        ValueError: There are none.
    """
    weights: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("*.safetensors")):
        weights |= load_file(path)
    if not weights:
        raise ValueError("it has no weights in safetensors")
    return {
        name.removeprefix("bert."): np.asarray(array, np.float32)
        for name, array in weights.items()
        if array.dtype.kind == "f"
    }


def _pooling(config: dict[str, Any]) -> str:
    mode = config.get("pooling_mode") or [
        name.removeprefix("pooling_mode_").removesuffix("_token").removesuffix("_tokens")
        for name, on in config.items()
        if on is True and name.startswith("pooling_mode_")
    ]
    modes = [mode] if isinstance(mode, str) else mode or ["mean"]
    if modes not in (["mean"], ["cls"]) or config.get("include_prompt") is False:
        raise ValueError(f"its pooling is {' and '.join(modes)}, or leaves out the prompt")
    return modes[0]


class _Builder:
    """Appends to a graph; every name that it makes is new there."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._first, self._count = f"slowcat_{len(graph.node)}_", 0

    def constant(self, value: Any) -> str:
        name = self._name()
        array = np.array(value, order="C")
        self._graph.initializer.append(numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Append an operation; return the name of its output."""
        output = name or self._name()
        self._graph.node.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def _name(self) -> str:
        self._count += 1
        return f"{self._first}{self._count}"


def _set_outputs(graph: onnx.GraphProto, ranks: dict[str, int]) -> None:
    del graph.output[:]
    for name, rank in ranks.items():
        shape = ["batch", "tokens", f"{name}_dim"][:: 1 if rank == 3 else 2]
        graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))


def _open(path: Path) -> tuple[onnx.ModelProto, str]:
    """Open an ONNX file; return it, and the name of its hidden states.

    Raises:
        ValueError: It has other inputs or outputs than a text encoder.
    """
    model = onnx.load(path)
    graph = model.graph
    for given in [entry for entry in graph.input if entry.name not in model_files.INPUTS]:
        if given.name != "token_type_ids":
            raise ValueError(f"its ONNX file wants {given.name}")
        ids = model_files.INPUTS[0]
        graph.node.insert(0, helper.make_node("Sub", [ids, ids], [given.name]))  # zeros
        graph.input.remove(given)
    states = next((out.name for out in graph.output if out.name in _HIDDEN), "")
    if not states or {entry.name for entry in graph.input} != set(model_files.INPUTS):
        raise ValueError("its ONNX file is not that of a text encoder")
    return model, states


def _pooled(net: _Builder, states: str, pooling: str) -> str:
    """Pool (batch, tokens, hidden) to (batch, hidden), by operations that every opset has."""
    if pooling == "cls":
        return net.node("Gather", states, net.constant(np.int64(0)), axis=1)
    mask = net.node("Cast", model_files.INPUTS[1], to=TensorProto.FLOAT)
    row = net.node("Reshape", mask, net.constant(np.array([0, 1, -1])))
    count = net.node("MatMul", row, net.node("Reshape", mask, net.constant([0, -1, 1])))
    mean = net.node("Div", net.node("MatMul", row, states), count)
    return net.node("Reshape", mean, net.constant([0, -1]))


class _Bert:
    """The layers of BERT, as nodes of a graph."""

    def __init__(self, net: _Builder, array: dict[str, np.ndarray], config: Any) -> None:
        self._made, self._array = net, array
        self._epsilon = config["layer_norm_eps"]
        self._hidden, self._heads = config["hidden_size"], config["num_attention_heads"]
        self._split = net.constant([0, 0, self._heads, self._hidden // self._heads])
        self._joined = net.constant([0, 0, self._hidden])
        self._root = net.constant(np.float32((self._hidden // self._heads) ** 0.5))

    def embeddings(self, ids: str) -> str:
        net, place = self._made, "embeddings"
        length = net.node("Gather", net.node("Shape", ids), net.constant(np.int64(1)))
        steps = net.node("Range", net.constant(np.int64(0)), length, net.constant(np.int64(1)))
        words, positions = (
            net.node("Gather", net.constant(self._array[f"{place}.{name}.weight"]), rows)
            for name, rows in (("word_embeddings", ids), ("position_embeddings", steps))
        )
        kind = net.constant(self._array[f"{place}.token_type_embeddings.weight"][0])
        total = net.node("Add", net.node("Add", words, positions), kind)
        return self._norm(total, f"{place}.LayerNorm")

    def layer(self, states: str, place: str) -> str:
        """Append one layer: attention, then the two linear layers, each with its residual."""
        mixed = self._attention(states, f"{place}.attention.self")
        mixed = self._linear(mixed, f"{place}.attention.output.dense")
        states = self._norm(
            self._made.node("Add", mixed, states), f"{place}.attention.output.LayerNorm"
        )
        inner = self._made.node("Gelu", self._linear(states, f"{place}.intermediate.dense"))
        inner = self._linear(inner, f"{place}.output.dense")
        return self._norm(self._made.node("Add", inner, states), f"{place}.output.LayerNorm")

    def _attention(self, states: str, place: str) -> str:
        """Append attention to every token: a text is never padded, see ``local``."""
        net = self._made
        query, key, value = (
            net.node(
                "Transpose",
                net.node("Reshape", self._linear(states, f"{place}.{part}"), self._split),
                perm=order,
            )
            for part, order in (
                ("query", [0, 2, 1, 3]),
                ("key", [0, 2, 3, 1]),
                ("value", [0, 2, 1, 3]),
            )
        )
        scores = net.node("Div", net.node("MatMul", query, key), self._root)
        chances = net.node("Softmax", scores, axis=-1)
        mixed = net.node("Transpose", net.node("MatMul", chances, value), perm=[0, 2, 1, 3])
        return net.node("Reshape", mixed, self._joined)

    def _linear(self, states: str, place: str) -> str:
        matrix = self._made.constant(self._array[f"{place}.weight"].T)
        bias = self._made.constant(self._array[f"{place}.bias"])
        return self._made.node("Add", self._made.node("MatMul", states, matrix), bias)

    def _norm(self, states: str, place: str) -> str:
        parts = (self._made.constant(self._array[f"{place}.{part}"]) for part in ("weight", "bias"))
        return self._made.node("LayerNormalization", states, *parts, axis=-1, epsilon=self._epsilon)


def _bert(folder: Path) -> tuple[onnx.ModelProto, str]:
    """Make the graph of a BERT from its weights; return it, and the name of its hidden states.

    Raises:
        ValueError: The model is no BERT with the exact GELU, or has no safetensors.
        KeyError: A weight is missing.
    """
    config = read_json(folder / "config.json", {})
    for name, wanted in _BERT.items():
        if config.get(name, wanted if name != "model_type" else "") != wanted:
            raise ValueError(f"its {name} is {config.get(name)!r}")
    entries = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in model_files.INPUTS
    ]
    graph = helper.make_graph([], "bert", entries, [])
    net = _Builder(graph)
    bert = _Bert(net, _weights(folder), config)
    states = bert.embeddings(model_files.INPUTS[0])
    for layer in range(config["num_hidden_layers"]):
        states = bert.layer(states, f"encoder.layer.{layer}")
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
    return model, states
