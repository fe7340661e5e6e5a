"""The one thread that writes.

It drains the queue, up to a transaction's worth at a time, commits, and only then tells the
callers (group commit). What a disk cannot take now it tries again later, for as long as the store
is open; what can never be written fails alone, without the others of its transaction.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar, cast

import lmdb

from slowcat_memory.errors import StoreClosedError, StoreError
from slowcat_memory.metrics import Metrics
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.failures import BROKEN, POISON, as_store_error
from slowcat_memory.store.disk.transaction import Transaction, transact
from slowcat_memory.store.options import StoreOptions
from slowcat_memory.store.rows import apply
from slowcat_memory.store.writer.ack import stock
from slowcat_memory.store.writer.write_queue import Item, Task, Write, WriteQueue

T = TypeVar("T")

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds between tries while the disk refuses
CHORES_EVERY = 3600.0  # seconds


class Writer:
    """Saves what the queue holds."""

    def __init__(
        self,
        env: Environment,
        queue: WriteQueue,
        options: StoreOptions,
        on_trouble: Callable[[StoreError], None],
        metrics: Metrics,
    ) -> None:
        """Start the thread.

        Args:
            env: Where to write; nobody else does.
            queue: What to write.
            options: How.
            on_trouble: Told once per spell of trouble, on the writer thread.
            metrics: Observes commits.
        """
        self._env = env
        self._queue = queue
        self._options = options
        self._on_trouble = on_trouble
        self._metrics = metrics
        self._pause = 0.0
        self._next_chores = time.monotonic() + CHORES_EVERY
        self._thread = threading.Thread(target=self._run, name="slowcat-store", daemon=True)
        self._thread.start()

    def join(self, timeout: float) -> bool:
        """Wait for the thread to end, after the queue was closed.

        Args:
            timeout: Seconds.

        Returns:
            True when it has ended.
        """
        if threading.current_thread() is self._thread:
            return False  # closed by a callback on this very thread
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def call(self, run: Callable[[], T]) -> T:
        """Do something on the writer thread, after everything that is queued, and wait for it.

        Args:
            run: What to do.

        Returns:
            What it returns; it raises what it raises.

        Raises:
            StoreError: The writer thread itself calls, and would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise StoreError("this waits for the writer thread, so it cannot be called on it")
        task = Task(run)
        self._queue.add(task)
        return cast(T, task.future.result())

    # ------------------------------------------------------------------- the loop

    def _run(self) -> None:
        stock()
        while (batch := self._queue.take(self._options.batch_limit, CHORES_EVERY)) is not None:
            try:
                self._work(batch)
            except Exception as error:  # a bug: say so, and go on saving
                log.exception("the store's writer failed")
                self._fail(batch, StoreError(f"the writer failed: {type(error).__name__}"))
            stock()
            self._do_chores()

    def _work(self, batch: list[Item]) -> None:
        if batch and isinstance(batch[0], Task):
            self._perform(batch[0])
        elif batch:
            self._save([item for item in batch if isinstance(item, Write)])

    def _perform(self, task: Task) -> None:
        try:
            outcome = task.run()
        except Exception as error:
            task.future.set_exception(as_store_error(error))
        else:
            task.future.set_result(outcome)

    def _do_chores(self) -> None:
        """Free the slots of readers that died."""
        if time.monotonic() >= self._next_chores:
            self._next_chores = time.monotonic() + CHORES_EVERY
            self._env.env.reader_check()

    # ------------------------------------------------------------------- saving

    def _save(self, batch: list[Write]) -> None:
        try:
            failed = self._commit(batch)
        except POISON as error:
            self._save_apart(batch, error)
        except (lmdb.Error, StoreError) as error:
            self._trouble(batch, error)
        else:
            self._pause = 0.0
            self._tell(batch, failed)

    def _commit(self, batch: list[Write]) -> dict[int, Exception]:
        """Write a batch in one transaction.

        Returns:
            By position in the batch: why a write is not in it.
        """
        start = time.perf_counter()
        failed = transact(self._env, lambda tx: self._stage_all(batch, tx))
        self._metrics.observe("store_commit", (time.perf_counter() - start) * 1e3)
        self._metrics.observe("store_batch", sum(write.weight for write in batch))
        self._metrics.observe("store_unsaved", self._queue.unsaved())
        return failed

    def _stage_all(self, batch: list[Write], tx: Transaction) -> dict[int, Exception]:
        failed: dict[int, Exception] = {}
        for position, write in enumerate(batch):
            try:
                self._stage(write, tx)
            except lmdb.Error:
                raise
            except Exception as error:
                failed[position] = error
        apply.trim("ledger", self._options.ledger_keep, tx)
        apply.trim("runs", self._options.runs_keep, tx)
        return failed

    def _stage(self, write: Write, tx: Transaction) -> None:
        mine = tx.over()
        write.stage(mine)
        tx.absorb(mine)

    def _tell(self, batch: list[Write], failed: dict[int, Exception]) -> None:
        for position, write in enumerate(batch):
            self._queue.settled(write)
            if position in failed:
                write.future.set_exception(as_store_error(failed[position]))
            else:
                write.future.set_result(None)

    def _fail(self, batch: list[Item], error: StoreError) -> None:
        for item in batch:
            if not item.future.done():
                self._queue.settled(item)
                item.future.set_exception(error)

    # ------------------------------------------------------------------- trouble

    def _save_apart(self, batch: list[Write], error: lmdb.Error) -> None:
        """Save one by one, so that the one that cannot be written fails alone."""
        if len(batch) == 1:
            return self._tell(batch, {0: error})
        for write in batch:
            self._save([write])

    def _trouble(self, batch: list[Write], error: Exception) -> None:
        """Keep everything in memory and try again later."""
        self._queue.put_back(batch)
        if not self._pause:
            self._report(as_store_error(error))
        self._pause = min(LONGEST_PAUSE, 2 * self._pause or FIRST_PAUSE)
        for task in self._queue.remove_tasks():
            task.future.set_exception(as_store_error(error))
        if self._queue.pause(self._pause):
            return self._last_try(error)
        if isinstance(error, BROKEN):
            self._env.reopen()

    def _last_try(self, error: Exception) -> None:
        """The store is being closed: what cannot be saved now never will be."""
        batch = self._queue.take(self._options.queue_limit, 0) or []
        try:
            writes = [item for item in batch if isinstance(item, Write)]
            self._tell(writes, self._commit(writes))
        except (lmdb.Error, StoreError):
            self._fail(batch, as_store_error(error))

    def _report(self, error: StoreError) -> None:
        log.error("the store cannot save: %s", error)
        self._metrics.count("store_trouble")
        try:
            self._on_trouble(error)
        except Exception:
            log.exception("on_trouble failed")


def closed() -> StoreClosedError:
    """Say that what waited is lost.

    Returns:
        The error.
    """
    return StoreClosedError("the store was closed before this could be saved")
