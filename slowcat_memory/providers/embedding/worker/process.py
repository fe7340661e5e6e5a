"""How our child processes are started, and how they behave: quiet, humble, and gone with us.

torch and sentence-transformers live in children alone: they cost seconds of start and hundreds
of megabytes, and their threads make a voice stutter.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, BinaryIO

import slowcat_memory

NICENESS = 10  # the scheduler gives a child about a tenth of a contended core

_ROOT = Path(slowcat_memory.__path__[0]).resolve().parent
_START = (
    "import runpy, sys; sys.path.append({root!r}); runpy.run_module({module!r}, {{}}, '__main__')"
)
_STDERR_TAIL = 2000  # bytes


def spawn(module: str, *args: str, stderr: IO[Any], stdin: int) -> subprocess.Popen[bytes]:
    """Start one of our modules as a child.

    The child has its own process group, so that Ctrl-C in a terminal reaches the parent alone
    (not its own session: Linux may weigh niceness inside a session only). It does not import from
    the working directory.

    Args:
        module: The module to run as a program.
        stdin: As ``subprocess.Popen`` takes it.

    Returns:
        The process; its standard output is a pipe.
    """
    start = _START.format(root=str(_ROOT), module=module)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", start, *args],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=os.environ | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_DISABLE_TELEMETRY": "1"},
        process_group=0,
    )


def last_words(stderr: IO[bytes]) -> str:
    """Read the end of what a child complained about.

    Args:
        stderr: The file that was given to ``spawn``.

    Returns:
        The last line that is not blank, or "".
    """
    size = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, size - _STDERR_TAIL))
    lines = stderr.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def settle() -> BinaryIO:
    """Make this process a good child; its ``main`` calls it before it imports anything heavy.

    Returns:
        The real standard output, for the parent. Whatever libraries print goes to standard error.
    """
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    real = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(real, "wb", buffering=0)
