"""The only thread that writes.

It takes writes from the queue, up to a transaction's worth at a time, commits, and only then
resolves their receipts (group commit). Writes that the disk refuses are retried for as long as the
store is open; a write that can never succeed fails alone, without the others of its transaction.

LMDB may call a commit failed that has reached the disk. What is written again then gives the same
rows, but for `runs` and `calls`: these list the idle step, or the call, twice.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar, cast

import lmdb
from loguru import logger

from slowcat_memory.errors import StoreClosedError, StoreError, describe_error
from slowcat_memory.metrics import Metrics
from slowcat_memory.store.disk.environment import BROKEN, POISON, Environment, as_store_error
from slowcat_memory.store.disk.transaction import Transaction, transact
from slowcat_memory.store.options import StoreOptions
from slowcat_memory.store.rows.bookkeeping import trim
from slowcat_memory.store.writer.write_queue import Item, Write, WriteQueue, WriterCall

T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 3.0  # between retries while the disk refuses
LOOK_S = 0.25  # between two looks at other processes, while nothing is written
READER_CHECK_EVERY_S = 60.0


class Writer:
    """Saves the queued writes."""

    def __init__(
        self,
        env: Environment,
        queue: WriteQueue,
        options: StoreOptions,
        on_trouble: Callable[[StoreError], None],
        on_back: Callable[[], None],
        metrics: Metrics,
        look_around: Callable[[], None],
    ) -> None:
        """Start the thread; no other one of this process may write to ``env``.

        ``on_trouble`` is called on it, once each time that the disk begins to refuse, ``on_back``
        once it accepts again, and ``look_around`` at least every ``LOOK_S`` seconds.
        """
        self._look_around = look_around
        self._env = env
        self._queue = queue
        self._options = options
        self._on_trouble, self._on_back = on_trouble, on_back
        self._metrics = metrics
        self._pause = 0.0
        self._next_reader_check = time.monotonic() + READER_CHECK_EVERY_S
        self._thread = threading.Thread(target=self._run, name="slowcat-store", daemon=True)
        self._thread.start()

    def join(self, timeout: float) -> bool:
        """Wait for the thread to end, after the queue was closed; return whether it has."""
        if threading.current_thread() is self._thread:
            return False  # closed by a callback on this thread
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def call(self, run: Callable[[], T]) -> T:
        """Run a function on the writer thread, after everything queued, and return its result.

        Raises:
            StoreError: The writer thread itself calls, and would wait for itself.
        """
        if threading.current_thread() is self._thread:
            raise StoreError("this waits for the writer thread, so it cannot be called on it")
        call = WriterCall(run)
        self._queue.add(call)
        return cast(T, call.future.result())

    def _run(self) -> None:
        limit = self._options.batch_limit
        while (batch := self._queue.take_batch(limit, LOOK_S)) is not None:
            try:
                if batch and isinstance(batch[0], WriterCall):
                    self._perform(batch[0])
                elif batch:
                    self._save([item for item in batch if isinstance(item, Write)])
            except Exception as error:  # a bug: log it, and continue saving
                why = describe_error(error)
                logger.error("the store's writer failed: {}", why)
                self._fail(batch, StoreError(f"the writer failed: {why}"))
            with suppress(lmdb.Error, OSError, StoreError):  # it is seen when something is written
                self._look_around()
                self._check_readers()

    def _perform(self, call: WriterCall) -> None:
        try:
            outcome = call.run()
        except Exception as error:
            call.future.set_exception(as_store_error(error))
        else:
            call.future.set_result(outcome)

    def _check_readers(self) -> None:
        if time.monotonic() >= self._next_reader_check:
            self._next_reader_check = time.monotonic() + READER_CHECK_EVERY_S
            self._env.env.reader_check()

    def _save(self, batch: list[Write]) -> None:
        try:
            failed = self._commit(batch)
        except POISON as error:
            self._save_one_by_one(batch, error)
        except (lmdb.Error, StoreError) as error:
            self._retry_later(batch, error)
        else:
            self._settle(batch, failed)
            self._end_trouble()

    def _commit(self, batch: list[Write]) -> dict[int, Exception]:
        """Write a batch in one transaction; return the errors of failed writes by position."""
        start = time.perf_counter()
        failed = transact(self._env, lambda tx: self._apply_all(batch, tx))
        try:
            self._env.check_in_place()
        except StoreError as error:  # it was replaced meanwhile: the batch is in the former file
            failed = dict.fromkeys(range(len(batch)), error)
        self._metrics.observe("store_commit", (time.perf_counter() - start) * 1e3)
        self._metrics.observe("store_batch", sum(write.weight for write in batch))
        self._metrics.observe("store_unsaved", self._queue.unsaved())
        return failed

    def _apply_all(self, batch: list[Write], tx: Transaction) -> dict[int, Exception]:
        failed: dict[int, Exception] = {}
        for position, write in enumerate(batch):
            nested = tx.nested()
            try:
                write.change(nested)
            except lmdb.Error:
                raise
            except Exception as error:
                failed[position] = error
            else:
                tx.merge(nested)
        trim("ledger", self._options.ledger_keep, tx)
        trim("runs", self._options.runs_keep, tx)
        trim("calls", self._options.ledger_keep, tx)
        return failed

    def _settle(self, batch: list[Write], failed: dict[int, Exception]) -> None:
        for position, write in enumerate(batch):
            self._queue.mark_settled(write)
            if position in failed:
                write.future.set_exception(as_store_error(failed[position]))
            else:
                write.future.set_result(None)

    def _fail(self, batch: list[Item], error: StoreError) -> None:
        for item in batch:
            if not item.future.done():
                self._queue.mark_settled(item)
                item.future.set_exception(error)

    def _save_one_by_one(self, batch: list[Write], error: lmdb.Error) -> None:
        """Save each write alone, so that only the impossible one fails."""
        if len(batch) == 1:
            return self._settle(batch, {0: error})
        for write in batch:
            self._save([write])

    def _retry_later(self, batch: list[Write], error: Exception) -> None:
        """Keep everything in memory and retry after a pause."""
        self._queue.put_back(batch)
        if not self._pause:
            self._report(as_store_error(error))
        self._pause = min(LONGEST_PAUSE_S, 2 * self._pause or FIRST_PAUSE_S)
        for call in self._queue.remove_calls():
            call.future.set_exception(as_store_error(error))
        if self._queue.pause(self._pause):
            return self._try_last_time(error)
        if isinstance(error, BROKEN):
            self._env.reopen()

    def _try_last_time(self, error: Exception) -> None:
        """Save everything or fail it: the store is being closed."""
        batch = self._queue.take_batch(self._options.queue_limit, 0) or []
        try:
            writes = [item for item in batch if isinstance(item, Write)]
            self._settle(writes, self._commit(writes))
        except (lmdb.Error, StoreError):
            self._fail(batch, as_store_error(error))

    def _report(self, error: StoreError) -> None:
        logger.error("the store cannot save: {}", describe_error(error))
        self._metrics.count("store_trouble")
        _tell(partial(self._on_trouble, error))

    def _end_trouble(self) -> None:
        if not self._pause:
            return
        self._pause = 0.0
        logger.info("the store can save again")
        _tell(self._on_back)


def _tell(listener: Callable[[], object]) -> None:
    try:
        listener()
    except Exception as failure:
        logger.error("a listener of the store failed: {}", describe_error(failure))


def closed_error() -> StoreClosedError:
    return StoreClosedError("the store was closed before this could be saved")
