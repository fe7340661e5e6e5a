"""A sealed index on disk: built by a child process, published whole or not at all.

Protocol: the child writes below ``tmp-…`` and syncs every file; the parent renames the folder to
its generation and syncs the folder above. Only then may a manifest row name it. A crash leaves a
``tmp-…`` folder or a generation without a manifest, both swept later. Files that do not match the
manifest are never loaded: FAISS and bm25s read a damaged file without complaint and answer wrongly.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.core.text import Tokenizer
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.searcher import Document, Searcher
from slowcat_memory.records import IndexFile, Manifest

ORDER, VECTORS, BUILT = "order.msgpack", "vectors.npy", "built"


class Order(Struct, frozen=True):
    """What the child is to build; its vectors lie beside it, a row for each id in ``held``."""

    documents: list[Document]
    held: list[str]
    dim: int
    options: IndexOptions


def seal(
    root: Path,
    documents: list[Document],
    vectors: dict[str, np.ndarray],
    dim: int,
    options: IndexOptions,
) -> tuple[str, tuple[IndexFile, ...]]:
    """Build a sealed index in a child process. Blocks: call it from a thread.

    Args:
        root: The namespace's index folder, made when missing.
        documents: In the order in which they were said.
        vectors: Unit vectors by memory id.
        dim: Their dimension, 0 for none.
        options: The index's options.

    Returns:
        The generation's name, and its files for the manifest.

    Raises:
        IndexDamagedError: The child failed.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = root / f"tmp-{uuid.uuid4().hex}"
    temporary.mkdir(mode=0o700)
    try:
        _write_order(temporary, Order(documents, list(vectors), dim, options), vectors)
        _run_child(temporary)
        built = temporary / BUILT
        files = msgspec.json.decode(
            (temporary / "files.json").read_bytes(), type=tuple[IndexFile, ...]
        )
        generation = uuid.uuid4().hex
        os.rename(built, root / generation)
        _sync(root)
        return generation, files
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check(root: Path, manifest: Manifest) -> Path:
    """Verify a published index.

    Args:
        root: The namespace's index folder.
        manifest: The row that vouches for it.

    Returns:
        The folder to load.

    Raises:
        IndexDamagedError: A file is missing, or is not the one that was built.
    """
    folder = root / manifest.generation
    for file in manifest.files:
        path = folder / file.name
        if not path.is_file() or path.stat().st_size != file.size or _hash(path) != file.sha256:
            raise IndexDamagedError(
                f"index file {file.name} is not the one that was built",
                hint="It is left alone and the index is rebuilt from the log",
            )
    return folder


def sweep(root: Path, keep: str = "") -> None:
    """Delete what no manifest names.

    Args:
        root: The namespace's index folder.
        keep: The generation that is in use, "" for none.
    """
    if root.is_dir():
        for entry in root.iterdir():
            if entry.name != keep:
                shutil.rmtree(entry, ignore_errors=True)


def _write_order(folder: Path, order: Order, vectors: dict[str, np.ndarray]) -> None:
    (folder / ORDER).write_bytes(msgspec.msgpack.encode(order))
    rows = np.stack(list(vectors.values())) if vectors else np.zeros((0, order.dim))
    np.save(folder / VECTORS, rows.astype(np.float16))


def _run_child(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "slowcat_memory.index.sealed", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise IndexDamagedError(
            f"building an index failed: {done.stderr.strip().splitlines()[-1:] or done.returncode}",
            hint="Recall goes on over the tail; the build is tried again later",
        )


def _build(folder: Path) -> None:
    """Do the child's part."""
    os.nice(10)  # never before the talk
    order = msgspec.msgpack.decode((folder / ORDER).read_bytes(), type=Order)
    rows = np.load(folder / VECTORS).astype(np.float32)
    built = folder / BUILT
    built.mkdir(mode=0o700)
    vectors = dict(zip(order.held, rows, strict=True))
    tokenizer = Tokenizer(order.options.language)
    Searcher.build(order.documents, vectors, order.dim, built, tokenizer, order.options)
    files = [_vouch(path, built) for path in sorted(built.rglob("*")) if path.is_file()]
    for below in (*(path for path in built.iterdir() if path.is_dir()), built):
        _sync(below)
    (folder / "files.json").write_bytes(msgspec.json.encode(files))


def _vouch(path: Path, root: Path) -> IndexFile:
    path.chmod(0o600)
    _sync(path)
    return IndexFile(path.relative_to(root).as_posix(), path.stat().st_size, _hash(path))


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


if __name__ == "__main__":
    _build(Path(sys.argv[1]))
