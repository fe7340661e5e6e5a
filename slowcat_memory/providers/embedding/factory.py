"""Opens the configured embedders; finds or makes the export of a local model.

An export in the agent's process would make speech stutter. A child makes it, which runs niced, sends
``Event`` lines of JSON and exits with the parent. It is no ``ProcessPoolExecutor``: spawn imports the
user's ``__main__`` again (a bot without an ``if __name__`` guard would start twice), and fork is
unsafe with Pipecat's threads.
"""

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import IO
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct

from slowcat_memory.child_process import child_environment, python_command
from slowcat_memory.errors import ModelNotFoundError, ProviderError
from slowcat_memory.providers.embedding import model_files
from slowcat_memory.providers.embedding.base import (
    EmbedderOptions,
    EmbedderReport,
    Progress,
    QueryEmbedder,
)
from slowcat_memory.providers.embedding.local import LocalEmbedder
from slowcat_memory.providers.embedding.model_files import ExportMeta, ModelSource

_EXPORT_CHILD = "slowcat_memory.providers.embedding.export.child"
_STDERR_TAIL = 2000  # bytes
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


def find_export(
    options: EmbedderOptions, source: ModelSource | None
) -> tuple[Path, ExportMeta] | None:
    """Return the export of a model's current weights, if there is one.

    Without a ``source`` the model is no longer on this machine; any export of it is used.
    """
    cache = model_files.cache_folder(options.cache_dir)
    found = model_files.exports_of(cache, model_files.short_name(options.model))
    if source is None or source.where is None or not found:
        return found[0] if found else None
    stamp = model_files.weights_stamp(source.where)
    for folder, meta in found:
        if meta.stamp == stamp:
            return folder, meta
    # The same weights in another place, or new weights:
    digest = model_files.weights_hash(source.where)
    return next(((f, m) for f, m in found if f.name.endswith(f"-{digest}")), None)


def open_local(options: EmbedderOptions) -> tuple[LocalEmbedder | None, EmbedderReport]:
    """Open the export of the configured model, or say what is missing."""
    try:
        source = model_files.resolve(options.model)
        here, described = source.where is not None, source.describe()
        found = find_export(options, source)
    except ModelNotFoundError as error:
        found = find_export(options, None)
        if found is None:
            return None, EmbedderReport(state="missing", source=error.message, hint=error.hint)
        here = False
    if found is None:
        return None, _needs_export(described)
    folder, meta = found
    described = described if here else f"{meta.name} from {folder}"
    try:
        embedder = _loaded(folder, meta, options)
    except ProviderError as error:
        return None, _needs_export(f"{described}; {error.message}")
    return embedder, EmbedderReport(state="ready", source=described, key=meta.key, dim=meta.dim)


def _loaded(folder: Path, meta: ExportMeta, options: EmbedderOptions) -> LocalEmbedder:
    """Return an export's embedder, the same as long as another engine of this process has it.

    Raises:
        ProviderError: The export is incomplete or damaged.
    """
    limits = options.threads, options.query_max_tokens, options.doc_max_tokens
    key = folder, repr(meta), *limits
    with _loading:
        embedder = _in_use.get(key)
        if embedder is None:
            embedder = _in_use[key] = LocalEmbedder(
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
    cache = model_files.cache_folder(options.cache_dir)
    with tempfile.TemporaryFile() as stderr:
        arguments = (options.model, str(cache), str(options.threads))
        # Its own process group, so that Ctrl-C in a terminal reaches only the parent; no session of
        # its own: Linux may apply niceness within a session only.
        with subprocess.Popen(
            python_command(_EXPORT_CHILD, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=child_environment()
            | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_DISABLE_TELEMETRY": "1"},
            process_group=0,
        ) as process:
            try:
                last = _follow(process.stdout or (), on_progress)
                code = process.wait()
            finally:
                process.kill()
        if last.folder:
            return Path(last.folder)
        if last.fault:
            kind = ModelNotFoundError if last.missing else ProviderError
            raise kind(last.fault, hint=last.hint)
        raise ProviderError(
            f"the export died with code {code}: {_last_line(stderr) or 'no output'}"
        )


def _follow(lines: Iterable[bytes], on_progress: Progress | None) -> "Event":
    last = Event()
    for line in lines:
        try:
            last = msgspec.json.decode(line, type=Event)
        except msgspec.MsgspecError:
            break  # killed within a line
        if last.say and on_progress:
            on_progress(last.say)
    return last


def _last_line(stderr: IO[bytes]) -> str:
    size = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, size - _STDERR_TAIL))
    lines = stderr.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


class Event(Struct, omit_defaults=True):
    """One line from the export child."""

    say: str = ""  # the step that begins, as text
    folder: str = ""  # the finished export; the last event after success
    fault: str = ""  # the error; the last event after a failure
    hint: str = ""  # the error's remedy
    missing: bool = False  # the error is that there is no such model
