import json
import math
import shutil
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import model_files
from slowcat_memory.providers.embedding.export import child, graph
from slowcat_memory.providers.embedding.local import LocalEmbedder
from tests.providers.embedding.test_local import TURNS
from tests.support.rows import DATA, cases

# Parts of a model as sentence-transformers saves it; weights and tokenizer are made below.
PARTS = DATA / "tiny_bert"
CONFIG: dict[str, Any] = json.loads((PARTS / "config.json").read_text())
HIDDEN, INNER = CONFIG["hidden_size"], CONFIG["intermediate_size"]
HEADS, LAYERS = CONFIG["num_attention_heads"], CONFIG["num_hidden_layers"]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz,.?:'"]
VOCABULARY = {word: row for row, word in enumerate([*WORDS, *(f"##{word}" for word in WORDS[4:])])}
ERF = np.vectorize(math.erf)


def random_weights() -> dict[str, np.ndarray]:
    """Weights of a small BERT, named as transformers names them."""
    chance = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), HIDDEN),
        "embeddings.position_embeddings.weight": (300, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        place = f"encoder.layer.{layer}"
        parts = (*(f"self.{part}" for part in ("query", "key", "value")), "output.dense")
        linear = {f"{place}.attention.{part}": (HIDDEN, HIDDEN) for part in parts}
        linear |= {f"{place}.intermediate.dense": (INNER, HIDDEN)}
        linear |= {f"{place}.output.dense": (HIDDEN, INNER)}
        for name, shape in linear.items():
            shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
        norms += [f"{place}.attention.output.LayerNorm", f"{place}.output.LayerNorm"]
    for name in norms:
        shapes |= {f"{name}.weight": (HIDDEN,), f"{name}.bias": (HIDDEN,)}
    return {
        name: (chance.normal(size=shape) * 0.3 + name.endswith("LayerNorm.weight")).astype("f4")
        for name, shape in shapes.items()
    }


def states_of(weights: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """BERT in NumPy, in double precision: the last hidden states of one row."""

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T.astype(float) + weights[f"{name}.bias"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-12)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    rows = weights["embeddings.word_embeddings.weight"][ids].astype(float)
    rows = rows + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(rows + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        place = f"encoder.layer.{layer}"
        query, key, value = (
            linear(x, f"{place}.attention.self.{part}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        chances = np.exp(query @ key.swapaxes(1, 2) / math.sqrt(HIDDEN // HEADS))
        chances /= chances.sum(axis=-1, keepdims=True)
        mixed = (chances @ value).swapaxes(0, 1).reshape(len(ids), HIDDEN)
        mixed = linear(mixed, f"{place}.attention.output.dense")
        x = norm(x + mixed, f"{place}.attention.output.LayerNorm")
        inner = linear(x, f"{place}.intermediate.dense")
        inner = inner * 0.5 * (1 + ERF(inner / math.sqrt(2)))
        x = norm(x + linear(inner, f"{place}.output.dense"), f"{place}.output.LayerNorm")
    return x


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT with random weights and prompts, as sentence-transformers saves it."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    shutil.copytree(PARTS, folder)
    tokenizer = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)  # type: ignore[assignment]
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # type: ignore[assignment]
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))  # type: ignore[assignment]
    tokenizer.enable_padding(length=128)
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file(random_weights(), folder / "model.safetensors")
    return folder


def want(tiny: Path, text: str, pooling: str = "mean") -> np.ndarray:
    """The vector that the model's description asks for, in NumPy."""
    tokenizer = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    tokenizer.no_padding()
    states = states_of(random_weights(), tokenizer.encode(text).ids)
    return unit(states.mean(axis=0) if pooling == "mean" else states[0])


def exported(model: str | Path, cache: Path) -> Path:
    return child.export(str(model), cache)


def onnx_without_pooling(tiny: Path, path: Path) -> None:
    """Write the file that repositories on the hub offer: it ends before pooling."""
    model, states = graph._bert(tiny)
    shape = ["batch", "tokens"]
    model.graph.input.append(
        helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, shape)
    )
    kinds = helper.make_node("Cast", ["token_type_ids"], ["kinds"], to=TensorProto.FLOAT)
    wide = helper.make_node("Unsqueeze", ["kinds", "last"], ["wide"])
    add = helper.make_node("Add", [states, "wide"], ["last_hidden_state"])
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2]), "last"))
    model.graph.node.extend([kinds, wide, add])
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, HIDDEN])
    model.graph.output.append(output)
    path.parent.mkdir(exist_ok=True)
    onnx.save(model, path)


def test_graph_bert_weights_become_the_model_that_they_describe(tiny: Path, tmp_path: Path) -> None:
    folder = exported(tiny, tmp_path)
    meta = model_files.read_meta(folder)
    assert meta and (meta.query_prompt, meta.doc_prompt) == ("q: ", "d: ")
    assert (meta.dim, meta.max_tokens) == (HIDDEN, 200)
    embedder = LocalEmbedder(folder)
    for text, vector in zip(TURNS, embedder.encode(TURNS).vectors, strict=True):
        assert np.abs(vector - want(tiny, f"d: {text}")).max() < 1e-5, text
    queries = [embedder.encode_query(text).vector @ want(tiny, f"q: {text}") for text in TURNS]
    assert np.mean(queries) > 0.97  # in int8, which is coarser on processors without VNNI
    tokens = embedder.encode(["ab c"]).tokens[0]
    assert tokens.shape == (3, embedder.token_dim) == (3, HIDDEN), "a, ##b, c: no prompt"


def test_graph_the_first_token_where_the_model_says_so(tiny: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny, tmp_path / "first")
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    vector = LocalEmbedder(exported(folder, tmp_path)).encode(["a b c"]).vectors[0]
    assert np.abs(vector - want(tiny, "d: a b c", "cls")).max() < 1e-5


@pytest.mark.parametrize("offered", ["onnx", "weights"])
def test_graph_the_hub_gives_an_onnx_file_or_weights(tiny, tmp_path, monkeypatch, offered):
    hub = shutil.copytree(tiny, tmp_path / "hub")
    if offered == "onnx":
        onnx_without_pooling(hub, hub / "onnx" / "model.onnx")
    (hub / "model.h5").write_bytes(b"of another library")
    home = tmp_path / "home"
    repo = home / "hub" / "models--someone--tiny"
    calls: list[list[str]] = []

    def download(name: str, *, allow_patterns: list[str]) -> str:
        assert name == "someone/tiny"
        calls.append(allow_patterns)
        for path in hub.rglob("*"):
            place = path.relative_to(hub)
            if path.is_file() and any(fnmatch(str(place), one) for one in allow_patterns):
                copy = repo / "snapshots" / "1" / place
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
        (repo / "refs").mkdir(exist_ok=True)
        (repo / "refs" / "main").write_text("1")
        return str(repo / "snapshots" / "1")

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    folder = exported("someone/tiny", tmp_path / "cache")
    fetched = repo / "snapshots" / "1"
    assert not (fetched / "model.h5").exists()
    assert (fetched / "model.safetensors").exists() == (offered == "weights")
    assert len(calls) == (1 if offered == "onnx" else 2)
    vector = LocalEmbedder(folder).encode(["a b c"]).vectors[0]
    assert np.abs(vector - want(tiny, "d: a b c")).max() < 1e-5
    assert exported("someone/tiny", tmp_path / "cache") == folder
    assert len(calls) <= 2, "it is on this machine now"


def test_graph_other_tools_leave_a_part_of_a_model_in_the_hubs_cache(tiny, tmp_path, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    repo = tmp_path / "hub" / "models--someone--tiny"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text("1")
    shutil.copytree(tiny, repo / "snapshots" / "1", ignore=shutil.ignore_patterns("*.safetensors"))
    assert model_files.resolve("someone/tiny").where is None


@cases("providers/other_models.jsonl", "")
def test_graph_a_model_of_another_kind_names_the_extra(
    tiny, tmp_path, monkeypatch, file, text, reason
):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.delitem(sys.modules, "slowcat_memory.providers.embedding.export.traced", False)
    folder = shutil.copytree(tiny, tmp_path / "other")
    (folder / file).write_text(text if isinstance(text, str) else json.dumps(CONFIG | text))
    with pytest.raises(ProviderError, match=reason) as caught:
        exported(folder, tmp_path / "cache")
    assert "[models]" in caught.value.hint
    assert [*(tmp_path / "cache").iterdir()] == []


def test_graph_parity_with_sentence_transformers(options, export_folder):
    library = pytest.importorskip(
        "sentence_transformers", reason="the extra [models] is not installed: make test-models"
    )
    model = library.SentenceTransformer(str(model_files.resolve(options.model).where), device="cpu")
    original = model.encode(list(TURNS), normalize_embeddings=True)
    embedder = LocalEmbedder(export_folder)
    assert np.abs(embedder.encode(TURNS).vectors - original).max() < 1e-5
    queries = np.stack([embedder.encode_query(text).vector for text in TURNS])
    assert (queries * original).sum(axis=1).mean() >= 0.99
