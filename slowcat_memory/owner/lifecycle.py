"""Opens the memory of a process in the background, and tries again until it can be opened.

Where the store cannot be opened (its disk is full, read-only or not mounted, its file is damaged),
an engine that only reads serves recall, what is said waits in memory, and a thread tries again with
pauses that grow to ``LONGEST_PAUSE_S``. A disk that refuses later is the matter of the store's
writer, which keeps its own queue.
"""

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from loguru import logger

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.availability import Availability
from slowcat_memory.errors import (
    SlowcatError,
    StoreBusyError,
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreUnsafeError,
    describe_error,
)
from slowcat_memory.metrics import Metrics
from slowcat_memory.owner.waiting import Entry, ProvisionalAck, Waiting
from slowcat_memory.records import Cursor, Event
from slowcat_memory.store import Ack, check_writable, data_file, disk_error

KEPT = "Until then what is said is kept in memory, and saved as soon as that is possible"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 3.0  # between tries to open the store
FULL_PAUSE_S = 0.25  # between tries while too much waits to be saved
SLOW_S = 20.0  # how long the first try may take before that is reported
CLOSE_S, LAST_TRY_S = 2.0, 10.0  # how long closing waits for a try; with words that wait

_closed_in_child: "weakref.WeakSet[Lifecycle]" = weakref.WeakSet()


class Lifecycle:
    """Opens an engine, and takes what is said until then. Safe to use from any thread.

    Attributes:
        engine: The engine; None until it is open and has what waited.
        reader: An engine that only reads, while the other cannot be had.
        waiting: What was said meanwhile.
        last_error: Why the memory could not be opened; None if it always could.
    """

    def __init__(
        self,
        config: Config,
        availability: Availability,
        metrics: Metrics,
        *,
        open_engine: Callable[[], MemoryEngine],
        open_reader: Callable[[], MemoryEngine] | None,
        on_ready: Callable[[MemoryEngine], None],
        on_abandoned: Callable[[int], object] | None = None,
    ) -> None:
        """Open nothing before ``start``.

        Args:
            open_engine: Opens the engine; it is released at the end.
            open_reader: Opens an engine that only reads; it is closed at the end. None for none.
            on_ready: Called with the engine once it is in use.
            on_abandoned: Called with the number of events that could not be saved before it was
                closed; None logs that they are lost.
        """
        self.engine: MemoryEngine | None = None
        self.reader: MemoryEngine | None = None
        self.waiting = Waiting(config.store.queue_limit)
        self.last_error: SlowcatError | None = None
        self._config, self._availability, self._metrics = config, availability, metrics
        self._open_engine, self._open_reader = open_engine, open_reader
        self._on_ready, self._on_abandoned = on_ready, on_abandoned or self._log_lost
        self._order = threading.Lock()  # of appends; never held long
        self._trying, self._starting = threading.Lock(), threading.Lock()
        self._tried, self._closing = threading.Event(), threading.Event()
        self._closed, self._ending = threading.Event(), threading.RLock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._damaged: object = None  # identity of a file that could not be recovered
        self._gives_up = False
        _closed_in_child.add(self)

    # ---------------------------------------------------------------- life

    def start(self, wait_s: float) -> None:
        """Begin to open it, and wait for the first try, ``wait_s`` seconds at most.

        A try that takes longer than ``SLOW_S`` (a huge store is checked, or a file system hangs) is
        reported as a trouble.
        """
        with self._starting:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="slowcat-reopen", daemon=True
                )
                self._thread.start()
        self._tried.wait(wait_s)

    def _run(self) -> None:
        slow = threading.Timer(SLOW_S, self._report_slow)
        slow.daemon = True
        slow.start()
        try:
            self._keep_open()
        finally:
            slow.cancel()
            if self._closed.is_set():
                self._end()

    def _report_slow(self) -> None:
        if not self._tried.is_set():
            folder = self._config.folder
            self._availability.fail(StoreError(f"{folder} is still being opened", hint=KEPT))

    def _keep_open(self) -> None:
        pause = FIRST_PAUSE_S
        while not self._closing.is_set():
            self._wake.clear()
            if self._gives_up and (engine := self._take_engine()) is not None:
                engine.release()
            self._gives_up = False
            if self.attempt():
                pause = FIRST_PAUSE_S
                if not self._gives_up:
                    self._wake.wait()
            else:
                self._wake.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def give_up(self) -> None:
        """Close the engine soon, and try again to open it. Any thread; returns at once."""
        self._gives_up = True
        self._wake.set()

    def attempt(self) -> bool:
        """Try to open the engine; return whether it is open. Blocks, for seconds at most."""
        with self._trying:
            if self.engine is None and not self._is_pointless():
                try:
                    self._open()
                except Exception as error:  # whatever it is: the agent goes on, and it is retried
                    self._fail(error)
        self._tried.set()
        return self.engine is not None

    def _open(self) -> None:
        if self.reader is not None:  # which must be closed first, so not in vain
            check_writable(self._config.folder, self._config.store)
            self._close_reader()
        engine = self._open_engine()
        try:
            self._hand_over(engine)
            self._on_ready(engine)
        except BaseException:
            self._take_engine()
            engine.release()
            raise
        if engine.availability.trouble is None:
            self._availability.recover()
        _report_damage(engine, self._availability)

    def _take_engine(self) -> MemoryEngine | None:
        with self._order:
            engine, self.engine = self.engine, None
        return engine

    # ---------------------------------------------------------------- trouble

    def _is_pointless(self) -> bool:
        """Return whether the store's file is still the one that could not be recovered."""
        return self._damaged is not None and self._damaged == _identity(self._config.folder)

    def _fail(self, error: Exception) -> None:
        trouble = self.last_error = _trouble_of(error, self._config.folder).again()
        if isinstance(trouble, StoreDamagedError):
            self._damaged = _identity(self._config.folder)
        self._metrics.count("store_open_failures")
        self._availability.fail(trouble)
        if self._open_reader and self.reader is None and not self._closing.is_set():
            with suppress(Exception):  # there is nothing to read
                self.reader = self._open_reader()

    def no_engine(self) -> StoreError:
        """Return the error of a method that needs the memory while there is none."""
        if self.waiting.closed is not None:
            return self.waiting.closed.again()
        if (trouble := self._availability.trouble) is None:
            return StoreError("the memory is still being opened", hint="Try again in a moment")
        return StoreError(f"the memory is not available: {trouble.message}", hint=trouble.hint)

    def _close_reader(self) -> None:
        reader, self.reader = self.reader, None
        if reader is not None:
            reader.close()

    # ---------------------------------------------------------------- the end

    def close(self) -> None:
        """Save what waits if that can be done now, and release the engine; idempotent. Blocks."""
        self._closing.set()
        self._wake.set()
        if self._thread not in (None, threading.current_thread()):
            # It may be in the middle of a recovery.
            self._thread.join(LAST_TRY_S if len(self.waiting) else CLOSE_S)
        if len(self.waiting) and not self._trying.locked():
            self.attempt()
        if lost := self.waiting.abandon(StoreClosedError("the memory was closed before this")):
            self._on_abandoned(lost)
        self._closed.set()
        self._end()

    def _log_lost(self, lost: int) -> None:
        why = self._availability.trouble
        logger.error("{} events were not saved before the memory was closed: {}", lost, why)

    def _end(self) -> None:
        """Let go of everything; idempotent. Also by the thread, where it was opening meanwhile."""
        with self._ending:
            self._close_reader()
            if (engine := self._take_engine()) is not None:
                engine.release()

    def close_after_fork(self) -> None:
        """Refuse every use in a forked child; what is open is the parent's, and is not closed."""
        self._parents = self.engine, self.reader  # nor freed
        self.engine = self.reader = self._thread = None
        self._order, self._trying = threading.Lock(), threading.Lock()
        self._starting, self._ending = threading.Lock(), threading.RLock()
        error = "the memory was opened before a fork"
        self.waiting.close_after_fork(StoreClosedError(error, hint="Open it in this process"))
        self._closing.set()

    # ---------------------------------------------------------------- events

    def append(self, event: Event) -> Ack:
        """Append an event, or queue it. Neither blocks nor raises because nothing is open."""
        if (engine := self.engine) is not None:
            try:
                return self._receipt(engine.append(self.waiting.numbers.logged_event(event)))
            except StoreClosedError:
                if self.engine is engine:
                    raise  # it was not taken away just now
        with self._order:
            if self.engine is None:
                (ack,) = self.waiting.add((event,))
                self._read_meanwhile([ack])
                return ack
        return self.append(event)

    def append_all(self, events: Sequence[Event], cursor: Cursor | None) -> list[Ack]:
        """Append in one transaction; see ``append``.

        Raises:
            StoreFullError: Too much waits.
        """
        if (engine := self.engine) is not None:
            try:
                logged = list(map(self.waiting.numbers.logged_event, events))
                return list(map(self._receipt, engine.append_all(logged, cursor)))
            except StoreClosedError:
                if self.engine is engine:
                    raise
        with self._order:
            if self.engine is None:
                acks = self.waiting.add(events, cursor, bulk=True)
                self._read_meanwhile(acks)
                return acks
        return self.append_all(events, cursor)

    def _read_meanwhile(self, acks: Sequence[Ack]) -> None:
        if (reader := self.reader) is not None:
            with suppress(Exception):  # it is being closed, or its index cannot be loaded
                reader.wiring.indexer.add(acks)

    def _receipt(self, ack: Ack) -> Ack:
        """Return a receipt that can name a turn which waited; see ``Ack.logged``."""
        if not self.waiting:
            return ack
        return ProvisionalAck(ack.future, ack.event, numbers=self.waiting.numbers)

    def _hand_over(self, engine: MemoryEngine) -> None:
        """Append what waits, in order; what is said from now on goes to the engine.

        Raises:
            StoreFullError: It takes no more.
            StoreClosedError: It was closed meanwhile.
        """
        while True:
            with self._order:
                pending = self.waiting.pending()
                if not pending:
                    self.engine = engine
                    return
            for entry in pending:
                self._append_entry(engine, entry)

    def _append_entry(self, engine: MemoryEngine, entry: Entry) -> None:
        """Append an entry; one that is impossible fails alone."""
        events = list(map(self.waiting.numbers.logged_event, entry.events))
        while True:
            try:
                return self.waiting.hand_over(entry, engine.append_all(events, entry.cursor)[0])
            except StoreFullError:
                if self._closing.wait(FULL_PAUSE_S):
                    raise
            except StoreClosedError:
                raise
            except Exception as error:
                return self.waiting.fail(entry, error)


def _report_damage(engine: MemoryEngine, availability: Availability) -> None:
    """Report that a damaged store was moved aside: the agent may remember less than before."""
    opened = engine.opened
    if opened.trouble:
        hint = (
            f"{opened.restored_from} took its place"
            if opened.restored_from
            else f"{opened.salvaged} events were recovered"
        )
        availability.report(StoreDamagedError(opened.trouble, hint=hint))


def _trouble_of(error: Exception, folder: Path) -> SlowcatError:
    """Return the error of ours that says why a store cannot be opened, and what to do."""
    if isinstance(error, OSError):
        error = disk_error(folder, error)
    if isinstance(error, StoreBusyError | StoreUnsafeError | StoreFullError):
        return type(error)(error.message, hint=f"{error.hint.rstrip('.')}. {KEPT}")
    if isinstance(error, SlowcatError):
        return error
    return StoreError(f"{folder} cannot be opened: {describe_error(error)}", hint=KEPT)


def _identity(folder: Path) -> object:
    try:
        found = data_file(folder).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _close_all_after_fork() -> None:
    for lifecycle in list(_closed_in_child):
        lifecycle.close_after_fork()


os.register_at_fork(after_in_child=_close_all_after_fork)
