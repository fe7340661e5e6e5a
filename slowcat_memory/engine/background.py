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
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

from loguru import logger
from msgspec.structs import force_setattr, replace

from slowcat_memory.clock import SystemClock
from slowcat_memory.config import Config, time_zone, tokenizer
from slowcat_memory.config.config import retrieval_options
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine.availability import Availability, Callers
from slowcat_memory.engine.engine import MemoryEngine, check_events
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
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import Cursor, Event, Turn
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.runtime.recall.service import BlockWriter
from slowcat_memory.store import Ack, check_writable, data_file, disk_error, new_future
from slowcat_memory.store.disk.folder import or_undo

KEPT = "Until then what is said is kept in memory, and saved as soon as that is possible"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 3.0  # between tries to open the store
CLOSE_S, LAST_TRY_S = 2.0, 10.0  # how long closing waits for a try; with words that wait
FIRST_ID = -(1 << 40)  # far from an id, and from a relative ``reply_to``
WRITING = frozenset(("notes", "idle", "icebreakers", "_commands"))  # what no reader is asked for


class Entry(NamedTuple):
    """One append that waits: its events, and the future of its receipt."""

    events: tuple[Event, ...]
    cursor: Cursor | None
    future: "Future[None]"


class BackgroundEngine(MemoryEngine):
    """Opens an engine, and takes what is said until then. Safe to use from any thread.

    An event that waits has a negative id. It is numbered in place once the log has it, so that
    whoever holds it has its number.

    Attributes:
        engine: The engine; None until it is open and has what waited.
        waiting: What was said meanwhile, in order; when that is too much, the oldest is dropped.
        availability: Reports that the memory cannot be opened or saved, and that it can be again.
    """

    def __init__(self, config: Config) -> None:
        """Set the configuration; nothing is opened before ``start``.

        Raises:
            ConfigError: The time zone does not exist.
        """
        self.config, self.zone, self.metrics = config, time_zone(config), Metrics()
        self.availability, self.callers = Availability(), Callers(IdleGate(config.idle))
        self.clock, self.closed = SystemClock(), False
        self.blocks = BlockWriter(self.zone, tokenizer(config), retrieval_options(config))
        self.engine: MemoryEngine | None = None
        self.waiting = deque[Entry]()
        self._pid = os.getpid()
        self._reader: MemoryEngine | None = None  # only reads, while the engine cannot be had
        self._next_id, self._dropped = FIRST_ID, 0
        self._ids = dict[int, int]()  # in the log, of events that waited
        self._scopes: dict[str, None] = {}  # to prepare, in order
        self._order = threading.Lock()  # of appends; never held long
        self._trying = threading.Lock()
        self._tried, self._wake = threading.Event(), threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._damaged: object = None  # identity of a file that could not be recovered
        self._gives_up = False

    # ---------------------------------------------------------------- life

    @classmethod
    def acquire(cls, config: Config, *more: Any) -> Self:
        """Return the memory of a store, shared by the processors of this process.

        Of several callers the configuration of the first counts. Call ``close`` when done.

        Args:
            *more: What the class is made with besides; only who gives the same shares it.
        """
        slot = _slots.setdefault((config.folder.absolute(), *map(id, more)), _Slot())
        with slot.lock:
            if slot.memory is None:
                slot.memory, slot.users = cls(config, *more), 0
            slot.users += 1
            memory: Self = slot.memory
            return memory

    def close(self) -> None:
        """Close the memory, unless other users in this process share it."""
        slot = next((slot for slot in [*_slots.values()] if slot.memory is self), None)
        if slot is None:
            return self.shut()
        with slot.lock:
            if slot.memory is self:
                slot.users -= 1
                if slot.users:
                    return
                slot.memory = None
            self.shut()

    def start(self, wait_s: float) -> None:
        """Begin to open it, and wait for the first try, ``wait_s`` seconds at most.

        A try that takes longer (a huge store is checked, or a file system hangs) is reported as a
        trouble.
        """
        with self._order:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="slowcat-reopen", daemon=True
                )
                self._thread.start()
        if wait_s and not self._tried.wait(wait_s):
            folder = self.config.folder
            self.availability.fail(StoreError(f"{folder} is still being opened", hint=KEPT))

    def _run(self) -> None:
        pause = FIRST_PAUSE_S
        while not self._closing.is_set():
            self._wake.clear()
            if self._gives_up:
                self._gives_up = False
                self._let_go()
            is_open = self.attempt()
            self._wake.wait(None if is_open else pause)
            pause = FIRST_PAUSE_S if is_open else min(2 * pause, LONGEST_PAUSE_S)
        if self.closed:  # it was opening meanwhile
            self._let_go()

    def give_up(self) -> None:
        """Close the engine soon, and try again to open it. Any thread; returns at once."""
        self._gives_up = True
        self._wake.set()

    def attempt(self) -> bool:
        """Try to open the engine; return whether it is open. Blocks, for seconds at most."""
        with self._trying:
            unchanged = self._damaged is not None and self._damaged == _identity(self.config.folder)
            if self.engine is None and not unchanged:  # else the file could not be recovered before
                try:
                    self._open()
                except Exception as error:  # whatever it is: the agent goes on, and it is retried
                    self._fail(error)
        self._tried.set()
        return self.engine is not None

    def _open(self) -> None:
        if self._reader is not None:  # which must be closed first, so not in vain
            check_writable(self.config.folder, self.config.store)
            self._let_go()
        engine = self._open_engine()
        with or_undo(engine.close):
            for scope in tuple(self._scopes):  # found by words from now on, and what is over known
                with suppress(Exception):  # what is wrong is reported when it is prepared
                    engine.namespaces.get(scope).finish_opening()
            self._hand_over(engine)
        self._use(engine)
        if engine.availability.trouble is None:
            self.availability.recover()
        if damage := engine.opened.trouble:  # the agent may remember less than before
            self.availability.report(StoreDamagedError(damage))

    def _open_engine(self) -> MemoryEngine:
        return MemoryEngine(self.config, metrics=self.metrics, callers=self.callers)

    def _open_reader(self) -> MemoryEngine | None:
        reader = MemoryEngine(self.config, readonly=True, clock=self.clock, metrics=self.metrics)
        self._prepare_scopes(reader, *self._scopes)
        return reader

    def _use(self, engine: MemoryEngine) -> None:
        engine.availability.subscribe(self.availability.fail, self.availability.recover)
        self._prepare_scopes(engine, *self._scopes)

    def _fail(self, error: Exception) -> None:
        trouble = _trouble_of(error, self.config.folder)
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
            self._thread.join(LAST_TRY_S if self.waiting else CLOSE_S)
        if self.waiting and not self._trying.locked():
            self.attempt()
        with self._order:
            self.closed = True
            abandoned, self.waiting = self.waiting, deque()
            lost, self._dropped = self._dropped + _count(abandoned), 0
        for entry in abandoned:
            entry.future.set_exception(StoreClosedError("the memory was closed before this"))
        if lost:
            self._report_lost(lost)
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
        """Append events, or have them wait. Neither blocks nor raises because nothing is open."""
        self._check_process()
        while True:
            if (engine := self.engine) is not None:
                try:
                    return engine.append(*map(self._referring, events), cursor=cursor)
                except StoreClosedError:
                    if self.engine is engine:
                        raise  # it was not given up just now
            check_events(events)
            with self._order:
                if self.engine is None:
                    ack, dropped = self._wait(events, cursor)
                    break
        for entry in dropped:
            entry.future.set_exception(StoreFullError("too many events wait to be saved"))
        return ack

    def _wait(self, events: Sequence[Event], cursor: Cursor | None) -> tuple[Ack, list[Entry]]:
        """Have events wait; return their receipt, and what was dropped for them."""
        if self.closed:
            raise StoreClosedError("the memory was closed before this")
        first, self._next_id = self._next_id, self._next_id + len(events)
        numbered = tuple(replace(event, id=first + n) for n, event in enumerate(events))
        entry = Entry(numbered, cursor, new_future())
        self.waiting.append(entry)
        dropped = list[Entry]()
        while len(self.waiting) > self.config.store.queue_limit:
            dropped.append(self.waiting.popleft())
        self._dropped += _count(dropped)
        return Ack(entry.future, numbered[-1]), dropped

    def _hand_over(self, engine: MemoryEngine) -> None:
        """Append what waits, in order; what is said or asked from now on goes to the engine.

        Raises:
            StoreError: It takes no more.
        """
        while True:
            with self._order:
                if not self.waiting:
                    self.engine = engine
                    return
                entry = self.waiting[0]
            try:
                saved = self._append_entry(engine, entry)
            except StoreError:
                raise
            except Exception as error:  # one that is impossible fails alone
                saved = new_future()
                saved.set_exception(error)
            with self._order:
                if self.waiting and self.waiting[0] is entry:  # it was not dropped
                    self.waiting.popleft()
            saved.add_done_callback(partial(_pass_on, entry.future))

    def _append_entry(self, engine: MemoryEngine, entry: Entry) -> "Future[None]":
        events = [replace(self._referring(event), id=0) for event in entry.events]
        ack = engine.append(*events, cursor=entry.cursor)
        first = ack.id - len(events) + 1
        for place, (event, logged) in enumerate(zip(entry.events, events, strict=True)):
            self._ids[event.id] = first + place
            force_setattr(event, "id", first + place)
            if isinstance(event, Turn) and isinstance(logged, Turn):
                force_setattr(event, "reply_to", logged.reply_to)
                force_setattr(event, "part_of", logged.part_of)
        return ack.future

    def _referring(self, event: Event) -> Event:
        """Return an event that refers to others by their ids in the log, or to none of those lost."""
        waits = FIRST_ID // 2
        return referring(event, lambda id_: id_ if id_ > waits else self._ids.get(id_, 0))

    # ---------------------------------------------------------------- turns

    @property
    def _reading(self) -> MemoryEngine | None:
        return (self.engine or self._reader) if self._pid == os.getpid() else None

    async def recall(self, *args: Any, **kwargs: Any) -> Recollection:
        """Recall, or find nothing while nothing is open."""
        if (engine := self._reading) is None:
            return Recollection()
        try:
            return await engine.recall(*args, **kwargs)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
        except Exception as error:
            if self.engine is engine:
                raise
            logger.debug("memory: no recall while the store is opened: {}", describe_error(error))
        return Recollection()

    def note_recall(self, turn: Turn, recollection: Recollection, packed: Packed) -> None:
        """Write what was injected into the ledger, unless the turn waits."""
        if turn.id > 0:
            with suppress(StoreError):
                super().note_recall(turn, recollection, packed)

    def session_context(self, scope: str, *, local: bool = False) -> str:
        """Return what stays the same during a session; "" while nothing is open."""
        return super().session_context(scope, local=local) if self._reading else ""

    def prepare(self, scope: str) -> None:
        """Load a scope now, or as soon as something is open."""
        self._scopes[scope] = None
        if engine := self._reading:
            self._prepare_scopes(engine, scope)

    def _prepare_scopes(self, engine: MemoryEngine, *scopes: str) -> None:
        """Load scopes; what cannot be loaded costs recall, not the memory."""
        for scope in scopes:
            try:
                engine.prepare(scope)
            except StoreClosedError:  # a reader gives way to the engine, which prepares it too
                return
            except Exception as error:
                trouble = StoreError(
                    f"the memories of {scope} cannot be recalled: {describe_error(error)}",
                    hint="What is said is still kept; slowcat-memory doctor says what is wrong",
                )
                self.availability.report(trouble)

    # ---------------------------------------------------------------- the rest

    def __getattr__(self, name: str) -> Any:
        """Return a component of the engine, by which the inherited methods work.

        Raises:
            StoreError: There is no engine, nor a reader that has it.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        self._check_process()
        if target := self.engine or (None if name in WRITING else self._reader):
            return getattr(target, name)
        if self.closed:
            raise StoreClosedError("the memory was closed before this")
        if (trouble := self.availability.trouble) is None:
            raise StoreError("the memory is still being opened", hint="Try again in a moment")
        raise StoreError(f"the memory is not available: {trouble.message}", hint=trouble.hint)

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            message = "the memory was opened before a fork"
            raise StoreClosedError(message, hint="Open it in this process")

    def flush(self, timeout_s: float | None = None, *, indexed: bool = False) -> bool:
        """Wait until everything appended so far is durable, also what waits; return whether it is."""
        with self._order:
            unsaved = [entry.future for entry in self.waiting]
        if wait(unsaved, timeout_s).not_done or (engine := self.engine) is None:
            return not self.waiting
        return engine.flush(timeout_s, indexed=indexed)


def referring(event: Event, id_of: Callable[[int], int]) -> Event:
    """Return an event that refers to others by the ids that ``id_of`` returns for its own."""
    if not isinstance(event, Turn):
        return event
    reply_to, part_of = id_of(event.reply_to), id_of(event.part_of)
    same = (reply_to, part_of) == (event.reply_to, event.part_of)
    return event if same else replace(event, reply_to=reply_to, part_of=part_of)


def _count(entries: Iterable[Entry]) -> int:
    return sum(len(entry.events) for entry in entries)


def _pass_on(waiting: "Future[None]", saved: "Future[None]") -> None:
    if waiting.done():  # it was dropped while it was saved
        return
    if error := saved.exception():
        waiting.set_exception(error)
    else:
        waiting.set_result(None)


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
    with suppress(OSError):
        status = data_file(folder).stat()
        return status.st_ino, status.st_size, status.st_mtime_ns
    return None


# ------------------------------------------------------------------- one memory for a process


class _Slot:
    def __init__(self) -> None:
        self.lock = threading.Lock()  # held while the memory opens or closes
        self.memory: Any = None
        self.users = 0


_slots: dict[tuple[Any, ...], _Slot] = {}  # opening or closing one never delays the others
os.register_at_fork(after_in_child=_slots.clear)  # they are the parent's
