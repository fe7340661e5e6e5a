"""Child processes that may be killed: forked from a process without threads or open store."""

import json
import os
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any


class Child:
    """A forked process that reports through a pipe."""

    def __init__(self, run: Callable[[int], None]) -> None:
        """Fork; ``run`` gets the descriptor to report to."""
        self._out, into = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _run_and_exit(run, self._out, into)
        os.close(into)
        self.heard = b""

    def wait_first(self) -> None:
        """Wait for its first output.

        Raises:
            EOFError: It ended without any; its traceback is on stderr.
        """
        piece = os.read(self._out, 1 << 16)
        if not piece:
            raise EOFError("the child ended before it reported")
        self.heard += piece

    def wait_for(self, word: bytes) -> None:
        """Wait until it has reported this."""
        while word not in self.heard:
            self.wait_first()

    def kill_after(self, size: int, moment_s: float = 0.0) -> tuple[bytes, int]:
        """Kill it once it has reported so many bytes more, and worked on for a moment; reap it."""
        enough = len(self.heard) + size
        while len(self.heard) < enough and (piece := os.read(self._out, 1 << 16)):
            self.heard += piece
        time.sleep(moment_s)
        os.kill(self.pid, signal.SIGKILL)
        return self.finish()

    def finish(self) -> tuple[bytes, int]:
        """Read the rest and reap: return all output, and the signal that ended it, or 0."""
        while piece := os.read(self._out, 1 << 16):
            self.heard += piece
        os.close(self._out)
        _, status = os.waitpid(self.pid, 0)
        return self.heard, status & 0x7F


def _run_and_exit(run: Callable[[int], None], out: int, into: int) -> None:
    code = 1
    try:  # from the first line on: a child that went on would run the parent's other tests
        os.close(out)
        run(into)
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


def ask(run: Callable[[], Any]) -> Any:
    """Compute something in a child; None if the child died."""
    child = Child(lambda into: os.write(into, json.dumps(run()).encode()) and None)
    said, died = child.finish()
    return json.loads(said) if said and not died else None
