"""Child processes: how they are started, and the messages between parent and child.

A model that runs for minutes, or is exported, would make speech stutter. Children run niced, log to
stderr, and exit with the parent.

Not a ``ProcessPoolExecutor``: spawn imports the user's ``__main__`` again in the child (a bot
without an ``if __name__`` guard would start twice), fork is unsafe with Pipecat's threads, and one
killed worker breaks the whole pool.

The export child writes ``Event`` lines, JSON. The document child and its parent exchange frames:
four bytes of length, big-endian, then msgpack. Each ``Request`` has one reply, ``Vectors`` or a
``Fault``.
"""

import os
import subprocess
import sys
from typing import IO, Any, BinaryIO

import msgspec
import numpy as np
from msgspec import Struct

from slowcat_memory.child_process import child_environment, python_command
from slowcat_memory.errors import ModelNotFoundError, ProviderError
from slowcat_memory.providers.embedding.base import Embedded

NICENESS = 10  # a child gets about a tenth of a contended core

_STDERR_TAIL = 2000  # bytes


def spawn(module: str, *args: str, stderr: IO[Any], stdin: int) -> subprocess.Popen[bytes]:
    """Start a module of this package as a child process; its standard output is a pipe.

    The child has its own process group, so that Ctrl-C in a terminal reaches only the parent (not
    its own session: Linux may apply niceness within a session only).
    """
    return subprocess.Popen(
        python_command(module, *args),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=child_environment()
        | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_DISABLE_TELEMETRY": "1"},
        process_group=0,
    )


def last_stderr_line(stderr: IO[bytes]) -> str:
    """Return the last line of ``stderr``, the file given to ``spawn``; "" if empty."""
    size = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, size - _STDERR_TAIL))
    lines = stderr.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def become_child() -> BinaryIO:
    """Lower this process's priority, and return the real standard output for the parent.

    A child's ``main`` calls it before heavy imports. Prints of libraries go to standard error.
    """
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    real = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(real, "wb", buffering=0)


MAX_FRAME = 1 << 28  # bytes; a longer frame is invalid
_LENGTH = 4
_RAISABLE = {kind.__name__: kind for kind in (ModelNotFoundError, ProviderError)}


class Event(Struct, omit_defaults=True):
    """One line from the export child."""

    say: str = ""  # the step that begins, as text
    folder: str = ""  # the finished export; the last event after success
    fault: "Fault | None" = None  # the error; the last event after a failure


class Fault(Struct, tag=True):
    """An error sent from a child to its parent; ``kind`` names its class in ``errors``."""

    kind: str
    message: str
    hint: str = ""

    @classmethod
    def of(cls, error: Exception, doing: str) -> "Fault":
        """Describe an error; of foreign ones the first 300 characters."""
        if isinstance(error, ProviderError):
            return cls(type(error).__name__, error.message, error.hint)
        words = " ".join(str(error).split())
        return cls("ProviderError", f"{doing} failed: {type(error).__name__}: {words}"[:300])

    def error(self) -> ProviderError:
        return _RAISABLE.get(self.kind, ProviderError)(self.message, hint=self.hint)


class Request(Struct, tag=True):
    """Documents to embed."""

    texts: list[str]


class Vectors(Struct, tag=True):
    """The reply: row after row, in the order of the texts."""

    rows: bytes  # the vectors, float32, little-endian
    tokens: bytes = b""  # their token vectors, int8
    counts: list[int] = []  # number of tokens of each text; empty from a model without them

    @classmethod
    def of(cls, made: Embedded) -> "Vectors":
        rows = np.ascontiguousarray(made.vectors, "<f4").tobytes()
        return cls(rows, b"".join(part.tobytes() for part in made.tokens), [*map(len, made.tokens)])

    def unpack(self, count: int, dim: int, token_dim: int) -> Embedded:
        """Return what ``of`` was given, read-only; ``token_dim`` 0 for no tokens.

        Raises:
            ValueError: It is not that of ``count`` texts.
        """
        vectors = np.frombuffer(self.rows, "<f4").reshape(count, dim)
        if not token_dim:
            return Embedded(vectors, [])
        every = np.frombuffer(self.tokens, np.int8).reshape(sum(self.counts), token_dim)
        if len(self.counts) != count:
            raise ValueError(f"tokens of {len(self.counts)} texts, not {count}")
        return Embedded(vectors, np.split(every, np.cumsum(self.counts)[:-1]))


Frame = Request | Vectors | Fault


def write_frame(file: BinaryIO, frame: Frame) -> None:
    """Send a frame; raises OSError when the other side has closed the pipe."""
    body = msgspec.msgpack.encode(frame)
    left = memoryview(len(body).to_bytes(_LENGTH) + body)
    while left:  # an unbuffered pipe may accept only a part
        left = left[file.write(left) :]
    file.flush()


def read_frame(file: BinaryIO) -> Frame | None:
    """Receive a frame; None when the other side has closed the pipe, even within a frame.

    Raises:
        ProviderError: The data is not a frame.
    """
    head = file.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    length = int.from_bytes(head)
    if not 0 < length <= MAX_FRAME:
        raise ProviderError("the child sent data that is not a frame")
    body = file.read(length)
    if len(body) < length:
        return None
    try:
        return msgspec.msgpack.decode(body, type=Frame)
    except msgspec.MsgspecError as error:
        raise ProviderError("the child sent data that is not a frame") from error
