"""Makes the contexts of jobs, from what the engine provides."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from slowcat_memory.idle.job import Budget, Job, JobContext, JobDeps, NoLimit
from slowcat_memory.idle.working_set import WorkingSet

NICENESS = 10  # the scheduler gives the thread about a tenth of a contended core


class Contexts:
    """Makes a context for each plan and step; owns the thread for blocking work."""

    def __init__(self, deps: JobDeps) -> None:
        self._deps = deps
        self._pool = ThreadPoolExecutor(1, "slowcat-idle-work", initializer=lower_thread_priority)
        self._views = WorkingSet()
        self._closing = threading.Event()

    def __call__(self, job: Job, budget: Budget = NoLimit()) -> JobContext:
        """Return the context of a plan or step, whose uses of models the budget limits."""
        return JobContext(self._deps, job, self._pool, self._views, budget, self._closing)

    def rest(self) -> None:
        """Discard what only speeds up work: there is none for now."""
        self._views.clear()

    def interrupt(self) -> None:
        """Interrupt all plans and steps, running and later ones, because the engine closes."""
        self._closing.set()

    def close(self) -> None:
        """Start no more blocking work; running work sees ``interrupted``."""
        self.interrupt()
        self._pool.shutdown(wait=False, cancel_futures=True)


def lower_thread_priority() -> None:
    """Lower this thread's scheduling priority (Linux only).

    For threads that mostly compute without the interpreter's lock (a model, a compression). A
    thread that often holds the lock must not be slowed: other threads would wait longer for it.
    """
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        except OSError:  # a container that forbids it
            pass
