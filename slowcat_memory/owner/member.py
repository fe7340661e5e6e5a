"""The memory of a process that talks, also while its engine is not open yet.

The methods of a turn (``append``, ``recall``, ``prefetch``, ``pack``, ``note_recall``) never raise
because nothing is open. Every other one is the engine's, and raises ``StoreError`` until there is
one; those that read are the reader's meanwhile.
"""

import asyncio
import functools
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import Any, Unpack, cast

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.clock import Clock, SystemClock
from slowcat_memory.config import Config, time_zone, tokenizer
from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.core.time.calendar import check_time
from slowcat_memory.engine import MemoryEngine, retrieval_options
from slowcat_memory.engine.availability import Availability
from slowcat_memory.engine.sharing import Shared
from slowcat_memory.engine.turns import RecallArguments
from slowcat_memory.engine.upkeep import MaintenanceTask
from slowcat_memory.errors import SlowcatError, StoreClosedError, StoreError, describe_error
from slowcat_memory.metrics import Metrics
from slowcat_memory.owner.lifecycle import Lifecycle
from slowcat_memory.owner.waiting import provisional_turn
from slowcat_memory.records import Cursor, Event, Forget, Forgotten, Memory, Turn
from slowcat_memory.runtime.commands.executor import CommandContext, Outcome
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.runtime.namespaces.vectors import Told
from slowcat_memory.runtime.recall.prefetch import Attempt, Prefetch
from slowcat_memory.runtime.recall.query import BlockWriter, Query, Recollection
from slowcat_memory.store import Ack, Snapshot

READS = frozenset(
    {"embedding", "opened", "reader", "search", "hotwords", "stats", "latest_session", "graph"}
)
"""Methods that an engine which only reads can do as well."""
LIMIT = 10_000  # calls of listeners that wait; what comes then is dropped, and counted
NUMBERED_S = 5.0  # how long a command waits for its turn to be logged
Callbacks = Mapping[str, Callable[..., Any]]


class Member:
    """A ``MemoryEngine`` that is opened in the background.

    Attributes:
        availability: Reports that the memory cannot be opened or saved, and that it can be again.
    """

    def __init__(
        self,
        config: Config,
        *,
        reads_meanwhile: bool = True,
        on_abandoned: Callable[[int], object] | None = None,
    ) -> None:
        """Set the configuration; nothing is opened before ``start``.

        Args:
            reads_meanwhile: Whether to recall from a store that cannot be opened for writing.
            on_abandoned: See ``Lifecycle``.

        Raises:
            ConfigError: The time zone does not exist.
        """
        self.config, self.zone, self.metrics = config, time_zone(config), Metrics()
        self.availability = Availability()
        self.clock: Clock = SystemClock()
        self._writer = BlockWriter(self.zone, tokenizer(config), retrieval_options(config))
        self._scopes: dict[str, None] = {}  # to prepare, in order
        self._callbacks = CallbackThread(self.metrics)
        self._carried_over = CarriedOver(self._callbacks)
        self._life = Lifecycle(
            config,
            self.availability,
            self.metrics,
            open_engine=self._open_engine,
            open_reader=self._open_reader if reads_meanwhile else None,
            on_ready=self._use,
            on_abandoned=on_abandoned,
        )

    # ------------------------------------------------------------------- life

    @classmethod
    def acquire(cls, config: Config) -> "Member":
        """Return the memory of a store, shared by the processors of this process.

        Of several callers the configuration of the first counts. Call ``release`` when done.
        """
        return _shared.acquire(
            config.folder,
            lambda: cls(config),
            lambda memory: memory.engine is not None and memory.engine.closed,
        )

    def release(self) -> None:
        """Close the memory, unless it is shared with other users in this process.

        Saves what waits if that can be done now; else one line says how much is lost.
        """
        _shared.release(self.config.folder, self, self._close)

    def _close(self) -> None:
        self._life.close()
        self._callbacks.end()

    def start(self, wait_s: float) -> None:
        """Begin to open it, and wait for the first try, ``wait_s`` seconds at most."""
        self._life.start(wait_s)

    @property
    def engine(self) -> MemoryEngine | None:
        """The engine; None until it is open."""
        return self._life.engine

    @property
    def is_ready(self) -> bool:
        return self._life.engine is not None

    @property
    def last_error(self) -> SlowcatError | None:
        """Why the memory could not be used; None if it always could."""
        return self._life.last_error

    def _open_engine(self) -> MemoryEngine:
        """Open the engine; its scopes are found by words, and what is over is known, from now on."""
        engine = MemoryEngine.acquire(self.config, metrics=self.metrics)
        self._load_scopes(engine)
        return engine

    def _load_scopes(self, engine: MemoryEngine) -> None:
        for scope in tuple(self._scopes):
            with suppress(Exception):  # what is wrong is reported when it is prepared
                engine.wiring.users.load(scope)
                engine.wiring.namespaces.get(scope).finish_opening()

    def _open_reader(self) -> MemoryEngine:
        reader = MemoryEngine(self.config, readonly=True, clock=self.clock, metrics=self.metrics)
        for scope in tuple(self._scopes):
            self._prepare_scope(reader, scope)
        return reader

    def _use(self, engine: MemoryEngine) -> None:
        """Pass on what was asked before, and load the scopes."""
        engine.availability.subscribe(self.availability.fail, self.availability.recover)
        self._carried_over.pass_on_to(engine)
        for scope in tuple(self._scopes):
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

    # ------------------------------------------------------------------- calls

    def __getattr__(self, name: str) -> Any:
        """Return the engine's method or attribute.

        Raises:
            StoreError: There is no engine, nor a reader that could do as well.
        """
        if name.startswith("_") or not hasattr(MemoryEngine, name):
            raise AttributeError(name)
        return getattr(self._target(name), name)

    def _target(self, name: str) -> MemoryEngine:
        target = self._life.engine or (self._life.reader if name in READS else None)
        if target is None:
            raise self._life.no_engine()
        return target

    @property
    def _reading(self) -> MemoryEngine | None:
        return self._life.engine or self._life.reader

    # ------------------------------------------------------------------- turns

    def append(self, event: Event) -> Ack:
        life = self._life
        if (engine := life.engine) is not None and not life.waiting:
            with suppress(StoreClosedError):  # it was given up just now, or closed
                return engine.log.append(event)  # what a turn waits for
        check_scope(event.scope)
        check_time(event.at)
        ack = life.append(event)
        if self._life.reader is not None:
            _soon(self._index_waiting)
        return ack

    def _index_waiting(self) -> None:
        if (reader := self._life.reader) is not None:
            with suppress(RuntimeError):  # it is being closed
                reader.wiring.indexer.release()

    def append_all(self, events: Sequence[Event], cursor: Cursor | None = None) -> list[Ack]:
        for event in events:
            check_scope(event.scope)
            check_time(event.at)
        return self._life.append_all(events, cursor)

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
        if self._life.waiting:
            known = cast(RecallArguments, self._life.waiting.numbers.logged_known(known))
        try:
            return await engine.recall(text, scope, prefetch=prefetch, **known)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
        except Exception as error:
            if self._life.engine is engine:
                raise
            logger.debug("memory: no recall while the store is opened: {}", describe_error(error))
        return Recollection()

    def prefetch(self, ask: Callable[[str], Query | None]) -> Prefetch:
        def begin(text: str) -> Attempt | None:
            query, engine = ask(text), self._reading
            if query is None or engine is None:
                return None
            with suppress(RuntimeError):  # it is being closed
                return engine.wiring.retrieval.begin(self._logged_query(query))
            return None

        def touch() -> Future[float] | None:
            query, engine = ask(""), self._reading
            if query is None or engine is None:
                return None
            with suppress(RuntimeError):
                return engine.wiring.retrieval.touch(self._logged_query(query))
            return None

        return Prefetch(begin, self.config.prefetch, asyncio.get_running_loop(), touch)

    def _logged_query(self, query: Query) -> Query:
        waiting = self._life.waiting
        return waiting.numbers.logged_query(query) if waiting else query

    def pack(self, found: Recollection, now: datetime | None = None) -> Packed:
        return self._writer.pack(found, now or self.clock())

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        id_ = self._life.waiting.numbers.logged_id(turn.id, missing=0)
        if (engine := self._life.engine) is not None and id_:
            with suppress(StoreClosedError):
                engine.note_recall(replace(turn, id=id_), found, packed)

    def session_context(self, scope: str, *, local: bool = False) -> str:
        engine = self._reading
        return engine.session_context(scope, local=local) if engine else ""

    def prepare(self, scope: str) -> None:
        self._scopes[scope] = None
        if engine := self._reading:
            self._prepare_scope(engine, scope)

    def set_activity(self, name: str, busy: bool) -> None:
        self._carried_over.set_activity(name, busy)

    # ------------------------------------------------------------------- the rest

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        if (engine := self._reading) is None:
            raise self._life.no_engine()
        return engine.snapshot()

    def stats(self) -> dict[str, Any]:
        found = self._target("stats").stats()
        return found | {"unsaved": found["unsaved"] + len(self._life.waiting)}

    def carry_out(self, command: Command, context: CommandContext) -> Outcome:
        self._target("carry_out")  # before it waits
        turn = self._life.waiting.wait_for(context.turn, NUMBERED_S)
        return self._target("carry_out").carry_out(command, replace(context, turn=turn))

    def search(self, text: str, scope: str, k: int = 10, **how: Any) -> Recollection:
        known = self._life.waiting.numbers.logged_known(how)
        return self._target("search").search(text, scope, k, **known)

    def mark(self, scope: str, memory_id: str, **marks: Any) -> Memory | None:
        return self._target("mark").mark(scope, self._wait_logged(memory_id), **marks)

    def correct(self, scope: str, memory_id: str, text: str) -> Memory | None:
        return self._target("correct").correct(scope, self._wait_logged(memory_id), text)

    def forget(self, what: Forget | Sequence[Forget], **how: Any) -> Forgotten:
        orders = [what] if isinstance(what, Forget) else what
        logged = [self._logged_order(order) for order in orders]
        return self._target("forget").forget(logged, **how)

    def _logged_order(self, order: Forget) -> Forget:
        turns = tuple(map(self._wait_numbered, order.turns))
        return replace(order, turns=turns, memories=tuple(map(self._wait_logged, order.memories)))

    def _wait_logged(self, memory_id: str) -> str:
        """Return the id of a memory; for a turn that waits, once it is logged."""
        turn = provisional_turn(memory_id)
        return chunk_id(self._wait_numbered(turn)) if turn else memory_id

    def _wait_numbered(self, turn: int) -> int:
        try:
            return self._life.waiting.wait_for(turn, NUMBERED_S)
        except TimeoutError:
            raise StoreError("that turn is not saved yet", hint="Try again in a moment") from None

    def maintain(
        self, task: MaintenanceTask, scope: str = "", *, progress: Told | None = None
    ) -> Any:
        if task == "drop queries":  # never waits
            return engine.maintain(task) if (engine := self._reading) else None
        return self._target("maintain").maintain(task, scope, progress=progress)

    def subscribe(self, **callbacks: Callable[..., Any] | None) -> Callable[[], None]:
        wanted = {name: one for name, one in callbacks.items() if one is not None}
        return self._carried_over.subscribe(wanted)

    def flush(self, timeout_s: float | None = None, *, indexed: bool = False) -> bool:
        until = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._life.waiting.wait_empty(timeout_s) or (engine := self._life.engine) is None:
            return not len(self._life.waiting)
        rest = None if until is None else max(0.0, until - time.monotonic())
        return engine.flush(rest, indexed=indexed)


def _soon(work: Callable[[], object]) -> None:
    """Call a function on the event loop after the caller has returned to it, if there is one."""
    try:
        asyncio.get_running_loop().call_soon(work)
    except RuntimeError:
        work()


# ------------------------------------------------------------------- the application's functions


class CallbackThread:
    """Calls functions one after another; its thread starts with the first. Any thread."""

    def __init__(self, metrics: Metrics) -> None:
        """Start nothing; ``metrics`` counts what is dropped."""
        self._metrics = metrics
        self._waiting: queue.Queue[Callable[[], object] | None] = queue.Queue(LIMIT)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = False

    def later(self, work: Callable[[], object]) -> None:
        """Queue a function; does nothing after ``end``."""
        with self._lock:
            if self._ended:
                return
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="slowcat-events", daemon=True
                )
                self._thread.start()
        try:
            self._waiting.put_nowait(work)
        except queue.Full:
            self._metrics.count("events_dropped")

    def end(self) -> None:
        """Refuse more, and let the thread end after what waits.

        Idempotent. Does not block, and may be called from a callback.
        """
        with self._lock:
            self._ended = True
        while True:
            with suppress(queue.Full):
                return self._waiting.put_nowait(None)
            with suppress(queue.Empty):
                self._waiting.get_nowait()
                self._metrics.count("events_dropped")

    def _run(self) -> None:
        while (work := self._waiting.get()) is not None:
            try:
                work()
            except Exception as error:  # the application's code
                logger.error(f"memory: a listener failed: {describe_error(error)}")


class CarriedOver:
    """Subscriptions and activities, passed on to one engine after another. Any thread."""

    def __init__(self, callbacks: CallbackThread) -> None:
        """Start with none; ``callbacks`` calls the application's functions."""
        self._callbacks = callbacks
        self._busy: set[str] = set()  # running activities
        self._subscribers: dict[object, Callbacks] = {}
        self._unsubscribe: dict[object, Callable[[], None]] = {}
        self._engine: MemoryEngine | None = None
        self._lock = threading.Lock()

    def pass_on_to(self, engine: MemoryEngine) -> None:
        """Register everything with an engine, which gets all that comes later too."""
        with self._lock:
            self._engine = engine
            for name in self._busy:
                engine.set_activity(name, True)
            for key, callbacks in self._subscribers.items():
                self._unsubscribe[key] = self._subscribe_to(engine, callbacks)

    def set_activity(self, name: str, busy: bool) -> None:
        with self._lock:
            if busy:
                self._busy.add(name)
            elif name.endswith("/"):
                self._busy = {one for one in self._busy if not one.startswith(name)}
            else:
                self._busy.discard(name)
            if self._engine is not None:
                self._engine.set_activity(name, busy)

    def subscribe(self, callbacks: Callbacks) -> Callable[[], None]:
        """Subscribe callbacks, by name; return what ends it."""
        key = object()
        with self._lock:
            self._subscribers[key] = callbacks
            if self._engine is not None:
                self._unsubscribe[key] = self._subscribe_to(self._engine, callbacks)

        def end() -> None:
            with self._lock:
                self._subscribers.pop(key, None)
                unsubscribe = self._unsubscribe.pop(key, None)
            if unsubscribe:
                unsubscribe()

        return end

    def _subscribe_to(self, engine: MemoryEngine, callbacks: Callbacks) -> Callable[[], None]:
        return engine.subscribe(**{name: self._later(one) for name, one in callbacks.items()})

    def _later(self, callback: Callable[..., Any]) -> Callable[..., None]:
        return lambda *happened: self._callbacks.later(functools.partial(callback, *happened))


_shared: Shared[Member] = Shared()
