"""The queue of writes to be saved, their receipts, and the only thread that writes.

The voice path queues its events here: they are numbered and queued under one short lock, with no
I/O and no encoding. When the queue is full, derived writes are shed first; then what is said live
replaces the oldest event, and bulk writes are refused.

The thread takes writes from the queue, up to a transaction's worth at a time, commits, and only then
resolves their receipts (group commit). Writes that the disk refuses are retried for as long as the
store is open; a write that can never succeed fails alone, without the others of its transaction.

LMDB may call a commit failed that has reached the disk. What is written again then gives the same
rows, but for `runs` and `calls`: these list the idle step, or the call, twice.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

import lmdb
from loguru import logger
from msgspec.structs import replace

from slowcat_memory.errors import StoreClosedError, StoreError, StoreFullError, describe_error
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import Event, Turn
from slowcat_memory.store.bookkeeping import trim
from slowcat_memory.store.disk.environment import BROKEN, POISON, Environment, as_store_error
from slowcat_memory.store.disk.transaction import Transaction, transact
from slowcat_memory.store.options import StoreOptions

Change = Callable[[Transaction], None]
ChangeOfEvents = Callable[[tuple[Event, ...]], Change]

# ------------------------------------------------------------------- receipts


def new_future() -> "Future[None]":
    """Return a running future, which callers cannot cancel.

    A cancelled task that awaits it through ``asyncio.wrap_future`` leaves it alone, so the write
    continues and all other waiters are notified.
    """
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()
    return future


@dataclass(frozen=True, slots=True)
class Ack:
    """The receipt of an accepted write.

    Attributes:
        future: Done once the transaction is committed; raises the ``StoreError`` if it never will
            be. For asyncio: ``await asyncio.wrap_future(ack.future)``.
        event: The event with its id, None for other writes.
    """

    future: "Future[None]"
    event: Event | None = None

    @property
    def id(self) -> int:
        """The event's position in the log, 0 for other writes."""
        return self.event.id if self.event else 0

    def done(self) -> bool:
        return self.future.done()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is on disk, ``timeout`` seconds or without limit. Not on the event loop.

        Raises:
            StoreError: It could not be saved.
            TimeoutError: It is not saved yet.
        """
        self.future.result(timeout)


# ------------------------------------------------------------------- the queue


@dataclass(slots=True)
class Write:
    """Changes to be saved, possibly together with others in one transaction.

    Attributes:
        change: Takes the transaction; nothing, where it is a call between two transactions.
        weight: How many events it counts for.
        derived: It can be made again.
        is_call: ``future`` receives the result of ``change``.
        future: Receives the outcome.
    """

    change: Callable[..., Any]
    weight: int = 1
    derived: bool = True
    is_call: bool = False
    future: "Future[Any]" = field(default_factory=new_future)


class WriteQueue:
    """A bounded queue from any thread to the writer thread; it numbers events as they enter."""

    def __init__(self, limit: int, take_ids: Callable[[int], int]) -> None:
        """Start empty; ``take_ids`` returns the first of some ids that follow each other."""
        self._changed = threading.Condition()
        self._queue: deque[Write] = deque()
        self._limit = limit
        self._take_ids = take_ids
        self.last_id = 0  # of the last event that was accepted
        self._own = set[int]()  # ids of events, until ``pass_own``
        self.unsaved = 0  # how many events and derived writes are accepted but not on disk
        self._closed = False
        self.dropped = 0  # events that made room

    # ------------------------------------------------------------------- callers' side

    def add_events(
        self, events: Sequence[Event], change: ChangeOfEvents, *, quiet: bool = False
    ) -> list[Ack]:
        """Number events, in order, and queue them as one write; the receipts share one future.

        A negative ``reply_to`` counts back from the turn within this call. ``change`` makes the
        write of the numbered events. ``quiet`` is for what is said live: the writer sleeps until
        ``wake_writer``, or until anything else is queued, and when the queue is full the oldest
        event makes room.

        Raises:
            StoreFullError: Too many events wait, and nothing could make room.
            StoreClosedError: The store is closed.
        """
        with self._changed:
            self._admit_event(live=quiet)
            first = self._take_ids(len(events))
            numbered = tuple(_numbered(event, first + i) for i, event in enumerate(events))
            self.last_id = first + len(numbered) - 1
            self._own.update(event.id for event in numbered)
            write = Write(change(numbered), weight=len(numbered), derived=False)
            self._push(write, quiet=quiet)
        return [Ack(write.future, event) for event in numbered]

    def add(self, item: Write) -> Ack:
        """Queue a write other than events, or a call.

        Raises:
            StoreFullError: Too many events wait.
            StoreClosedError: The store is closed.
        """
        with self._changed:
            self._check_open()
            if item.derived and self.unsaved >= self._limit:
                raise _full(self.unsaved)
            self._push(item)
        return Ack(item.future)

    def wait_saved(self, timeout: float | None) -> bool:
        """Wait until everything queued before is on disk; return False on timeout."""
        try:
            self.add(Write(lambda tx: None, weight=0, derived=False)).wait(timeout)
        except (TimeoutError, StoreError):
            return False
        return True

    def _admit_event(self, *, live: bool) -> None:
        self._check_open()
        while self.unsaved >= self._limit:
            if (derived := next((w for w in self._queue if w.derived), None)) is None:
                break
            self._drop(derived)
        if live and self.unsaved >= self._limit:
            events = (change for change in self._queue if not (change.is_call or change.derived))
            if oldest := next((change for change in events if change.weight == 1), None):
                self.dropped += 1
                self._drop(oldest)
        if self.unsaved >= self._limit:
            raise _full(self.unsaved)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError("the store is closed")

    def _drop(self, item: Write) -> None:
        """Drop a queued item. Its future's callbacks run with the lock held."""
        self._queue.remove(item)
        self.unsaved -= item.weight
        item.future.set_exception(_full(self.unsaved))

    def _push(self, item: Write, *, quiet: bool = False) -> None:
        self._queue.append(item)
        self.unsaved += item.weight
        if not quiet:
            self._changed.notify_all()

    def wake_writer(self) -> None:
        if self._queue:
            with self._changed:
                self._changed.notify_all()

    def pass_own(self, upto: int) -> set[int]:
        """Return, and forget, the ids up to one that were given to events here."""
        with self._changed:
            passed = {id for id in self._own if id <= upto}
            self._own -= passed
        return passed

    # ------------------------------------------------------------------- writer's side

    def take_batch(self, limit: int, timeout: float | None) -> list[Write] | None:
        """Return the next items: one call alone, or writes up to a transaction's worth.

        Returns an empty list after ``timeout`` seconds without any; None when the queue is closed
        and empty.
        """
        with self._changed:
            if not self._queue and not self._closed:
                self._changed.wait(timeout)
            if not self._queue:
                return None if self._closed else []
            batch = [self._queue.popleft()]
            weight = batch[0].weight
            while (
                self._queue and weight < limit and not (batch[0].is_call or self._queue[0].is_call)
            ):
                batch.append(self._queue.popleft())
                weight += batch[-1].weight
            return batch

    def put_back(self, items: Sequence[Write]) -> None:
        """Return unsaved items to the front of the queue, in their order."""
        with self._changed:
            self._queue.extendleft(reversed(items))

    def mark_settled(self, item: Write) -> None:
        """Mark a taken item as saved or failed, so that it no longer counts as unsaved."""
        with self._changed:
            self.unsaved -= item.weight

    def pause(self, seconds: float) -> bool:
        """Wait before a retry; return True if the store is being closed.

        A close or a call ends the wait.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or any(item.is_call for item in self._queue), seconds
            )
            return self._closed

    def remove_calls(self) -> list[Write]:
        with self._changed:
            calls = [item for item in self._queue if item.is_call]
            self._queue = deque(item for item in self._queue if not item.is_call)
            return calls

    def close(self) -> None:
        """Reject new items; queued ones can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self) -> int:
        """Fail all queued items; return how many events are lost, those dropped before included."""
        with self._changed:
            items, self._queue = list(self._queue), deque()
            self.unsaved = 0
        for item in items:
            item.future.set_exception(
                StoreClosedError("the store was closed before this could be saved")
            )
        return self.dropped + sum(item.weight for item in items if not item.derived)


def _numbered(event: Event, position: int) -> Event:
    if isinstance(event, Turn) and event.reply_to < 0:
        return replace(event, id=position, reply_to=position + event.reply_to)
    return replace(event, id=position)


def _full(waiting: int) -> StoreFullError:
    return StoreFullError(
        f"{waiting} events wait to be saved", hint="Is the disk full, or very slow?"
    )


# ------------------------------------------------------------------- the thread


T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 3.0  # between retries while the disk refuses
LOOK_S = 0.25  # between two looks at other processes, while nothing is written
READER_CHECK_EVERY_S = 60.0


class ImpossibleError(Exception):
    """A write can never succeed; the cause says why."""


@dataclass(eq=False, repr=False)
class Writer:
    """Saves the queued writes, on its thread; no other one of this process may write to ``env``.

    ``on_trouble`` is called on it, once each time that the disk begins to refuse, ``on_back`` once
    it accepts again, and ``look_around`` at least every ``LOOK_S`` seconds.
    """

    env: Environment
    queue: WriteQueue
    options: StoreOptions
    on_trouble: Callable[[StoreError], None]
    on_back: Callable[[], None]
    metrics: Metrics
    look_around: Callable[[], None]

    def __post_init__(self) -> None:
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
        call = Write(run, weight=0, derived=False, is_call=True)
        self.queue.add(call)
        return cast(T, call.future.result())

    def _run(self) -> None:
        while (batch := self.queue.take_batch(self.options.batch_limit, LOOK_S)) is not None:
            try:
                if batch and batch[0].is_call:
                    self._perform(batch[0])
                elif batch:
                    self._save(batch)
            except Exception as error:  # a bug: log it, and continue saving
                why = describe_error(error)
                logger.error("the store's writer failed: {}", why)
                self._settle(batch, StoreError(f"the writer failed: {why}"))
            with suppress(lmdb.Error, OSError, StoreError):  # it is seen when something is written
                self.look_around()
                if time.monotonic() >= self._next_reader_check:
                    self._next_reader_check = time.monotonic() + READER_CHECK_EVERY_S
                    self.env.env.reader_check()

    def _perform(self, call: Write) -> None:
        try:
            outcome = call.change()
        except Exception as error:
            call.future.set_exception(as_store_error(error))
        else:
            call.future.set_result(outcome)

    def _save(self, batch: list[Write]) -> None:
        try:
            self._commit(batch)
        except (lmdb.Error, StoreError) as error:
            self._retry_later([write for write in batch if not write.future.done()], error)
        else:
            self._end_trouble()

    def _commit(self, batch: list[Write]) -> None:
        """Write a batch in one transaction; each alone where one can never succeed."""
        start = time.perf_counter()
        try:
            transact(self.env, lambda tx: self._apply_all(batch, tx))
        except (ImpossibleError, *POISON) as error:
            if len(batch) == 1:
                return self._settle(batch, error.__cause__ or error)
            for write in batch:
                self._commit([write])
            return None
        refused: StoreError | None = None
        try:
            self.env.check_in_place()
        except StoreError as error:  # it was replaced meanwhile: the batch is in the former file
            refused = error
        self.metrics.observe("store_commit", (time.perf_counter() - start) * 1e3)
        self.metrics.observe("store_batch", sum(write.weight for write in batch))
        self.metrics.observe("store_unsaved", self.queue.unsaved)
        self._settle(batch, refused)

    def _apply_all(self, batch: list[Write], tx: Transaction) -> None:
        for write in batch:
            try:
                write.change(tx)
            except lmdb.Error:
                raise
            except Exception as error:
                raise ImpossibleError from error
        trim("ledger", self.options.ledger_keep, tx)
        trim("runs", self.options.runs_keep, tx)
        trim("calls", self.options.ledger_keep, tx)

    def _settle(self, batch: Sequence[Write], error: BaseException | None = None) -> None:
        for item in batch:
            if item.future.done():
                continue
            self.queue.mark_settled(item)
            if isinstance(error, Exception):
                item.future.set_exception(as_store_error(error))
            else:
                item.future.set_result(None)

    def _retry_later(self, batch: list[Write], error: Exception) -> None:
        """Keep everything in memory and retry after a pause."""
        self.queue.put_back(batch)
        if not self._pause:
            self._report(as_store_error(error))
        self._pause = min(LONGEST_PAUSE_S, 2 * self._pause or FIRST_PAUSE_S)
        for call in self.queue.remove_calls():
            call.future.set_exception(as_store_error(error))
        if self.queue.pause(self._pause):  # it is being closed: save everything now, or fail it
            rest = self.queue.take_batch(self.options.queue_limit, 0) or []
            try:
                self._commit([item for item in rest if not item.is_call])
            except (lmdb.Error, StoreError):
                self._settle(rest, error)
        elif isinstance(error, BROKEN):
            self.env.reopen()

    def _report(self, error: StoreError) -> None:
        logger.error("the store cannot save: {}", describe_error(error))
        self.metrics.count("store_trouble")
        _tell(partial(self.on_trouble, error))

    def _end_trouble(self) -> None:
        if self._pause:
            self._pause = 0.0
            logger.info("the store can save again")
            _tell(self.on_back)


def _tell(listener: Callable[[], object]) -> None:
    try:
        listener()
    except Exception as failure:
        logger.error("a listener of the store failed: {}", describe_error(failure))
