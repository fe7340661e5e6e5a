"""The export child: ``python -m slowcat_memory.providers.embedding.export.child MODEL CACHE THREADS``.

Makes the files of ``export_format`` from a model's own. On standard output it writes one JSON
object per line, a ``factory.Event``; the last one has the folder or the error.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import onnx
from tokenizers import Tokenizer

from slowcat_memory.errors import ProviderError, how_to_install
from slowcat_memory.providers.embedding import export_format, model_files, token_vectors
from slowcat_memory.providers.embedding.export import graph
from slowcat_memory.providers.embedding.export_format import Meta, read_json
from slowcat_memory.providers.embedding.factory import Event, Fault, become_child
from slowcat_memory.providers.embedding.local import OnnxModel, open_tokenizer
from slowcat_memory.providers.embedding.token_vectors import TokenSpace

GOOD_ENOUGH = 0.98  # mean cosine of int8 to fp32; all-MiniLM-L6-v2 reaches 0.991
SENTENCES = (
    "Yes.",
    "What was the name of my sister's dog again?",
    "we drove up to the lake on saturday and the boat would not start",
    "My flight to Lisbon leaves at ten past six in the morning, so wake me up at four.",
    "Ich habe am Dienstag einen Termin beim Zahnarzt.",
    "The new job pays less, but I can walk there, and nobody phones me after five.",
    "Is there anything in the fridge that I could cook for six people?",
    "She plays the violin in the city's youth orchestra, and last year she taught her little "
    "brother, who would rather play football, enough of it that the two of them could surprise "
    "their grandmother on her eightieth birthday. Everybody cried, even the neighbours.",
)

_TEMPORARY = ".export-"
_ABANDONED_S = 3600  # an export takes well under a minute
_QUERY_PROMPTS = ("query",)
_DOC_PROMPTS = ("document", "passage", "corpus")  # prompt names of models, in order of preference
_HUB_FILES = ["*.json", "*.txt", "*.model", "*_Dense/*"]
_HUB_MODELS = (["onnx/model.onnx"], ["*.safetensors"], ["pytorch_model*.bin"])


def export(model_name: str, cache: Path, say: Callable[[str], None], threads: int = 1) -> Path:
    """Export a model into the cache, in this process, downloading it when it is not here.

    Returns the folder, complete and on disk. The cache is created if missing, readable by its
    owner only.

    Raises:
        ModelNotFoundError: There is no such model.
        ProviderError: It cannot be exported.
    """
    name = export_format.short_name(model_name)
    say(f"loading {name}")
    source = fetch(model_name)
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    _sweep(cache)
    target = export_format.export_folder(cache, name, export_format.weights_hash(source))
    work = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=cache))
    try:
        _fill(work, name, source, target, say, threads)
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


def fetch(model: str) -> Path:
    """Return a model's folder, downloading the model when it is not on this machine.

    An ONNX file of the repository comes before its weights.

    Raises:
        ModelNotFoundError: It is not here and cannot be downloaded.
    """
    source = model_files.resolve(model)
    if source.where:
        return source.where
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    for files in _HUB_MODELS:
        try:
            folder = Path(snapshot_download(source.via, allow_patterns=[*_HUB_FILES, *files]))
        except Exception as error:  # the hub client's own errors, the http client's, and OSError
            raise model_files.not_downloadable(model, type(error).__name__) from error
        if any(found for pattern in files for found in folder.glob(pattern)):
            break
    return folder


def _fill(
    work: Path,
    name: str,
    source: Path,
    target: Path,
    say: Callable[[str], None],
    threads: int,
) -> None:
    """Write all files of an export; ``target`` may have an earlier one."""
    exact, small = work / export_format.EXACT, work / export_format.MODEL
    say("making the graph")
    tokenizer, max_tokens = _graph(source, exact, threads)
    query_prompt, doc_prompt = _prompts(source)
    model = OnnxModel(exact, threads, tokens=graph.STATES)
    sample = _sample(model, tokenizer, doc_prompt)
    dim = sample.vectors.shape[1]
    key = export_format.space_key(name, export_format.weights_hash(source), dim)
    space: TokenSpace | None = None
    if graph.STATES in model.outputs:
        say("fitting the token projection")
        space = token_vectors.space_in(target, key) or token_vectors.fit_space(
            lambda ids: model.run(ids, True)[1],  # type: ignore[arg-type,return-value]
            tokenizer,
            key,
        )
    say("quantising to int8")
    cosine = _quantise(exact, small, sample)
    int8 = cosine >= GOOD_ENOUGH
    if not int8:
        shutil.copyfile(exact, small)
    if space:
        graph.project(exact, space.projection)
        graph.project(small, space.projection)
        space.save(work)
    graph.share(exact, source)
    tokenizer.save(str(work / export_format.TOKENIZER))
    meta = Meta(
        key=key,
        name=name,
        dim=dim,
        max_tokens=max_tokens,
        query_prompt=query_prompt,
        doc_prompt=doc_prompt,
        int8=int8,
        cosine=round(cosine, 4) if int8 else 1.0,
        model_bytes=small.stat().st_size,
        exact_bytes=exact.stat().st_size,
        stamp=export_format.weights_stamp(source),
        token_key=space.key if space else "",
        token_dim=space.dim if space else 0,
    )
    (work / export_format.META).write_bytes(msgspec.json.format(msgspec.json.encode(meta)))


def _graph(source: Path, out: Path, threads: int) -> tuple[Tokenizer, int]:
    """Write the graph in fp32; return the tokenizer, and the maximum of tokens.

    Raises:
        ProviderError: It takes the extra ``[models]``, or is not possible.
    """
    try:
        graph.build(source, out)
        tokenizer = _tokenizer(source)
        _sample(OnnxModel(out), tokenizer, "")
        return tokenizer, _max_tokens(source)
    except Exception as reason:  # of onnx, onnxruntime, tokenizers and safetensors, each its own
        known = isinstance(reason, ValueError)
        why = str(reason) if known else f"its files do not load ({type(reason).__name__})"
        try:
            from slowcat_memory.providers.embedding.export import traced
        except ImportError:
            raise ProviderError(
                f"the model in {source} can be exported by sentence-transformers only: {why}",
                hint=how_to_install("models"),
            ) from reason
    return traced.trace(source, out, threads)


class _Sample(NamedTuple):
    """A few sentences: their token ids, and the vectors of the model in fp32."""

    rows: list[list[int]]
    vectors: np.ndarray  # shape (len(rows), dim), unit length


def _sample(model: OnnxModel, tokenizer: Tokenizer, prompt: str) -> _Sample:
    rows = [tokenizer.encode(prompt + text).ids for text in SENTENCES]
    return _Sample(rows, np.stack([model.run(ids)[0] for ids in rows]))


def _quantise(exact: Path, out: Path, sample: _Sample) -> float:
    """Write the graph with int8 weights; return the mean cosine of its vectors, 0 if it fails."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    try:
        quantize_dynamic(
            str(exact),
            str(out),
            per_channel=True,  # one scale for a whole matrix costs 3 points of cosine
            weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
        model = OnnxModel(out)
        ours = np.stack([model.run(ids)[0] for ids in sample.rows])
        return float((ours * sample.vectors).sum(axis=1).mean())
    except Exception:  # of onnx and onnxruntime, each its own
        return 0.0


def _tokenizer(source: Path) -> Tokenizer:
    """Open a model's tokenizer, without padding or truncation.

    Raises:
        ValueError: Texts are to be changed before it reads them.
    """
    if read_json(source / "sentence_bert_config.json", {}).get("do_lower_case"):
        raise ValueError("it lowers case apart from its tokenizer")
    return open_tokenizer(source / export_format.TOKENIZER)


def _max_tokens(source: Path) -> int:
    """Return the maximum of tokens, special ones included, as sentence-transformers finds it."""
    own = read_json(source / "sentence_bert_config.json", {}).get("max_seq_length")
    limits = (
        read_json(source / "tokenizer_config.json", {}).get("model_max_length"),
        read_json(source / "config.json", {}).get("max_position_embeddings"),
    )
    return int(own or min((limit for limit in limits if limit), default=512))


def _prompts(source: Path) -> tuple[str, str]:
    """Return the prompt of queries, and that of documents."""
    config = read_json(source / "config_sentence_transformers.json", {})
    prompts: dict[str, str] = config.get("prompts") or {}
    default = prompts.get(config.get("default_prompt_name") or "", "")

    def first(names: tuple[str, ...]) -> str:
        return next((prompts[name] for name in names if prompts.get(name)), default)

    return first(_QUERY_PROMPTS), first(_DOC_PROMPTS)


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
