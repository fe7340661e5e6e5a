"""Opens the configured embedders; finds or makes the export of a local model, or asks an endpoint.

An export in the agent's process would make speech stutter. A child makes it, which runs niced and
tells at its end what is wrong, and the remedy (``FAULT``). It is no
``ProcessPoolExecutor``: spawn imports the user's ``__main__`` again (a bot without an ``if __name__``
guard would start twice), and fork is unsafe with Pipecat's threads.
"""

import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np

from slowcat_memory.child_process import child_environment, python_command
from slowcat_memory.errors import ConfigError, EndpointError, ModelNotFoundError, ProviderError
from slowcat_memory.providers.embedding import chunking, model_files
from slowcat_memory.providers.embedding.base import (
    Embedded,
    Embedder,
    EmbedderOptions,
    EmbedderReport,
    Encoded,
)
from slowcat_memory.providers.embedding.local import LocalEmbedder
from slowcat_memory.providers.embedding.model_files import ExportMeta, ModelSource
from slowcat_memory.providers.loopback import check_loopback, host_and_port, is_elsewhere

_EXPORT_CHILD = "slowcat_memory.providers.embedding.export.child"
FAULT = "\t"  # in the child's last line, stands between what is wrong and the hint
CONNECT_S = 1.0
QUERY_CHARS = 512  # of a longer query, both ends are embedded
_CHARS_PER_TOKEN = 3  # a safe estimate for most languages; the tokenizer is unknown
_NONE = EmbedderReport(state="none", source="no embedding model is configured; search is by words")


def open_query_embedder(options: EmbedderOptions) -> tuple[Embedder | None, EmbedderReport]:
    """Open the configured embedder; takes about 0.1 s after the first import.

    Never downloads, and never falls back from one kind to another. The embedder is None unless the report's state is "ready" or "endpoint".

    Raises:
        ConfigError: The endpoint's URL or model is missing or malformed.
        EndpointRefusedError: The endpoint is not on this machine.
    """
    if options.kind == "none":
        return None, _NONE
    return open_local(options) if options.kind == "local" else open_endpoint(options)


def find_export(
    options: EmbedderOptions, source: ModelSource | None
) -> tuple[Path, ExportMeta] | None:
    """Return the export of a model's current weights, if there is one.

    Without a ``source`` the model is no longer on this machine; any export of it is used.
    """
    cache = model_files.cache_folder(options.cache_dir)
    exports = model_files.exports_of(cache, model_files.short_name(options.model))
    if source is None or source.where is None or not exports:
        return exports[0] if exports else None
    stamp = model_files.weights_stamp(source.where)
    for folder, meta in exports:
        if meta.stamp == stamp:
            return folder, meta
    # The same weights in another place, or new weights:
    digest = model_files.weights_hash(source.where)
    return next(((f, m) for f, m in exports if f.name.endswith(f"-{digest}")), None)


def open_local(options: EmbedderOptions) -> tuple[LocalEmbedder | None, EmbedderReport]:
    """Open the export of the configured model, or say what is missing."""
    try:
        source = model_files.resolve(options.model)
        export = find_export(options, source)
    except ModelNotFoundError as error:
        source, export = None, find_export(options, None)
        if export is None:
            return None, EmbedderReport(state="missing", source=error.message, hint=error.hint)
    described = source.describe() if source else ""
    if export is not None:
        folder, meta = export
        if source is None or source.where is None:
            described = f"{meta.name} from {folder}"
        try:
            embedder = _loaded(folder, meta, options)
            return embedder, EmbedderReport(state="ready", source=described, key=meta.key)
        except ProviderError as error:
            described += f"; {error.message}"
    hint = "It is exported once, in the background; until then search is by words"
    return None, EmbedderReport(state="needs export", source=described, hint=hint)


def _loaded(folder: Path, meta: ExportMeta, options: EmbedderOptions) -> LocalEmbedder:
    """Return an export's embedder, the same as long as another engine of this process has it.

    Raises:
        ProviderError: The export is incomplete or damaged.
    """
    key = folder, repr(meta), options
    with _loading:
        embedder = _in_use.get(key)
        if embedder is None:
            embedder = _in_use[key] = LocalEmbedder(folder, options)
        return embedder


_in_use: WeakValueDictionary[tuple[object, ...], LocalEmbedder] = WeakValueDictionary()
_loading = threading.Lock()


def export_model(options: EmbedderOptions) -> None:
    """Export the configured model into the cache, downloading it when it is not on this machine.

    Takes some seconds for all-MiniLM-L6-v2, in a child process. Blocks; run it on a thread of its
    own, and search by words meanwhile.

    Raises:
        ProviderError: There is no such model, it cannot be exported, or the child died.
    """
    cache = str(model_files.cache_folder(options.cache_dir))
    # Its own process group, so that Ctrl-C in a terminal reaches only the parent; no session of
    # its own: Linux may apply niceness within a session only.
    child = subprocess.run(
        python_command(_EXPORT_CHILD, options.model, cache, str(options.threads)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=child_environment()
        | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_DISABLE_TELEMETRY": "1"},
        process_group=0,
        encoding="utf-8",
        errors="replace",
    )
    if code := child.returncode:
        problem, told, hint = child.stderr.strip("\n").rpartition("\n")[2].partition(FAULT)
        died = f"the export died with code {code}: {problem or 'no output'}"
        raise ProviderError(problem if told else died, hint=hint)


# ------------------------------------------------------------------- an endpoint


class EndpointEmbedder:
    """Embeds queries and documents over HTTP. Safe to use from any thread."""

    def __init__(self, options: EmbedderOptions) -> None:
        """Connect, and embed one word to learn the dimension.

        Raises:
            ConfigError: The URL or the model's name is missing or malformed.
            EndpointRefusedError: The server is not on this machine.
            EndpointError: It failed, timed out, or returned an invalid reply.
        """
        if not options.endpoint_model:
            raise ConfigError("endpoint_model is empty", hint="Name the model on the server")
        self._options = options
        self._server = host_and_port(options.endpoint_url)
        from slowcat_memory.providers.llm.http import connect_for_threads  # costs half a second

        read_s = options.endpoint_timeout_s
        self._client = connect_for_threads(options.endpoint_url, read_s, min(CONNECT_S, read_s))
        self.name, self.token_key = options.endpoint_model, ""
        self.dim = 0
        self.dim = self._request(["word"]).shape[1]
        self.key = f"endpoint:{self.name}@{self._server}/{self.dim}"

    @property
    def remote(self) -> bool:
        """True as well if the host name does not resolve."""
        return is_elsewhere(self._options.endpoint_url)

    def encode_query(self, text: str) -> Encoded:
        """Embed a query; see ``Embedder``.

        Raises:
            EndpointRefusedError: The server's name no longer resolves to this machine.
            EndpointError: It failed, timed out, or returned an invalid reply.
        """
        text = _non_empty(chunking.ends(text, QUERY_CHARS))
        return Encoded(self._request([self._options.endpoint_query_prompt + text])[0])

    def encode(self, texts: Sequence[str]) -> Embedded:
        """Embed documents, long ones piece by piece; see ``Embedder``.

        Raises:
            EndpointRefusedError: The server's name no longer resolves to this machine.
            EndpointError: It failed, timed out, or returned an invalid reply.
        """
        plan = [self._pieces(text) for text in texts]
        sent = [self._options.endpoint_doc_prompt + piece for pieces in plan for piece in pieces]
        size = self._options.batch_size
        parts = [self._request(sent[at : at + size]) for at in range(0, len(sent), size)]
        vectors = np.concatenate([np.zeros((0, self.dim), np.float32), *parts])
        return Embedded(chunking.gather(plan, vectors), [])

    def _pieces(self, text: str) -> list[str]:
        text = _non_empty(text[: chunking.MAX_CHARS])
        step = _CHARS_PER_TOKEN
        spans = [(at, min(at + step, len(text))) for at in range(0, len(text), step)]
        return chunking.split(text, spans, self._options.doc_max_tokens)

    def _request(self, texts: list[str]) -> np.ndarray:
        import openai  # costs half a second

        check_loopback(self._options.endpoint_url, self._options.allow_remote)
        try:
            items = self._client.embeddings.create(
                model=self.name, input=texts, encoding_format="float"
            ).data
            items = sorted(items, key=lambda item: item.index)
            with np.errstate(over="ignore"):  # too large for float32 becomes infinite, see below
                vectors = np.array([item.embedding for item in items], np.float32)
        except openai.APIStatusError as error:
            raise self._error(f"answered {error.status_code}") from error
        except Exception as error:  # of the client, which does not check what it parses
            problem = f"cannot be reached, or sent no list of vectors ({type(error).__name__})"
            raise self._error(problem) from error
        if [item.index for item in items] != list(range(len(texts))):
            raise self._error(f"sent {len(items)} vectors for {len(texts)} texts")
        if vectors.ndim != 2 or (self.dim and vectors.shape[1] != self.dim):
            raise self._error(f"sent vectors of length {vectors.shape[1:]}, not {self.dim}")
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise self._error("sent vectors that are zero or not finite")
        return chunking.unit(vectors)

    def _error(self, what: str) -> EndpointError:
        return EndpointError(f"the embedding server at {self._server} {what}")


def open_endpoint(options: EmbedderOptions) -> tuple[EndpointEmbedder | None, EmbedderReport]:
    """See ``open_query_embedder``."""
    try:
        embedder = EndpointEmbedder(options)
    except EndpointError as error:
        hint = error.hint or "Start the server; until then search is by words"
        return None, EmbedderReport(state="missing", source=error.message, hint=hint)
    source = f"{options.endpoint_model} at {host_and_port(options.endpoint_url)}"
    return embedder, EmbedderReport(state="endpoint", source=source, key=embedder.key)


def _non_empty(text: str) -> str:
    text = chunking.sendable(text)
    return text if text.strip() else "."
