"""Opens the configured embedders; finds or makes the export of a local model."""

import subprocess
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec

from slowcat_memory.errors import ModelNotFoundError, ProviderError
from slowcat_memory.providers.embedding import export_format, model_files
from slowcat_memory.providers.embedding.base import (
    EmbedderOptions,
    EmbedderReport,
    Progress,
    QueryEmbedder,
)
from slowcat_memory.providers.embedding.export_format import Meta
from slowcat_memory.providers.embedding.local import LocalEmbedder
from slowcat_memory.providers.embedding.model_files import ModelSource
from slowcat_memory.providers.embedding.process import Event, last_stderr_line, spawn

_EXPORT_CHILD = "slowcat_memory.providers.embedding.export.child"
_NONE = EmbedderReport(state="none", source="no embedding model is configured; search is by words")


def open_query_embedder(options: EmbedderOptions) -> tuple[QueryEmbedder | None, EmbedderReport]:
    """Open the configured embedder; takes about 0.1 s after the first import.

    Never downloads, and never falls back from one kind to another. The embedder is None unless the report's state is "ready" or "endpoint".

    Raises:
        ConfigError: The endpoint's URL or model is missing or malformed.
        EndpointRefusedError: The endpoint is not on this machine.
    """
    if options.kind == "local":
        return open_local(options)
    if options.kind == "none":
        return None, _NONE
    from slowcat_memory.providers.embedding import endpoint  # costs half a second

    return endpoint.open_endpoint(options)


def find_export(options: EmbedderOptions, source: ModelSource | None) -> tuple[Path, Meta] | None:
    """Return the export of a model's current weights, if there is one.

    Without a ``source`` the model is no longer on this machine; any export of it is used.
    """
    cache = export_format.cache_folder(options.cache_dir)
    found = export_format.exports_of(cache, export_format.short_name(options.model))
    if source is None or source.where is None or not found:
        return found[0] if found else None
    stamp = export_format.weights_stamp(source.where)
    for folder, meta in found:
        if meta.stamp == stamp:
            return folder, meta
    digest = export_format.weights_hash(
        source.where
    )  # the same weights in another place, or new weights
    return next(((f, m) for f, m in found if f.name.endswith(f"-{digest}")), None)


class _Located(NamedTuple):
    """An export, and where the model comes from: None if it is no longer on this machine."""

    folder: Path
    meta: Meta
    source: ModelSource | None

    def report(self) -> EmbedderReport:
        here = self.source is not None and self.source.where is not None
        return EmbedderReport(
            state="ready",
            source=self.source.describe() if here else f"{self.meta.name} from {self.folder}",  # type: ignore[union-attr]
            key=self.meta.key,
            dim=self.meta.dim,
        )


def _locate(options: EmbedderOptions) -> _Located | EmbedderReport:
    """Find the export of the configured model, or say what is missing."""
    source: ModelSource | None = None
    try:
        source = model_files.resolve(options.model)
    except ModelNotFoundError as error:
        if found := find_export(options, None):
            return _Located(*found, None)
        return EmbedderReport(state="missing", source=error.message, hint=error.hint)
    found = find_export(options, source)
    return _Located(*found, source) if found else _needs_export(source.describe())


def open_local(options: EmbedderOptions) -> tuple[LocalEmbedder | None, EmbedderReport]:
    found = _locate(options)
    if isinstance(found, EmbedderReport):
        return None, found
    try:
        return _loaded(found.folder, found.meta, options), found.report()
    except ProviderError as error:
        return None, _needs_export(f"{found.report().source}; {error.message}")


def _loaded(folder: Path, meta: Meta, options: EmbedderOptions) -> LocalEmbedder:
    """Return an export's embedder, the same as long as another engine of this process has it.

    Raises:
        ProviderError: The export is incomplete or damaged.
    """
    limits = options.threads, options.query_max_tokens, options.doc_max_tokens
    key = folder, repr(meta), *limits
    with _loading:
        embedder = _in_use.get(key)
        if embedder is None:
            embedder = _in_use[key] = LocalEmbedder.load(
                folder,
                threads=options.threads,
                query_max_tokens=options.query_max_tokens,
                doc_max_tokens=options.doc_max_tokens,
            )
        return embedder


_in_use: WeakValueDictionary[tuple[object, ...], LocalEmbedder] = WeakValueDictionary()
_loading = threading.Lock()


def _needs_export(described: str) -> EmbedderReport:
    return EmbedderReport(
        state="needs export",
        source=described,
        hint="It is exported once, in the background; until then search is by words",
    )


def export_model(options: EmbedderOptions, on_progress: Progress | None = None) -> Path:
    """Export the configured model into the cache, downloading it when it is not on this machine.

    Takes some seconds for all-MiniLM-L6-v2, in a child process. Blocks; run it on a thread of its
    own, and search by words meanwhile.

    Raises:
        ModelNotFoundError: There is no such model.
        ProviderError: It cannot be exported, or the child died.
    """
    cache = export_format.cache_folder(options.cache_dir)
    with tempfile.TemporaryFile() as stderr:
        args = (options.model, str(cache), str(options.threads))
        with spawn(_EXPORT_CHILD, *args, stderr=stderr, stdin=subprocess.DEVNULL) as process:
            try:
                last = _follow(process.stdout or (), on_progress)
                code = process.wait()
            finally:
                process.kill()
        if last.folder:
            return Path(last.folder)
        if last.fault:
            raise last.fault.error()
        raise ProviderError(
            f"the export died with code {code}: {last_stderr_line(stderr) or 'no output'}"
        )


def _follow(lines: Iterable[bytes], on_progress: Progress | None) -> Event:
    last = Event()
    for line in lines:
        try:
            last = msgspec.json.decode(line, type=Event)
        except msgspec.MsgspecError:
            break  # killed within a line
        if last.say and on_progress:
            on_progress(last.say)
    return last
