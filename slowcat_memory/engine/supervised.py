"""The memory of a running agent: an engine as soon as its store can be opened, see ``lifecycle``.

Methods that need what is not there raise ``StoreError``; those of a turn (``append``, ``recall``,
``prefetch``, ``pack``, ``note_recall``) never do.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import Any, TypeVar, Unpack

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.clock import Clock, SystemClock
from slowcat_memory.config import Config, time_zone
from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.disclosure import Reader
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine.availability import Availability
from slowcat_memory.engine.backlog import ProvisionalAck
from slowcat_memory.engine.engine import MemoryEngine
from slowcat_memory.engine.lifecycle import EngineLifecycle, unavailable
from slowcat_memory.engine.memory import MaintenanceTask
from slowcat_memory.engine.search import SearchArguments
from slowcat_memory.engine.sharing import Shared
from slowcat_memory.engine.turns import RecallArguments
from slowcat_memory.errors import SlowcatError, StoreClosedError, StoreError
from slowcat_memory.idle.events import OnMemory
from slowcat_memory.idle.forecast import Forecast
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import EmbedderReport
from slowcat_memory.records import (
    CommandEntry,
    Cursor,
    Event,
    Forget,
    Forgotten,
    Hotword,
    Memory,
    Turn,
    WriteBatch,
)
from slowcat_memory.runtime.commands.executor import CommandContext, Outcome
from slowcat_memory.runtime.namespaces.vectors import Told
from slowcat_memory.runtime.recall.prefetch import Attempt, Prefetch
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.store import Ack, OpenReport, Snapshot

T = TypeVar("T")


class SupervisedMemory:
    """Implements ``engine.memory.Memory`` whether or not the store can be opened.

    Attributes:
        availability: Reports that the store cannot be used, and that it can be again.
    """

    def __init__(self, config: Config) -> None:
        """Set the configuration; nothing is opened before ``start``.

        Raises:
            ConfigError: The time zone does not exist.
        """
        self.config, self.zone, self.metrics = config, time_zone(config), Metrics()
        self.availability = Availability()
        self.clock: Clock = SystemClock()
        self._scopes: dict[str, None] = {}  # to prepare, in order
        self._busy: set[str] = set()  # running activities
        self._subscribers: dict[object, Callable[[MemoryEngine], Callable[[], None]]] = {}
        self._unsubscribe: dict[object, Callable[[], None]] = {}
        self._target: MemoryEngine | None = None  # what subscriptions and activities are passed to
        self._target_lock = threading.Lock()
        self._last: MemoryEngine | None = None  # packs what the reader found before it was closed
        self._life = EngineLifecycle(
            config,
            self.availability,
            self.metrics,
            open_engine=self._open_engine,
            open_reader=self._open_reader,
            on_ready=self._take_over,
        )

    # ------------------------------------------------------------------- life

    @classmethod
    def acquire(cls, config: Config) -> "SupervisedMemory":
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
        _shared.release(self.config.folder, self, self._life.close)

    def start(self, wait_s: float) -> None:
        """Begin to open the store, and wait for the first try, ``wait_s`` seconds at most."""
        self._life.start(wait_s)

    @property
    def engine(self) -> MemoryEngine | None:
        """The engine; None while the store is not open for writing."""
        return self._life.engine

    def _open_engine(self) -> MemoryEngine:
        return MemoryEngine.acquire(self.config, metrics=self.metrics)

    def _open_reader(self) -> MemoryEngine:
        reader = MemoryEngine(self.config, readonly=True, clock=self.clock, metrics=self.metrics)
        self._prepare(reader)
        self._last = reader
        return reader

    def _take_over(self, engine: MemoryEngine) -> None:
        engine.availability.subscribe(self.availability.fail, self.availability.recover)
        self._prepare(engine)
        with self._target_lock:
            self._target = self._last = engine
            for name in self._busy:
                engine.set_activity(name, True)
            for key, subscribe in self._subscribers.items():
                self._unsubscribe[key] = subscribe(engine)

    def _prepare(self, engine: MemoryEngine) -> None:
        """Load the scopes; what cannot be loaded costs recall, not the memory."""
        for scope in tuple(self._scopes):
            self._prepare_scope(engine, scope)

    def _prepare_scope(self, engine: MemoryEngine, scope: str) -> None:
        try:
            engine.prepare(scope)
        except StoreClosedError:  # a reader gives way to the engine, which prepares it too
            return
        except Exception as error:
            why = error.message if isinstance(error, SlowcatError) else type(error).__name__
            trouble = StoreError(
                f"the memories of {scope} cannot be recalled: {why}",
                hint="What is said is still kept; slowcat-memory doctor says what is wrong",
            )
            self.availability.report(trouble)

    def _reading(self) -> MemoryEngine:
        engine = self._life.engine or self._life.reader
        if engine is None:
            raise unavailable(self.availability.trouble)
        return engine

    def _writing(self) -> MemoryEngine:
        if self._life.engine is None:
            raise unavailable(self.availability.trouble)
        return self._life.engine

    # ------------------------------------------------------------------- turns

    @property
    def embedding(self) -> EmbedderReport:
        return self._reading().embedding

    @property
    def opened(self) -> OpenReport:
        return self._reading().opened

    def append(self, event: Event, *, draft: bool = True) -> Ack:
        backlog = self._life.backlog
        if not backlog and self._life.engine is not None:
            return self._life.engine.log.append(event, draft=draft)  # what a turn waits for
        ack = self._life.append(event, draft=draft)
        if self._life.reader is not None:
            _soon(self._index_waiting)
        if isinstance(ack, ProvisionalAck):
            return ack
        return ProvisionalAck(ack.future, ack.event, backlog=backlog)

    def _index_waiting(self) -> None:
        if (reader := self._life.reader) is not None:
            with suppress(RuntimeError):  # it is being closed
                reader.wiring.indexer.release()

    def append_all(
        self, events: Sequence[Event], cursor: Cursor | None = None, *, draft: bool = False
    ) -> list[Ack]:
        return self._writing().append_all(events, cursor, draft=draft)

    async def recall(
        self,
        text: str,
        scope: str,
        *,
        prefetch: Prefetch | None = None,
        **known: Unpack[RecallArguments],
    ) -> Recollection:
        engine, backlog = self._life.engine, self._life.backlog
        if engine is None:
            return await self._recall_meanwhile(text, scope, prefetch, known)
        if backlog and "exclude" in known:
            known["exclude"] = backlog.logged_memories(known["exclude"])
        return await engine.recall(text, scope, prefetch=prefetch, **known)

    async def _recall_meanwhile(
        self, text: str, scope: str, prefetch: Prefetch | None, known: RecallArguments
    ) -> Recollection:
        """Recall from an engine that only reads, and that may be closed at any moment."""
        reader = self._life.reader
        if reader is None:
            return Recollection()
        try:
            return await reader.recall(text, scope, prefetch=prefetch, **known)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
        except Exception as error:
            logger.debug("memory: no recall while the store is opened: {}", type(error).__name__)
        return Recollection()

    def prefetch(self, ask: Callable[[str], Query | None]) -> Prefetch:
        def begin(text: str) -> Attempt | None:
            return self._ahead(Retrieval.begin, ask(text))

        def touch() -> Future[float] | None:
            return self._ahead(Retrieval.touch, ask(""))

        loop = asyncio.get_running_loop()
        return Prefetch(begin, self.config.prefetch, loop, touch)

    def _ahead(self, do: Callable[[Retrieval, Query], T | None], query: Query | None) -> T | None:
        """Do something ahead of a turn; None while the store is not there."""
        engine = self._life.engine or self._life.reader
        if query is None or engine is None:
            return None
        try:
            return do(engine.wiring.retrieval, query)
        except RuntimeError:  # it is being closed
            return None

    def pack(self, found: Recollection, now: datetime | None = None) -> Packed:
        return self._last.pack(found, now) if self._last else Packed("", (), 0)

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        id_ = self._life.backlog.logged_id(turn.id, missing=0)
        if self._life.engine is not None and id_:
            turn = turn if id_ == turn.id else replace(turn, id=id_)
            self._life.engine.note_recall(turn, found, packed)

    def session_context(self, scope: str, *, local: bool = False) -> str:
        engine = self._life.engine or self._life.reader
        return engine.session_context(scope, local=local) if engine else ""

    def prepare(self, scope: str) -> None:
        self._scopes[scope] = None
        if engine := self._life.engine or self._life.reader:
            self._prepare_scope(engine, scope)

    def set_activity(self, name: str, busy: bool) -> None:
        with self._target_lock:
            if busy:
                self._busy.add(name)
            elif name.endswith("/"):
                self._busy = {one for one in self._busy if not one.startswith(name)}
            else:
                self._busy.discard(name)
            if self._target is not None:
                self._target.set_activity(name, busy)

    # ------------------------------------------------------------------- reading

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return self._reading().snapshot()

    def reader(self, *scopes: str, local: bool = False, muted: bool = False) -> Reader:
        return self._reading().reader(*scopes, local=local, muted=muted)

    def search(
        self, text: str, scope: str, k: int = 10, **how: Unpack[SearchArguments]
    ) -> Recollection:
        return self._reading().search(text, scope, k, **how)

    def hotwords(self, scope: str, n: int = 100, *, local: bool = False) -> list[Hotword]:
        return self._reading().hotwords(scope, n, local=local)

    def stats(self) -> dict[str, Any]:
        found = self._reading().stats()
        return found | {"unsaved": found["unsaved"] + len(self._life.backlog)}

    # ------------------------------------------------------------------- changes

    def remember(
        self,
        text: str,
        scope: str,
        *,
        speaker: str = "",
        pinned: bool = False,
        importance: float = 0.8,
        at: datetime | None = None,
        local_only: bool = False,
    ) -> Memory:
        return self._writing().remember(
            text,
            scope,
            speaker=speaker,
            pinned=pinned,
            importance=importance,
            at=at,
            local_only=local_only,
        )

    def mark(
        self,
        scope: str,
        memory_id: str,
        *,
        pinned: bool | None = None,
        local_only: bool | None = None,
        muted: bool | None = None,
        dropped: bool = False,
    ) -> Memory | None:
        return self._writing().mark(
            scope,
            memory_id,
            pinned=pinned,
            local_only=local_only,
            muted=muted,
            dropped=dropped,
        )

    def correct(self, scope: str, memory_id: str, text: str) -> Memory | None:
        return self._writing().correct(scope, memory_id, text)

    def push_icebreaker(
        self,
        scope: str,
        text: str,
        *,
        priority: float = 0.5,
        expires: datetime | None = None,
        quiet: bool = True,
    ) -> Memory | None:
        return self._writing().push_icebreaker(
            scope, text, priority=priority, expires=expires, quiet=quiet
        )

    def carry_out(self, command: Command, context: CommandContext) -> Outcome:
        turn = self._life.backlog.logged_id(context.turn)
        return self._writing().carry_out(command, replace(context, turn=turn))

    def undo(self, entry: CommandEntry) -> CommandEntry | None:
        return self._writing().undo(entry)

    def forget(
        self,
        what: Forget | Sequence[Forget],
        *,
        dry_run: bool = False,
        keep_backups: bool = False,
    ) -> Forgotten:
        return self._writing().forget(what, dry_run=dry_run, keep_backups=keep_backups)

    def apply(self, job: str, batch: WriteBatch) -> None:
        self._writing().apply(job, batch)

    # ------------------------------------------------------------------- upkeep

    def maintain(
        self, task: MaintenanceTask, scope: str = "", *, progress: Told | None = None
    ) -> Any:
        if task == "drop queries":
            engine = self._life.engine or self._life.reader
            return engine.maintain(task) if engine else None
        return self._writing().maintain(task, scope, progress=progress)

    def think(
        self,
        jobs: Sequence[str] | None = None,
        progress: Callable[[Forecast], object] | None = None,
    ) -> int:
        return self._writing().think(jobs, progress)

    def subscribe(
        self,
        *,
        on_memory: OnMemory | None = None,
        on_pause: Callable[[], object] | None = None,
        on_event: OnMemory | None = None,
    ) -> Callable[[], None]:
        key = object()

        def subscribe(engine: MemoryEngine) -> Callable[[], None]:
            return engine.subscribe(on_memory=on_memory, on_pause=on_pause, on_event=on_event)

        with self._target_lock:
            self._subscribers[key] = subscribe
            if self._target is not None:
                self._unsubscribe[key] = subscribe(self._target)

        def end() -> None:
            with self._target_lock:
                self._subscribers.pop(key, None)
                unsubscribe = self._unsubscribe.pop(key, None)
            if unsubscribe:
                unsubscribe()

        return end

    def flush(self, timeout_s: float | None = None, *, indexed: bool = False) -> bool:
        if self._life.engine is None:
            return not len(self._life.backlog)
        return self._life.engine.flush(timeout_s, indexed=indexed)


def _soon(work: Callable[[], object]) -> None:
    """Call a function on the event loop after the caller has returned to it, if there is one."""
    try:
        asyncio.get_running_loop().call_soon(work)
    except RuntimeError:
        work()


_shared: Shared[SupervisedMemory] = Shared()
