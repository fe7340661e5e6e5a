"""Runs the export child and waits for it; the caller decides on which thread."""

import subprocess
import tempfile
from pathlib import Path

import msgspec

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import export_format
from slowcat_memory.providers.embedding.base import EmbedderOptions, Progress
from slowcat_memory.providers.embedding.worker.process import last_words, spawn
from slowcat_memory.providers.embedding.worker.protocol import Event

_MODULE = "slowcat_memory.providers.embedding.export.child"


def export_model(options: EmbedderOptions, on_progress: Progress | None = None) -> Path:
    """Export the configured model into the cache, downloading it when it is nowhere here.

    The child takes 10-15 s and 1.6 GB of memory for all-MiniLM-L6-v2. Blocks; run it on a thread of its own, and answer from lexical search alone meanwhile.

    Args:
        options: Which model, and where the cache is.

    Raises:
        ModelNotFoundError: There is no such model.
        ProviderError: It cannot be exported, or the child died.
    """
    cache = export_format.cache_folder(options.cache_dir)
    with tempfile.TemporaryFile() as stderr:
        args = (options.model, str(cache), str(options.doc_threads))
        process = spawn(_MODULE, *args, stderr=stderr, stdin=subprocess.DEVNULL)
        try:
            last = _follow(process, on_progress)
            code = process.wait()
        finally:
            process.kill()
            process.wait()
            assert process.stdout
            process.stdout.close()
        if last.folder:
            return Path(last.folder)
        if last.fault:
            raise last.fault.error()
        raise ProviderError(f"the export died with code {code}: {last_words(stderr) or 'no word'}")


def _follow(process: "subprocess.Popen[bytes]", on_progress: Progress | None) -> Event:
    assert process.stdout
    last = Event()
    for line in process.stdout:
        try:
            last = msgspec.json.decode(line, type=Event)
        except msgspec.MsgspecError:
            break  # killed in the middle of a line
        if last.say and on_progress:
            on_progress(last.say)
    return last
