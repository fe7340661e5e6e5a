"""The export child: how it is started, and its messages, ``Event`` lines of JSON.

An export in the agent's process would make speech stutter. The child runs niced, logs to stderr, and
exits with the parent.

Not a ``ProcessPoolExecutor``: spawn imports the user's ``__main__`` again in the child (a bot
without an ``if __name__`` guard would start twice), and fork is unsafe with Pipecat's threads.
"""

import os
import subprocess
import sys
from typing import IO, Any, BinaryIO

from msgspec import Struct

from slowcat_memory.child_process import child_environment, python_command
from slowcat_memory.errors import ModelNotFoundError, ProviderError

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


_RAISABLE = {kind.__name__: kind for kind in (ModelNotFoundError, ProviderError)}


class Event(Struct, omit_defaults=True):
    """One line from the export child."""

    say: str = ""  # the step that begins, as text
    folder: str = ""  # the finished export; the last event after success
    fault: "Fault | None" = None  # the error; the last event after a failure


class Fault(Struct):
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
