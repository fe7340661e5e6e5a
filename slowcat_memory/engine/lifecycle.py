"""The life cycle of an engine: opening, waiting for its store, ready, closed.

::

    opening ───► ready ───► closed
       │           ▲           ▲
       └► waiting ─┴───────────┘

A thread opens the engine. While that fails (another process holds the store, its disk is full,
read-only or not mounted, its file is damaged) what is said waits in a bounded ``Backlog``; where
the store can be read, an engine that only reads serves recall, and finds what waits. The thread
tries again, with pauses that grow to ``LONGEST_PAUSE_S``; once it succeeds, it saves what waits, in
order. A disk that refuses later is the matter of the store's writer, which keeps its own queue.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from loguru import logger

from slowcat_memory.config import Config
from slowcat_memory.engine.availability import KEPT, Availability, trouble_of
from slowcat_memory.engine.backlog import Backlog
from slowcat_memory.engine.engine import MemoryEngine
from slowcat_memory.errors import (
    SlowcatError,
    StoreClosedError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
)
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import Event
from slowcat_memory.store import Ack, check_writable

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 3.0  # between tries to open the store
SLOW_S = 20.0  # how long the first try may take before that is reported
CLOSE_S, LAST_TRY_S = 2.0, 10.0  # how long closing waits for a try; with words that wait
BATCH = 256  # events handed to the engine at a time


class EngineLifecycle:
    """Opens one engine, and keeps what is said until then. Safe to use from any thread.

    Attributes:
        engine: The engine; None until it is open and has taken over what waited.
        reader: An engine that only reads, while the store cannot be opened for writing.
        backlog: What waits.
    """

    def __init__(
        self,
        config: Config,
        availability: Availability,
        metrics: Metrics,
        *,
        open_engine: Callable[[], MemoryEngine],
        open_reader: Callable[[], MemoryEngine],
        on_ready: Callable[[MemoryEngine], None],
    ) -> None:
        """Start in the state "opening"; nothing happens before ``start``.

        Args:
            open_engine: Opens the engine; it is released at the end.
            open_reader: Opens an engine that only reads; it is closed at the end.
            on_ready: Called with the engine before it takes over.
        """
        self.engine: MemoryEngine | None = None
        self.reader: MemoryEngine | None = None
        self.backlog = Backlog(config.store.queue_limit)
        self._config, self._availability, self._metrics = config, availability, metrics
        self._open_engine, self._open_reader, self._on_ready = open_engine, open_reader, on_ready
        self._lock = threading.Lock()  # of the hand-over from the backlog to the engine
        self._trying = threading.Lock()
        self._tried, self._closing = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._damaged: object = None  # identity of a file that could not be recovered

    # ---------------------------------------------------------------- life

    def start(self, wait_s: float) -> None:
        """Begin to open the engine, and wait for the first try, ``wait_s`` seconds at most.

        A try that takes longer than ``SLOW_S`` (a huge store is checked, or a file system hangs) is
        reported as a trouble.
        """
        with self._lock:
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
            self._try_until_ready()
        finally:
            slow.cancel()

    def _report_slow(self) -> None:
        if not self._tried.is_set():
            folder = self._config.folder
            self._availability.fail(StoreError(f"{folder} is still being opened", hint=KEPT))

    def _try_until_ready(self) -> None:
        pause = FIRST_PAUSE_S
        while not self.attempt() and not self._closing.wait(pause):
            pause = min(2 * pause, LONGEST_PAUSE_S)

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
            self._on_ready(engine)
            self._hand_over(engine)
        except BaseException:
            engine.release()
            raise
        if engine.availability.trouble is None:
            self._availability.recover()
        _report_damage(engine, self._availability)

    def _is_pointless(self) -> bool:
        """Return whether the store's file is still the one that could not be recovered."""
        return self._damaged is not None and self._damaged == _identity(self._config.folder)

    def _fail(self, error: Exception) -> None:
        trouble = trouble_of(error, self._config.folder)
        if isinstance(trouble, StoreDamagedError):
            self._damaged = _identity(self._config.folder)
        self._metrics.count("store_open_failures")
        self._availability.fail(trouble)
        if self.reader is None and not self._closing.is_set():
            with suppress(Exception):  # there is nothing to read
                self.reader = self._open_reader()

    def _close_reader(self) -> None:
        reader, self.reader = self.reader, None
        if reader is not None:
            reader.close()

    def close(self) -> None:
        """Save what waits if that can be done now, and release the engine; idempotent. Blocks."""
        self._closing.set()
        if self._thread is not None:  # which may be in the middle of a recovery
            self._thread.join(LAST_TRY_S if len(self.backlog) else CLOSE_S)
        if self.engine is None and len(self.backlog) and not self._trying.locked():
            self.attempt()
        self._close_reader()
        if lost := self.backlog.abandon(StoreClosedError("the memory was closed before this")):
            why = self._availability.trouble
            logger.error("{} events were not saved before the memory was closed: {}", lost, why)
        if self.engine is not None:
            self.engine.release()

    # ---------------------------------------------------------------- what waits

    def append(self, event: Event, *, draft: bool) -> Ack:
        """Append to the engine, or queue until there is one. Neither blocks nor raises for it."""
        if self.engine is None:
            with self._lock:
                if self.engine is None:
                    return self._keep(event)
        return self.engine.append(self.backlog.logged_event(event), draft=draft)

    def _keep(self, event: Event) -> Ack:
        ack = self.backlog.add(event)
        if (reader := self.reader) is not None:
            with suppress(Exception):  # it is being closed, or its index cannot be loaded
                reader.wiring.indexer.add((ack,), draft=False)
        return ack

    def _hand_over(self, engine: MemoryEngine) -> None:
        """Append what waits to the engine, in order; what is said meanwhile comes after it."""
        while True:
            with self._lock:
                batch = self.backlog.take(BATCH)
                if not batch:
                    self.engine = engine
                    return
            try:
                acks = engine.append_all(self.backlog.to_log(batch), draft=True)
            except BaseException as error:
                self.backlog.put_back(batch)
                if not isinstance(error, StoreFullError) or self._closing.wait(FIRST_PAUSE_S):
                    raise
            else:
                self.backlog.record(batch, acks)


def _report_damage(engine: MemoryEngine, availability: Availability) -> None:
    """Report that a damaged store was moved aside: the agent may remember less than before."""
    opened = engine.opened
    found = getattr(opened, "trouble", "")
    if not found and opened.moved_aside:
        found = f"the store was damaged; its files are in {opened.moved_aside}"
    if found:
        hint = (
            f"{opened.restored_from} took its place"
            if opened.restored_from
            else f"{opened.salvaged} events were recovered"
        )
        availability.report(StoreDamagedError(found, hint=hint))


def _identity(folder: Path) -> object:
    try:
        found = (folder / "data.mdb").stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def unavailable(trouble: SlowcatError | None) -> StoreError:
    """Return the error of a method that needs the engine while there is none."""
    if trouble is None:
        return StoreError("the memory is still being opened", hint="Try again in a moment")
    return StoreError(f"the memory is not available: {trouble.message}", hint=trouble.hint)
