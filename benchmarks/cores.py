"""Keeps cores busy for as long as a recogniser would: matrix products over weights of 64 MB.

A speech recogniser on the CPU reads its weights over and over on all the threads it was given, so
it takes the core and empties the caches that a recall shares with it. Its processes are stopped and
continued by signals, at once; between turns they cost nothing.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_WORK = """
import os
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
weights = [np.ones((1024, 1024), np.float32) for _ in range(16)]
heard = np.ones((64, 1024), np.float32)
print("ready", flush=True)
while True:
    for layer in weights:
        heard @ layer
"""


class Cores:
    """Processes that each keep a core busy while they are let."""

    def __init__(self, count: int) -> None:
        """Start so many; they are stopped at first.

        Args:
            count: How many cores.
        """
        command = [sys.executable, "-c", _WORK]
        self._workers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
        for worker in self._workers:
            assert worker.stdout
            worker.stdout.readline()
        self.rest()

    def work(self) -> None:
        """Keep the cores busy from now on."""
        self._send(signal.SIGCONT)

    def rest(self) -> None:
        """Leave the cores alone from now on."""
        self._send(signal.SIGSTOP)

    def close(self) -> None:
        self._send(signal.SIGKILL)
        for worker in self._workers:
            worker.wait()
            assert worker.stdout
            worker.stdout.close()

    def _send(self, what: signal.Signals) -> None:
        for worker in self._workers:
            os.kill(worker.pid, what)


@contextmanager
def cores(count: int) -> Iterator[Cores]:
    """Yield so many cores' worth of work, at rest; it ends with the block."""
    made = Cores(count)
    try:
        yield made
    finally:
        made.close()
