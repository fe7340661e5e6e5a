"""The idle thread, with an event loop of its own.

A step that computes for long, or a slow LLM, delays only other idle work. The thread keeps its
priority: slowed while it holds the interpreter's lock, it would slow every thread that waits for
the lock. Heavy computation runs elsewhere (``job.lower_thread_priority``).
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING

from loguru import logger

from slowcat_memory.errors import describe_error

if TYPE_CHECKING:
    from slowcat_memory.idle.scheduler.loop import IdleLoop
    from slowcat_memory.idle.scheduler.task_queue import Waits

NAME = "slowcat-idle"
STOP_S = 1.0
NOT_RUNNING = "idle work does not run"


class IdleThread:
    """Hosts an ``IdleLoop``. Its methods may be called from any thread but its own."""

    def __init__(
        self,
        make_loop: "Callable[[], IdleLoop]",
        on_end: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Start the thread.

        Args:
            make_loop: Makes the loop, on the thread.
            on_end: Closes what belongs to the thread's event loop, such as an LLM's connections.
        """
        self._make_loop, self._on_end = make_loop, on_end
        self._event_loop = asyncio.new_event_loop()
        self._main = self._event_loop.create_task(self._run())
        self._made: Future[IdleLoop] = Future()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._host, name=NAME, daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = STOP_S) -> bool:
        """End the running step and the thread; return whether it has ended.

        Unwritten work is due again next time.
        """
        self._stopped.set()
        with suppress(RuntimeError):  # it has ended
            self._event_loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def drain(self, jobs: Sequence[str] | None = None, patience_s: float = 600.0) -> Future[int]:
        """Call ``IdleLoop.run_until_done`` on the thread.

        Returns:
            How many tasks are left. Cancelling the future stops that call only.

        Raises:
            RuntimeError: The thread does not run.
        """
        loop = self._made.result()
        if self._stopped.is_set():
            raise RuntimeError(NOT_RUNNING)
        done = loop.run_until_done(jobs, patience_s)
        return asyncio.run_coroutine_threadsafe(done, self._event_loop)

    def waits(self) -> "Waits":
        """Return what waits, and why, as of the loop's last choice of a task."""
        ready = self._made.done() and self._made.exception() is None
        return self._made.result().waits if ready else {}

    def _host(self) -> None:
        ended: Exception = RuntimeError(NOT_RUNNING)
        try:
            self._event_loop.run_until_complete(self._main)
        except asyncio.CancelledError:  # stopped
            pass
        except Exception as error:
            ended = error
            logger.error(f"Idle work has ended: {describe_error(error)}")
        finally:
            self._stopped.set()
            if not self._made.done():
                self._made.set_exception(ended)
            self._end()

    async def _run(self) -> None:
        loop = self._make_loop()
        self._made.set_result(loop)
        await loop.run()

    def _end(self) -> None:
        """Cancel remaining tasks (a drain, an abandoned step), then close."""
        tasks = asyncio.all_tasks(self._event_loop)
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                self._event_loop.run_until_complete(asyncio.wait(tasks, timeout=STOP_S / 4))
            if self._on_end:
                self._event_loop.run_until_complete(asyncio.wait_for(self._on_end(), STOP_S / 4))
        except Exception as error:
            logger.warning(f"Idle work did not close cleanly: {describe_error(error)}")
        finally:
            self._event_loop.close()
