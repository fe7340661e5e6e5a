"""The export child: ``python -m slowcat_memory.providers.embedding.export.child MODEL CACHE THREADS``.

Makes the files of ``model_files`` from a model's own. Its last line on standard error has the
error, if there is one.
"""

import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import onnx
from tokenizers import Tokenizer

from slowcat_memory.errors import ProviderError, how_to_install
from slowcat_memory.providers.embedding import model_files
from slowcat_memory.providers.embedding.chunking import unit
from slowcat_memory.providers.embedding.export import graph
from slowcat_memory.providers.embedding.factory import FAULT
from slowcat_memory.providers.embedding.local import OnnxModel, TokenSpace, open_tokenizer
from slowcat_memory.providers.embedding.model_files import ExportMeta, read_json

GOOD_ENOUGH = 0.98  # mean cosine of int8 to fp32; all-MiniLM-L6-v2 reaches 0.994
COMPARED = 20  # sentences
TOKEN_DIM = 96  # 64 costs up to a point of recall, 128 gains little
_FITTED_ON = 200  # sentences of each kind
_WORDS = 12  # in a random sentence
_SEED = 7
_MARKERS = "▁Ġ"  # how tokenizers mark the space before a word

_WHO = (
    "I|you|she|they|my sister|the neighbour|our old dog|the doctor|Tom|grandma|the teacher|"
    "a friend from work"
).split("|")
_DID = (
    "bought|lost|wants to sell|talked about|forgot|is afraid of|loves|painted|fixed|found|plans|"
    "never liked|asked me about|has finally finished|is learning about"
).split("|")
_WHAT = (
    "a red bicycle|the garden|her new job|the train to the coast|penicillin|a bottle of wine|"
    "the piano|a birthday party|the kitchen window|a book about whales|chess|the mortgage|"
    "two tickets for the concert|a soup with lentils|the exam|a marathon|the cellar|a laptop|"
    "football|the wedding"
).split("|")
_HOW = (
    "on Saturday|last year|in the middle of the night|because it was cheap|at half past six|"
    "when we moved to Lisbon|and now everybody laughs about it|for the third time|"
    "before the winter|with the children|, can you believe it?|, what was it called again?|"
    "in 2019|for forty euros|after the operation"
).split("|")

NICENESS = 10  # a child gets about a tenth of a contended core
_TEMPORARY = ".export-"
_temporary = partial(TemporaryDirectory, prefix=_TEMPORARY, ignore_cleanup_errors=True)
_ABANDONED_S = 3600  # an export takes well under a minute
_DOC_PROMPTS = ("document", "passage", "corpus")  # prompt names of models, in order of preference
_HUB_FILES = ["*.json", "*.txt", "*.model", "*_Dense/*"]
_HUB_MODELS = (["onnx/model.onnx"], ["*.safetensors"], ["pytorch_model*.bin"])


def export(model_name: str, cache: Path, threads: int = 1) -> Path:
    """Export a model into the cache, in this process, downloading it when it is not here.

    Returns the folder. The cache is created if missing, readable by its
    owner only.

    Raises:
        ModelNotFoundError: There is no such model.
        ProviderError: It cannot be exported.
    """
    name = model_files.short_name(model_name)
    source = fetch(model_name)
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    _sweep(cache)
    target = cache / f"{name.replace('/', '--')}-{model_files.weights_hash(source)}"
    with _temporary(dir=cache) as work:
        _fill(Path(work), name, source, target, threads)
        return _publish(Path(work), target)


def main() -> None:
    """Run as a program."""
    os.nice(NICENESS)
    model_name, cache, threads = sys.argv[1:4]
    try:
        export(model_name, Path(cache), int(threads))
    except Exception as error:  # any library error must reach the parent as a message
        fault, hint = f"the export failed: {type(error).__name__}: {error}"[:300], ""
        if isinstance(error, ProviderError):
            fault, hint = error.message, error.hint
        sys.exit(f"{' '.join(fault.split())}{FAULT}{' '.join(hint.split())}")


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
            folder = Path(snapshot_download(source.hub, allow_patterns=[*_HUB_FILES, *files]))
        except Exception as error:  # the hub client's own errors, the http client's, and OSError
            raise model_files.not_downloadable(model, type(error).__name__) from error
        given = any(file for pattern in files for file in folder.glob(pattern))
        if given and not any(folder.glob("*_Dense")):  # an ONNX file lacks such layers
            break
    return folder


def _fill(work: Path, name: str, source: Path, target: Path, threads: int) -> None:
    """Write all files of an export; ``target`` may have an earlier one."""
    exact, small = work / model_files.EXACT, work / model_files.MODEL
    tokenizer, max_tokens = _graph(source, exact, threads)
    query_prompt, doc_prompt = _prompts(source)
    model = OnnxModel(exact, threads)
    rows, vectors = _sample(model, tokenizer, doc_prompt)
    dim = vectors.shape[1]
    key = f"{name}@{target.name.rpartition('-')[2]}/{dim}"
    space: TokenSpace | None = None
    if graph.STATES in model.outputs:
        space = TokenSpace.read(target, key) or _fit_space(model, tokenizer, key)
    cosine = _quantise(exact, small, rows, vectors)
    if cosine < GOOD_ENOUGH:
        shutil.copyfile(exact, small)
        cosine = 1.0
    if space:
        graph.project(exact, space.projection)
        graph.project(small, space.projection)
        np.savez(work / model_files.TOKENS, projection=space.projection, counts=space.counts)
    graph.share(exact, source)
    tokenizer.save(str(work / model_files.TOKENIZER))
    meta = ExportMeta(
        key=key,
        name=name,
        dim=dim,
        max_tokens=max_tokens,
        query_prompt=query_prompt,
        doc_prompt=doc_prompt,
        cosine=round(cosine, 4),
        model_bytes=small.stat().st_size,
        exact_bytes=exact.stat().st_size,
        stamp=model_files.weights_stamp(source),
        token_key=space.key if space else "",
    )
    (work / model_files.META).write_bytes(msgspec.json.format(msgspec.json.encode(meta)))


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


def _sample(
    model: OnnxModel, tokenizer: Tokenizer, prompt: str
) -> tuple[list[list[int]], np.ndarray]:
    """Return the token ids of a few sentences, and their unit vectors, (len(rows), dim)."""
    rows = [tokenizer.encode(prompt + text).ids for text in islice(_own_sentences(), COMPARED)]
    return rows, np.stack([model.run(ids)[0] for ids in rows])


def _quantise(exact: Path, out: Path, rows: list[list[int]], vectors: np.ndarray) -> float:
    """Write the graph with int8 weights; return the mean cosine of its vectors, 0 if it fails.

    Args:
        vectors: Those of the rows in fp32.
    """
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
        ours = np.stack([model.run(ids)[0] for ids in rows])
        return float((ours * vectors).sum(axis=1).mean())
    except Exception:  # of onnx and onnxruntime, each its own
        return 0.0


def _tokenizer(source: Path) -> Tokenizer:
    """Open a model's tokenizer, without padding or truncation.

    Raises:
        ValueError: Texts are to be changed before it reads them.
    """
    if read_json(source / "sentence_bert_config.json", {}).get("do_lower_case"):
        raise ValueError("it lowers case apart from its tokenizer")
    return open_tokenizer(source / model_files.TOKENIZER)


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
    documents = (prompts[name] for name in _DOC_PROMPTS if prompts.get(name))
    return prompts.get("query") or default, next(documents, default)


def _fit_space(model: OnnxModel, tokenizer: Tokenizer, model_key: str) -> TokenSpace:
    """Fit the space of a model; deterministic.

    The directions kept are the principal ones (not centred, so that cosines are kept) over two
    kinds of sentences: random words of the model's own vocabulary, whatever its languages, and
    sentences from the word lists above. Half of each kept cosines better than either (see
    docs/decisions/0012).
    """
    counts = _countable(tokenizer)
    texts = [*_random_sentences(tokenizer), *_own_sentences()]
    rows = [tokenizer.encode(text).ids for text in texts]
    outputs = [(ids, model.run(ids, with_tokens=True)[1]) for ids in rows]
    states = [last[counts[ids]] for ids, last in outputs if last is not None]
    seen = unit(np.concatenate(states)).astype(np.float64)
    _, directions = np.linalg.eigh(seen.T @ seen)
    best = directions[:, ::-1][:, :TOKEN_DIM]
    signs = np.sign(best[np.abs(best).argmax(axis=0), np.arange(best.shape[1])])
    return TokenSpace.of(model_key, np.ascontiguousarray(best * signs, np.float32), counts)


def _countable(tokenizer: Tokenizer) -> np.ndarray:
    """Return a mask of the tokens with a letter or a digit, special tokens excluded."""
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    counts = np.zeros(max(vocabulary.values()) + 1, bool)
    for token, number in vocabulary.items():
        counts[number] = any(character.isalnum() for character in token)
    special = (n for n, token in tokenizer.get_added_tokens_decoder().items() if token.special)
    counts[[*special, *tokenizer.encode("").ids]] = False
    return counts


def _random_sentences(tokenizer: Tokenizer) -> Iterator[str]:
    chance = random.Random(_SEED)
    vocabulary = sorted(token.lstrip(_MARKERS) for token in tokenizer.get_vocab())
    words = [word for word in vocabulary if word.isalpha()]
    for _ in range(_FITTED_ON):
        yield " ".join(chance.choices(words, k=_WORDS))


def _own_sentences() -> Iterator[str]:
    chance = random.Random(_SEED)
    for _ in range(_FITTED_ON):
        yield " ".join(chance.choice(part) for part in (_WHO, _DID, _WHAT, _HOW))


def _publish(work: Path, target: Path) -> Path:
    """Move the finished export to its place; an existing one is equal or damaged."""
    for path in work.iterdir():
        if path.name not in model_files.FILES:
            path.unlink()
    if target.exists():
        with _temporary(dir=target.parent) as aside:
            target.rename(Path(aside, target.name))
    try:
        work.rename(target)
    except OSError:  # another process was faster
        if model_files.read_meta(target) is None:
            raise
    return target


def _sweep(cache: Path) -> None:
    """Delete the unfinished folders of killed exports."""
    for path in cache.glob(f"{_TEMPORARY}*"):
        if time.time() - path.stat().st_mtime > _ABANDONED_S:
            shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    main()
