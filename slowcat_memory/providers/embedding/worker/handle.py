"""The document embedder: a handle in the agent's process on a child that runs the model.

The child starts with the first text and runs until ``close``. It may die at any time (out of
memory): the current call fails, the next call starts another child, and after ``MAX_DEATHS`` such
calls in a row none is started.

One call uses the child at a time. ``close`` does not wait for it: it increments ``_closes`` and
kills the child; the call notices the new count, fails and cleans up.
"""

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding.base import Embedded, EmbedderOptions
from slowcat_memory.providers.embedding.chunking import MAX_CHARS, sendable
from slowcat_memory.providers.embedding.export_format import Meta
from slowcat_memory.providers.embedding.worker.process import (
    Fault,
    Frame,
    Request,
    Vectors,
    last_stderr_line,
    read_frame,
    spawn,
    write_frame,
)

MAX_DEATHS = 3
REPLY_S = 300.0  # a batch of the longest documents takes about a minute on one busy core

_MODULE = "slowcat_memory.providers.embedding.worker.child"


class ExactEmbedder:
    """Embeds documents exactly, in fp32. Safe to use from any thread; calls wait for each other."""

    def __init__(
        self,
        options: EmbedderOptions,
        folder: Path,
        meta: Meta,
        *,
        module: str = _MODULE,
        reply_s: float = REPLY_S,
    ) -> None:
        """Store what to run; nothing starts yet.

        Args:
            folder: The model's export.
            reply_s: Seconds after which a child that does not answer is killed.
        """
        self.name, self.key, self.dim = meta.name, meta.key, meta.dim
        self.token_key, self.token_dim = meta.token_key, meta.token_dim
        limits = options.doc_threads, options.doc_max_tokens
        self._command = [module, str(folder), *map(str, limits), meta.token_key]
        self._batch_size = options.batch_size
        self._reply_s = reply_s
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # process id; a fork must not use its parent's pipes
        self._stderr = tempfile.TemporaryFile()
        self._deaths = 0
        self._closes = 0
        self._began_at = 0  # value of ``_closes`` when the call that has the lock began

    def encode(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> np.ndarray:
        """Embed documents in batches; see ``DocumentEmbedder.encode``.

        Raises:
            ProviderError: The child failed or died, or ``close`` was called meanwhile.
        """
        return self.encode_tokens(texts, progress).vectors

    def encode_tokens(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> Embedded:
        """Embed documents and their tokens in batches; ``progress`` as in ``encode``.

        Raises:
            ProviderError: As in ``encode``.
        """
        with self._lock:
            self._began_at = self._closes
            vectors = np.zeros((len(texts), self.dim), np.float32)
            tokens: list[np.ndarray] = []
            for start in range(0, len(texts), self._batch_size):
                batch = texts[start : start + self._batch_size]
                made = self._batch(batch)
                vectors[start : start + len(batch)] = made.vectors
                tokens += made.tokens
                if progress:
                    progress(start + len(batch))
            self._deaths = 0
            return Embedded(vectors, tokens)

    def close(self) -> None:
        """End the child and a running call; the next ``encode`` starts another child."""
        self._closes += 1
        process = self._process
        if self._lock.acquire(blocking=False):
            try:
                self._end_child()
            finally:
                self._lock.release()
        elif process and self._owner == os.getpid():
            process.kill()

    def _batch(self, texts: Sequence[str]) -> Embedded:
        process = self._ready()
        request = Request([sendable(text[:MAX_CHARS]) for text in texts])
        reply = self._exchange(process, request)
        if isinstance(reply, Fault):
            raise reply.error()
        try:
            if isinstance(reply, Vectors):
                return reply.unpack(len(texts), self.dim, self.token_dim)
        except ValueError as error:
            raise self._failed("the embedding child sent an invalid reply") from error
        raise self._failed("the embedding child sent an invalid reply")

    def _ready(self) -> "subprocess.Popen[bytes]":
        """Return the running child, starting one if needed. Requires the lock."""
        if self._process and self._owner == os.getpid():
            return self._process
        if self._deaths >= MAX_DEATHS:
            raise ProviderError(
                f"the embedding child died {self._deaths} times in a row",
                hint="It needs about half a gigabyte of free memory",
            )
        self._process = spawn(*self._command, stderr=self._stderr, stdin=subprocess.PIPE)
        self._owner = os.getpid()
        return self._process

    def _exchange(self, process: "subprocess.Popen[bytes]", request: Request) -> Frame:
        if self._closes != self._began_at:
            raise self._failed("")
        with _killed_after(process, self._reply_s):
            try:
                write_frame(process.stdin, request)  # type: ignore[arg-type]
                reply = read_frame(process.stdout)  # type: ignore[arg-type]
            except OSError:
                reply = None
            except ProviderError as error:
                raise self._failed(error.message) from error
        if reply is None:
            raise self._failed("the embedding child died")
        return reply

    def _failed(self, what: str) -> ProviderError:
        """End the child, and return an error with its exit code and last line of stderr."""
        code = self._end_child(kill=True)
        if self._closes != self._began_at:
            return ProviderError("the embedder was closed during a call")
        self._deaths += 1
        words = last_stderr_line(self._stderr)
        return ProviderError(f"{what} (code {code}{f', {words}' if words else ''})")

    def _end_child(self, *, kill: bool = False) -> int | None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return None
        return _end(process, kill=kill)


@contextmanager
def _killed_after(process: "subprocess.Popen[bytes]", seconds: float) -> Iterator[None]:
    """Kill the child when the body takes too long, so that its read returns."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(process: "subprocess.Popen[bytes]", *, kill: bool = False) -> int:
    if kill:
        process.kill()
    try:
        if process.stdin:
            process.stdin.close()  # end of input: the child exits
    except OSError:
        pass
    try:
        code = process.wait(5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    if process.stdout:
        process.stdout.close()
    return code
