"""The document embedder: a handle in the agent's process on a child that runs the model.

The child starts with the first text and runs until ``close``: about 5 s to start, 0.7 GB. It may
die at any time (out of memory): the current call fails, the next call starts another child, and
after ``MAX_DEATHS`` such calls in a row none is started.

One call uses the child at a time. ``close`` does not wait for it: it increments ``_closes`` and
kills the child; the call notices the new count, fails and cleans up.
"""

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from slowcat_memory.errors import ProviderError
from slowcat_memory.providers.embedding import export_format
from slowcat_memory.providers.embedding.base import Embedded, EmbedderOptions
from slowcat_memory.providers.embedding.chunking import MAX_CHARS, sendable
from slowcat_memory.providers.embedding.worker.process import (
    Fault,
    Frame,
    Hello,
    Request,
    Vectors,
    last_stderr_line,
    read_frame,
    spawn,
    write_frame,
)

MAX_DEATHS = 3
START_S = 600.0  # a cold disk, or a model that must be downloaded first
REPLY_S = 300.0  # a batch of the longest documents takes about a minute on one busy core

_MODULE = "slowcat_memory.providers.embedding.worker.child"


class SentenceEmbedder:
    """Embeds documents exactly, in fp32. Safe to use from any thread; calls wait for each other."""

    def __init__(
        self,
        options: EmbedderOptions,
        *,
        key: str = "",
        dim: int = 0,
        token_key: str = "",
        token_dim: int = 0,
        export: str = "",
        module: str = _MODULE,
        reply_s: float = REPLY_S,
    ) -> None:
        """Store the options; nothing starts yet.

        Args:
            key: Expected key of the vectors, "" to ask the child.
            dim: Length of a vector, 0 to ask the child.
            token_key: Expected key of the token vectors, "" for none.
            export: Folder of the model's export, with their projection.
            reply_s: Seconds after which a child that does not answer is killed.
        """
        self.name = export_format.short_name(options.model)
        self.token_key, self.token_dim = token_key, token_dim
        self._export = export
        self._options = options
        self._key = key
        self._dim = dim
        self._module = module
        self._reply_s = reply_s
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # process id; a fork must not use its parent's pipes
        self._stderr = tempfile.TemporaryFile()
        self._deaths = 0
        self._closes = 0
        self._began_at = 0  # value of ``_closes`` when the call that has the lock began

    @property
    def key(self) -> str:
        """Starts the child when the key is not known yet."""
        if not self._key:
            self._start_for_key()
        return self._key

    @property
    def dim(self) -> int:
        """Starts the child when the dimension is not known yet."""
        if not self._dim:
            self._start_for_key()
        return self._dim

    def encode(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> np.ndarray:
        """Embed documents in batches; see ``DocumentEmbedder.encode``.

        Raises:
            ProviderError: The child failed or died, or ``close`` was called meanwhile.
        """
        return self._encode(texts, progress, with_tokens=False).vectors

    def encode_tokens(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> Embedded:
        """Embed documents and their tokens in batches; ``progress`` as in ``encode``.

        Raises:
            ProviderError: As in ``encode``.
        """
        return self._encode(texts, progress, with_tokens=bool(self.token_key))

    def _encode(
        self, texts: Sequence[str], progress: Callable[[int], None] | None, *, with_tokens: bool
    ) -> Embedded:
        with self._lock:
            self._began_at = self._closes
            vectors = np.zeros((len(texts), self.dim), np.float32)
            tokens: list[np.ndarray] = []
            for start in range(0, len(texts), self._options.batch_size):
                batch = texts[start : start + self._options.batch_size]
                made = self._batch(batch, with_tokens)
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

    def _start_for_key(self) -> None:
        with self._lock:
            self._began_at = self._closes
            self._ready()

    def _batch(self, texts: Sequence[str], with_tokens: bool) -> Embedded:
        process = self._ready()
        request = Request([sendable(text[:MAX_CHARS]) for text in texts], with_tokens)
        reply = self._exchange(process, request, self._reply_s)
        if not isinstance(reply, Vectors):
            raise self._failed("the embedding child sent an invalid reply")
        try:
            vectors = reply.array(len(texts), self._dim)
            tokens = reply.token_arrays(len(texts), self.token_dim) if with_tokens else []
            return Embedded(vectors, tokens)
        except ValueError as error:
            raise self._failed("the embedding child sent an invalid reply") from error

    def _ready(self) -> "subprocess.Popen[bytes]":
        """Return the running child, starting one if needed. Requires the lock."""
        if self._process and self._owner == os.getpid():
            return self._process
        if self._deaths >= MAX_DEATHS:
            raise ProviderError(
                f"the embedding child died {self._deaths} times in a row",
                hint="It needs about a gigabyte of free memory",
            )
        options = self._options
        args = (options.model, str(options.doc_threads), str(options.doc_max_tokens))
        process = spawn(
            self._module, *args, self._export, stderr=self._stderr, stdin=subprocess.PIPE
        )
        self._process, self._owner = process, os.getpid()
        hello = self._exchange(process, None, START_S)
        if not isinstance(hello, Hello):
            raise self._failed("the embedding child sent an invalid reply")
        self._check_hello(hello)
        return process

    def _check_hello(self, hello: Hello) -> None:
        if self._key and self._key != hello.key:
            self._end_child()
            raise ProviderError(
                f"the model's vectors are {hello.key}, not {self._key}",
                hint="Its weights have changed; restart to export it again",
            )
        if self.token_key and self.token_key != hello.token_key:
            self._end_child()
            raise ProviderError(
                "the model's export has changed, and with it its token vectors",
                hint="Restart",
            )
        self._key, self._dim = hello.key, hello.dim

    def _exchange(
        self, process: "subprocess.Popen[bytes]", request: Request | None, timeout_s: float
    ) -> Frame:
        if self._closes != self._began_at:
            raise self._failed("")
        with _killed_after(process, timeout_s):
            try:
                if request:
                    write_frame(process.stdin, request)  # type: ignore[arg-type]
                reply = read_frame(process.stdout)  # type: ignore[arg-type]
            except OSError:
                reply = None
            except ProviderError as error:
                raise self._failed(error.message) from error
        if reply is None:
            raise self._failed("the embedding child died")
        if isinstance(reply, Fault):
            if request is None:
                self._end_child()  # it could not load the model, and exits
            raise reply.error()
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
