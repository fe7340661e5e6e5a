"""The memory of a process that talks: an engine that is opened in the background.

Where the store cannot be opened (its disk is full, read-only or not mounted, its file is damaged),
an engine that only reads serves recall, what is said waits in memory, and a thread tries again with
pauses that grow to ``LONGEST_PAUSE_S``. A disk that refuses later is the matter of the store's
writer, which keeps its own queue.

The methods of a turn (``append``, ``recall``, ``prefetch``, ``note_recall``) never raise
because nothing is open. Every other one is the engine's, and raises ``StoreError`` until there is
one; those that read are the reader's meanwhile.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.clock import Clock, SystemClock
from slowcat_memory.config import Config, time_zone, tokenizer
from slowcat_memory.config.config import retrieval_options
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.core.time.calendar import check_time
from slowcat_memory.engine.availability import Availability, Shared, fresh
from slowcat_memory.engine.engine import MemoryEngine, acquire
from slowcat_memory.engine.turns import RecallArguments, prefetch_of
from slowcat_memory.engine.waiting import Entry, ProvisionalAck, Waiting, is_provisional
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
from slowcat_memory.records import Cursor, Event, Turn
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.runtime.recall.prefetch import Prefetch
from slowcat_memory.runtime.recall.query import BlockWriter, Query, Recollection
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.store import Ack, check_writable, data_file, disk_error

KEPT = "Until then what is said is kept in memory, and saved as soon as that is possible"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 3.0  # between tries to open the store
FULL_PAUSE_S = 0.25  # between tries while too much waits to be saved
SLOW_S = 20.0  # how long the first try may take before that is reported
CLOSE_S, LAST_TRY_S = 2.0, 10.0  # how long closing waits for a try; with words that wait
READS = frozenset(("embedding", "opened", "reader", "search", "snapshot", "catalogue", "upkeep"))
"""What an engine which only reads can do as well."""
PARTS = ("icebreakers", "idle", "upkeep")


class BackgroundEngine:
    """Opens an engine, and takes what is said until then. Safe to use from any thread.

    Attributes:
        engine: The engine; None until it is open and has what waited.
        waiting: What was said meanwhile.
        availability: Reports that the memory cannot be opened or saved, and that it can be again.
        last_error: Why the memory could not be used; None if it always could.
    """

    def __init__(self, config: Config) -> None:
        """Set the configuration; nothing is opened before ``start``.

        Raises:
            ConfigError: The time zone does not exist.
        """
        self.config, self.zone, self.metrics = config, time_zone(config), Metrics()
        self.availability = Availability()
        self.clock: Clock = SystemClock()
        self.engine: MemoryEngine | None = None
        self.waiting = Waiting(config.store.queue_limit)
        self.last_error: SlowcatError | None = None
        self._pid = os.getpid()
        self._reader: MemoryEngine | None = None  # only reads, while the engine cannot be had
        self.blocks = BlockWriter(self.zone, tokenizer(config), retrieval_options(config))
        self._scopes: dict[str, None] = {}  # to prepare, in order
        self._busy = set[str]()  # running activities
        self._subscribers: dict[object, Callable[[MemoryEngine], Callable[[], None]]] = {}
        self._ends: dict[object, Callable[[], None]] = {}  # of their subscriptions
        self._order = threading.Lock()  # of appends and subscriptions; never held long
        self._trying = threading.Lock()
        self._tried, self._wake = threading.Event(), threading.Event()
        self._closing, self._closed = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._damaged: object = None  # identity of a file that could not be recovered
        self._gives_up = False

    # ---------------------------------------------------------------- life

    @classmethod
    def acquire(cls, config: Config) -> "BackgroundEngine":
        """Return the memory of a store, shared by the processors of this process.

        Of several callers the configuration of the first counts. Call ``close`` when done.
        """
        return _shared.acquire(
            config.folder,
            lambda: cls(config),
            lambda memory: memory.engine is not None and memory.engine.closed,
        )

    def close(self) -> None:
        """Close the memory, unless other users in this process share it."""
        _shared.release(self.config.folder, self, self.shut)

    def start(self, wait_s: float) -> None:
        """Begin to open it, and wait for the first try, ``wait_s`` seconds at most.

        A try that takes longer than ``SLOW_S`` (a huge store is checked, or a file system hangs) is
        reported as a trouble.
        """
        with self._order:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="slowcat-reopen", daemon=True
                )
                self._thread.start()
        self._tried.wait(wait_s)

    @property
    def is_ready(self) -> bool:
        return self.engine is not None

    def _run(self) -> None:
        slow = threading.Timer(SLOW_S, self._report_slow)
        slow.daemon = True
        slow.start()
        pause = FIRST_PAUSE_S
        while not self._closing.is_set():
            self._wake.clear()
            if self._gives_up:
                self._gives_up = False
                self._let_go()
            if self.attempt():
                pause = FIRST_PAUSE_S
                self._wake.wait()
            else:
                self._wake.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
        slow.cancel()
        if self._closed.is_set():  # it was opening meanwhile
            self._let_go()

    def _report_slow(self) -> None:
        if not self._tried.is_set():
            folder = self.config.folder
            self.availability.fail(StoreError(f"{folder} is still being opened", hint=KEPT))

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

    def _is_pointless(self) -> bool:
        """Return whether the store's file is still the one that could not be recovered."""
        return self._damaged is not None and self._damaged == _identity(self.config.folder)

    def _open(self) -> None:
        if self._reader is not None:  # which must be closed first, so not in vain
            check_writable(self.config.folder, self.config.store)
            self._let_go()
        engine = self._open_engine()
        try:
            self._hand_over(engine)
            self._use(engine)
        except BaseException:
            self.engine = None
            engine.close()
            raise
        if engine.availability.trouble is None:
            self.availability.recover()
        _report_damage(engine, self.availability)

    def _open_engine(self) -> MemoryEngine:
        """Open the engine; its scopes are found by words, and what is over is known, from now on."""
        engine = acquire(self.config, metrics=self.metrics)
        self._load_scopes(engine)
        return engine

    def _load_scopes(self, engine: MemoryEngine) -> None:
        for scope in tuple(self._scopes):
            with suppress(Exception):  # what is wrong is reported when it is prepared
                engine.wiring.users.load(scope)
                engine.wiring.namespaces.get(scope).finish_opening()

    def _open_reader(self) -> MemoryEngine | None:
        reader = MemoryEngine(self.config, readonly=True, clock=self.clock, metrics=self.metrics)
        for scope in tuple(self._scopes):
            self._prepare_scope(reader, scope)
        return reader

    def _use(self, engine: MemoryEngine) -> None:
        engine.availability.subscribe(self.availability.fail, self.availability.recover)
        for scope in tuple(self._scopes):
            self._prepare_scope(engine, scope)

    def _fail(self, error: Exception) -> None:
        trouble = self.last_error = fresh(_trouble_of(error, self.config.folder))
        if isinstance(trouble, StoreDamagedError):
            self._damaged = _identity(self.config.folder)
        self.metrics.count("store_open_failures")
        self.availability.fail(trouble)
        if self._reader is None and not self._closing.is_set():
            with suppress(Exception):  # there is nothing to read
                self._reader = self._open_reader()

    def shut(self) -> None:
        """Save what waits if that can be done now, and close the engine; idempotent. Blocks.

        Where it cannot be saved, one line says how much is lost.
        """
        if self._pid != os.getpid():  # what is open is the parent's
            return
        self._closing.set()
        self._wake.set()
        if self._thread not in (None, threading.current_thread()):
            # It may be in the middle of a recovery.
            self._thread.join(LAST_TRY_S if len(self.waiting) else CLOSE_S)
        if len(self.waiting) and not self._trying.locked():
            self.attempt()
        if lost := self.waiting.abandon(StoreClosedError("the memory was closed before this")):
            self._report_lost(lost)
        self._closed.set()
        self._let_go()

    def _report_lost(self, lost: int) -> None:
        why = self.availability.trouble
        logger.error("{} events were not saved before the memory was closed: {}", lost, why)

    def _let_go(self) -> None:
        with self._order:
            engine, self.engine = self.engine, None
            reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
        if engine is not None:
            engine.close()

    # ---------------------------------------------------------------- events

    def append(self, *events: Event, cursor: Cursor | None = None) -> Ack:
        """Append events, or queue them. Neither blocks nor raises because nothing is open.

        Raises:
            StoreFullError: Too much waits for more than one event.
        """
        self._check_process()
        for event in events:
            check_scope(event.scope)
            check_time(event.at)
        while True:
            if (engine := self.engine) is not None:
                try:
                    return self._log(engine, events, cursor)
                except StoreClosedError:
                    if self.engine is engine:
                        raise  # it was not given up just now
            with self._order:
                if self.engine is None:
                    acks = self.waiting.add(events, cursor)
                    break
        if (reader := self._reader) is not None:
            with suppress(Exception):  # it is being closed, or its index cannot be loaded
                reader.wiring.indexer.add(acks)
                reader.wiring.indexer.release()
        return acks[-1]

    def _log(self, engine: MemoryEngine, events: Sequence[Event], cursor: Cursor | None) -> Ack:
        if not self.waiting.used:
            return engine.append(*events, cursor=cursor)
        numbers = self.waiting.numbers
        ack = engine.append(*map(numbers.logged_event, events), cursor=cursor)
        # It can name turns that waited; see ``Ack.logged``.
        return ProvisionalAck(ack.future, ack.event, numbers=numbers)

    def _hand_over(self, engine: MemoryEngine) -> None:
        """Append what waits, in order; what is said or asked from now on goes to the engine.

        Raises:
            StoreFullError: It takes no more.
            StoreClosedError: It was closed meanwhile.
        """
        while True:
            with self._order:
                entry = self.waiting.first()
                if entry is None:
                    self.engine = engine
                    for name in self._busy:
                        engine.set_activity(name, True)
                    self._ends = {key: begin(engine) for key, begin in self._subscribers.items()}
                    return
            self._append_entry(engine, entry)

    def _append_entry(self, engine: MemoryEngine, entry: Entry) -> None:
        """Append an entry; one that is impossible fails alone."""
        events = list(map(self.waiting.numbers.logged_event, entry.events))
        while True:
            try:
                return self.waiting.hand_over(entry, engine.append(*events, cursor=entry.cursor))
            except StoreFullError:
                if self._closing.wait(FULL_PAUSE_S):
                    raise
            except StoreClosedError:
                raise
            except Exception as error:
                return self.waiting.fail(entry, error)

    # ---------------------------------------------------------------- turns

    @property
    def _reading(self) -> MemoryEngine | None:
        return (self.engine or self._reader) if self._pid == os.getpid() else None

    async def recall(
        self,
        text: str,
        scope: str,
        *,
        prefetch: Prefetch | None = None,
        **known: Unpack[RecallArguments],
    ) -> Recollection:
        if (engine := self._reading) is None:
            return Recollection()
        if self.waiting.used:
            known = self.waiting.numbers.logged(known)
        try:
            return await engine.recall(text, scope, prefetch=prefetch, **known)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
        except Exception as error:
            if self.engine is engine:
                raise
            logger.debug("memory: no recall while the store is opened: {}", describe_error(error))
        return Recollection()

    def prefetch(self, ask: Callable[[str], Query | None]) -> Prefetch:
        def retrieval() -> Retrieval | None:
            return engine.wiring.retrieval if (engine := self._reading) else None

        def logged(text: str) -> Query | None:
            query = ask(text)
            return self.waiting.numbers.logged(query) if self.waiting.used else query

        return prefetch_of(self.config, logged, retrieval)

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        id_ = self.waiting.numbers.logged(turn.id)
        if (engine := self.engine) is not None and not is_provisional(id_):
            with suppress(StoreClosedError):
                engine.note_recall(replace(turn, id=id_), found, packed)

    def session_context(self, scope: str, *, local: bool = False) -> str:
        engine = self._reading
        return engine.session_context(scope, local=local) if engine else ""

    def prepare(self, scope: str) -> None:
        self._scopes[scope] = None
        if engine := self._reading:
            self._prepare_scope(engine, scope)

    def _prepare_scope(self, engine: MemoryEngine, scope: str) -> None:
        """Load a scope; what cannot be loaded costs recall, not the memory."""
        try:
            engine.prepare(scope)
        except StoreClosedError:  # a reader gives way to the engine, which prepares it too
            return
        except Exception as error:
            why = describe_error(error)
            trouble = StoreError(
                f"the memories of {scope} cannot be recalled: {why}",
                hint="What is said is still kept; slowcat-memory doctor says what is wrong",
            )
            self.availability.report(trouble)

    # ---------------------------------------------------------------- the rest

    def __getattr__(self, name: str) -> Any:
        """Return the engine's method or attribute.

        Raises:
            StoreError: There is no engine, nor a reader that could do as well.
        """
        if name.startswith("_") or not (hasattr(MemoryEngine, name) or name in PARTS):
            raise AttributeError(name)
        found = getattr(self._target(name), name)
        if not (self.waiting.used and callable(found)):
            return found
        logged = self.waiting.numbers.logged
        return lambda *args, **kwargs: found(*logged(args), **logged(kwargs))

    def _target(self, name: str) -> MemoryEngine:
        self._check_process()
        target = self.engine or (self._reader if name in READS else None)
        if target is not None:
            return target
        if self.waiting.closed is not None:
            raise fresh(self.waiting.closed)
        if (trouble := self.availability.trouble) is None:
            raise StoreError("the memory is still being opened", hint="Try again in a moment")
        raise StoreError(f"the memory is not available: {trouble.message}", hint=trouble.hint)

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            message = "the memory was opened before a fork"
            raise StoreClosedError(message, hint="Open it in this process")

    def set_activity(self, name: str, busy: bool) -> None:
        with self._order:
            if busy:
                self._busy.add(name)
            elif name.endswith("/"):
                self._busy = {one for one in self._busy if not one.startswith(name)}
            else:
                self._busy.discard(name)
            if self.engine is not None:
                self.engine.set_activity(name, busy)

    def subscribe(self, **callbacks: Callable[..., Any] | None) -> Callable[[], None]:
        key = object()
        with self._order:
            self._subscribers[key] = lambda engine: engine.subscribe(**callbacks)
            if self.engine is not None:
                self._ends[key] = self.engine.subscribe(**callbacks)
        return partial(self._unsubscribe, key)

    def _unsubscribe(self, key: object) -> None:
        with self._order:
            self._subscribers.pop(key, None)
            if end := self._ends.pop(key, None):
                end()

    def flush(self, timeout_s: float | None = None, *, indexed: bool = False) -> bool:
        until = None if timeout_s is None else time.monotonic() + timeout_s
        if not self.waiting.wait_empty(timeout_s) or (engine := self.engine) is None:
            return not len(self.waiting)
        rest = None if until is None else max(0.0, until - time.monotonic())
        return engine.flush(rest, indexed=indexed)


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


_shared: Shared[BackgroundEngine] = Shared()
