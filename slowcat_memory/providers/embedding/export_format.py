"""The format of an exported model: file names, what vouches for them, and where they are kept.

::

    <cache>/all-MiniLM-L6-v2-1a2b3c4d5e6f/     name of the model, 12 hex digits of its weights
        model.onnx        input_ids, attention_mask (int64, [batch, tokens]) -> vectors [batch, dim]
                          and tokens [batch, tokens, token_dim], of unit length
        tokenizer.json    as the ``tokenizers`` library reads it
        tokens.npz        how tokens become vectors; see ``tokens``
        meta.json         ``Meta``; written last, so a folder with it is complete
"""

import hashlib
import os
from pathlib import Path

import msgspec
import platformdirs
from msgspec import Struct

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
TOKENS = "tokens.npz"
META = "meta.json"
FORMAT = 3  # raise it when older exports must not be used any more

INPUTS = ("input_ids", "attention_mask")
OUTPUT = "vectors"
TOKEN_OUTPUT = "tokens"

HASH_DIGITS = 12  # 48 bits: enough to tell the versions of one model apart
_READ = 1 << 20  # bytes hashed at a time
_NOT_WEIGHTS = {"onnx", "openvino"}  # other forms of the same weights that repositories carry


class Meta(Struct, frozen=True, kw_only=True):
    """Vouches for an export.

    Attributes:
        key: Key of the vector space.
        name: The model's short name.
        dim: Length of a vector.
        max_tokens: The most tokens the model reads, special ones included.
        query_prompt: What the model wants before a query, mostly "".
        doc_prompt: What the model wants before a document, mostly "".
        int8: Whether the weights are quantised.
        cosine: Mean cosine of this export's vectors with the original's, on a few sentences.
        model_bytes: Size of the ONNX file; another size is a damaged export.
        stamp: ``weights_stamp`` of the folder it was made from.
        token_key: Key of the space of token vectors, "" when the model tells none.
        token_dim: Length of a token's vector, 0 when it tells none.
        format: ``FORMAT`` when it was written.
    """

    key: str
    name: str
    dim: int
    max_tokens: int
    query_prompt: str
    doc_prompt: str
    int8: bool
    cosine: float
    model_bytes: int
    stamp: str
    token_key: str = ""
    token_dim: int = 0
    format: int = FORMAT


def cache_folder(configured: str = "") -> Path:
    """Tell where exported models are kept.

    Args:
        configured: The configured folder, "" for the user's cache folder.

    Returns:
        The folder, which need not exist yet. SLOWCAT_CACHE_DIR wins over ``configured``.
    """
    chosen = os.environ.get("SLOWCAT_CACHE_DIR") or configured
    if chosen:
        return Path(chosen).expanduser()
    return Path(platformdirs.user_cache_dir("slowcat-memory")) / "models"


def short_name(model: str) -> str:
    """Name a model in keys and folders.

    Args:
        model: A name on the hub or a path.

    Returns:
        The folder's name for a path; for a hub name its last part, with the organisation in
        front unless that is sentence-transformers' own.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return path.resolve().name
    return model.removeprefix("sentence-transformers/")


def weights_files(folder: Path) -> list[Path]:
    """List the files that hold a model's weights.

    Returns:
        In a fixed order; in each folder the safetensors, else the pickled ones.
    """
    found: list[Path] = []
    for place in sorted({folder, *(p for p in folder.iterdir() if p.is_dir())}):
        if place.name not in _NOT_WEIGHTS:
            found += sorted(place.glob("*.safetensors")) or sorted(place.glob("pytorch_model*.bin"))
    return found


def weights_hash(folder: Path) -> str:
    """Hash a model's weights, about 0.06 s per 100 MB with SHA instructions.

    Returns:
        ``HASH_DIGITS`` hex digits.
    """
    digest = hashlib.sha256()
    for path in weights_files(folder):
        with path.open("rb") as file:
            while block := file.read(_READ):
                digest.update(block)
    return digest.hexdigest()[:HASH_DIGITS]


def weights_stamp(folder: Path) -> str:
    """Describe a model's weights without reading them.

    Returns:
        Sizes and times; equal stamps of one folder mean equal weights for our purpose.
    """
    stats = [path.stat() for path in weights_files(folder)]
    return ",".join(f"{s.st_size}:{s.st_mtime_ns}" for s in stats)


def space_key(name: str, digest: str, dim: int) -> str:
    """Identify a vector space.

    Args:
        digest: ``weights_hash`` of its weights.

    Returns:
        For example "all-MiniLM-L6-v2@1a2b3c4d5e6f/384".
    """
    return f"{name}@{digest}/{dim}"


def export_folder(cache: Path, name: str, digest: str) -> Path:
    """Tell where an export belongs.

    Args:
        digest: ``weights_hash`` of its weights.
    """
    return cache / f"{name.replace('/', '--')}-{digest}"


def read_meta(folder: Path) -> Meta | None:
    """Read what vouches for an export.

    Args:
        folder: Where an export may be.

    Returns:
        None when there is none, or it is damaged, or of another format.
    """
    try:
        meta = msgspec.json.decode((folder / META).read_bytes(), type=Meta)
        whole = (folder / MODEL).stat().st_size == meta.model_bytes
    except (OSError, msgspec.MsgspecError):
        return None
    return meta if whole and meta.format == FORMAT else None


def exports_of(cache: Path, name: str) -> list[tuple[Path, Meta]]:
    """Find every usable export of a model.

    Returns:
        Folder and ``Meta``, the newest first.
    """
    pattern = f"{name.replace('/', '--')}-{'[0-9a-f]' * HASH_DIGITS}"
    folders = sorted(cache.glob(pattern), key=lambda f: f.stat().st_mtime, reverse=True)
    found = [(folder, meta) for folder in folders if (meta := read_meta(folder))]
    return [(folder, meta) for folder, meta in found if meta.name == name]
