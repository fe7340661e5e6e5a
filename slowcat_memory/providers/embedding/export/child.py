"""The export child: ``python -m slowcat_memory.providers.embedding.export.child MODEL CACHE``.

Makes the query embedder's files from a sentence-transformers model. On standard output it writes
one JSON object per line, a ``process.Event``; the last one has the folder or the error.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from tokenizers import Tokenizer

from slowcat_memory.providers.embedding import export_format, token_vectors
from slowcat_memory.providers.embedding.export_format import Meta
from slowcat_memory.providers.embedding.token_vectors import TokenSpace
from slowcat_memory.providers.embedding.worker.process import Event, Fault, become_child

_TEMPORARY = ".export-"
_ABANDONED_S = 3600  # an export takes well under a minute


def export(model_name: str, cache: Path, say: Callable[[str], None], threads: int = 1) -> Path:
    """Export a model into the cache, in this process; imports torch.

    Returns the folder, complete and on disk. The cache is created if missing, readable by its
    owner only.

    Raises:
        ModelNotFoundError: There is no such model.
        ProviderError: It cannot be exported.
    """
    from slowcat_memory.providers.embedding.worker import model as sentence_model

    name = export_format.short_name(model_name)
    say(f"loading {name}")
    source = sentence_model.fetch(model_name)
    model = sentence_model.load(source, threads)
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    _sweep(cache)
    target = export_format.export_folder(cache, name, export_format.weights_hash(source))
    work = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=cache))
    try:
        sample = _sample(model)
        found = _sound(target, sample)
        if found and found.packing != export_format.NOT_PACKABLE:
            _pack_again(work, target, found, model, sample, say)
            return target
        _fill(work, model, name, source, sample, say)
        return _publish(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main() -> int:
    """Run as a program; return 0 on success, 1 after an error event."""
    out = become_child()

    def send(event: Event) -> None:
        out.write(msgspec.json.encode(event) + b"\n")

    model_name, cache, threads = sys.argv[1:4]
    try:
        folder = export(model_name, Path(cache), lambda line: send(Event(say=line)), int(threads))
    except BrokenPipeError:
        return 1  # the parent has exited
    except Exception as error:  # any library error must reach the parent as a message
        send(Event(fault=Fault.of(error, "the export")))
        return 1
    send(Event(folder=str(folder)))
    return 0


class _Sample(NamedTuple):
    """A few sentences: their token ids, and the original's vectors of them."""

    rows: list[list[int]]
    vectors: np.ndarray  # shape (len(rows), dim), unit length


def _sample(model: Any) -> _Sample:
    from slowcat_memory.providers.embedding.export import convert
    from slowcat_memory.providers.embedding.worker import model as sentence_model

    tokenizer = sentence_model.tokenizer_of(model)
    _, prompt = sentence_model.prompts_of(model)
    rows = [tokenizer.encode(prompt + text).ids for text in convert.SENTENCES]
    vectors = model.encode(list(convert.SENTENCES), prompt=prompt, normalize_embeddings=True)
    return _Sample(rows, vectors)


def _sound(folder: Path, sample: _Sample) -> Meta | None:
    """Return the metadata of an export that is there and computes what it did when it was made."""
    from slowcat_memory.providers.embedding.export import convert

    meta = export_format.read_meta(folder)
    if meta is None:
        return None
    try:
        token_vectors.load(folder, meta)
        Tokenizer.from_file(str(folder / export_format.TOKENIZER))
        cosine = convert.mean_cosine(folder / export_format.MODEL, *sample)
    except Exception:  # of onnxruntime, tokenizers and NumPy, each with its own
        return None
    return meta if cosine > meta.cosine - 0.01 else None


def _pack_again(
    work: Path, target: Path, meta: Meta, model: Any, sample: _Sample, say: Callable[[str], None]
) -> None:
    """Add the packed model to an export that has none, or an older one; the rest stays as it is."""
    space = token_vectors.load(target, meta)
    meta = _pack(work, meta, model, sample, space, say)
    for name in (export_format.PACKED, export_format.META):
        if (work / name).exists():
            _sync(work / name)
            (work / name).replace(target / name)
    _sync(target)


def _pack(
    work: Path,
    meta: Meta,
    model: Any,
    sample: _Sample,
    space: TokenSpace | None,
    say: Callable[[str], None],
) -> Meta:
    """Write the packed model, where there can be one, and the metadata."""
    from slowcat_memory.providers.embedding.export import packing

    if packing.encoder.available():
        say("packing")
        onto = space.projection if space else None
        cosine = packing.pack(model, *sample, onto, work / export_format.PACKED)
        packed = export_format.PACKING if cosine else export_format.NOT_PACKABLE
        meta = msgspec.structs.replace(meta, packing=packed, packed_cosine=round(cosine, 4))
    (work / export_format.META).write_bytes(msgspec.json.format(msgspec.json.encode(meta)))
    return meta


def _fill(
    work: Path,
    model: Any,
    name: str,
    source: Path,
    sample: _Sample,
    say: Callable[[str], None],
) -> Meta:
    from slowcat_memory.providers.embedding.export import convert
    from slowcat_memory.providers.embedding.worker import model as sentence_model

    tokenizer = sentence_model.tokenizer_of(model)
    query_prompt, doc_prompt = sentence_model.prompts_of(model)
    dim = sample.vectors.shape[1]
    key = export_format.space_key(name, export_format.weights_hash(source), dim)
    say("fitting the token projection")
    space = token_vectors.fit_space(model, tokenizer, key)
    onto = space.projection if space else None
    int8, cosine = convert.convert(model, *sample, onto, work, say)
    tokenizer.save(str(work / export_format.TOKENIZER))
    if space:
        space.save(work)
    meta = Meta(
        key=key,
        name=name,
        dim=dim,
        max_tokens=int(model.max_seq_length or 512),
        query_prompt=query_prompt,
        doc_prompt=doc_prompt,
        int8=int8,
        cosine=round(cosine, 4),
        model_bytes=(work / export_format.MODEL).stat().st_size,
        stamp=export_format.weights_stamp(source),
        token_key=space.key if space else "",
        token_dim=space.dim if space else 0,
    )
    return _pack(work, meta, model, sample, space, say)


def _publish(work: Path, target: Path) -> Path:
    """Move the finished export to its place; an existing one is equal or damaged."""
    keep = set(export_format.FILES)
    for path in work.iterdir():
        if path.name in keep:
            _sync(path)
        else:
            path.unlink()
    _sync(work)
    if target.exists():
        aside = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=target.parent))
        target.rename(aside / target.name)
        shutil.rmtree(aside, ignore_errors=True)
    try:
        work.rename(target)
    except OSError:  # another process was faster
        if export_format.read_meta(target) is None:
            raise
    _sync(target.parent)
    return target


def _sweep(cache: Path) -> None:
    """Delete the unfinished folders of killed exports."""
    for path in cache.glob(f"{_TEMPORARY}*"):
        if time.time() - path.stat().st_mtime > _ABANDONED_S:
            shutil.rmtree(path, ignore_errors=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())
