"""Work that is due after something was opened, and that no first answer waits for."""

import threading
from collections.abc import Callable, Sequence

from loguru import logger

from slowcat_memory.errors import describe_error

PAUSE_S = 0.05  # before the thread begins: the first answer, which began it, goes out first
STOP_S = 2.0  # how long a running step may take at the end


class Deferred:
    """Steps that are done once, in order: on a thread of their own, or by a caller who waits."""

    def __init__(self, steps: Sequence[Callable[[], None]]) -> None:
        """Begin nothing yet. A step should end soon after ``stopping`` is set."""
        self.stopping = threading.Event()
        self._left = list(steps)
        self._running = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Do the steps on a thread, unless they have begun. Takes microseconds."""
        if self._left and self._thread is None and not self.stopping.is_set():
            self._thread = threading.Thread(target=self._run, name="slowcat-opened", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Wait until all steps are done, and do here what is left. Blocks.

        Raises:
            Exception: What a step raised; it is left, and so are those after it.
        """
        with self._running:
            while self._left and not self.stopping.is_set():
                self._left[0]()
                self._left.pop(0)

    def _run(self) -> None:
        try:
            if not self.stopping.wait(PAUSE_S):
                self.finish()
        except Exception as error:  # a thread has no caller to raise to
            if not self.stopping.is_set():
                logger.warning(f"memory: opening was not finished: {describe_error(error)}")

    def stop(self) -> None:
        """Do no further step; waits a while for the one that runs."""
        self.stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_S)
