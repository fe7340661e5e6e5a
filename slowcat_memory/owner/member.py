"""The memory of a process, whether it owns the store, is a client of its owner, or waits.

Methods that need what is not there raise ``StoreError``; those of a turn (``append``, ``recall``,
``prefetch``, ``pack``, ``note_recall``) never do. Methods that are not written here are made from
the protocol's signatures: they call the engine of this process, or the owner's.
"""

import asyncio
import functools
import inspect
import time
from collections.abc import Callable, Sequence
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
from slowcat_memory.engine import Memory, MemoryEngine, retrieval_options
from slowcat_memory.engine.availability import Availability
from slowcat_memory.engine.memory import MaintenanceTask
from slowcat_memory.engine.sharing import Shared
from slowcat_memory.engine.turns import RecallArguments, build_query
from slowcat_memory.errors import StoreClosedError, StoreError, describe_error
from slowcat_memory.metrics import Metrics
from slowcat_memory.owner.address import Owner
from slowcat_memory.owner.callbacks import CallbackThread
from slowcat_memory.owner.carried_over import CarriedOver, Target
from slowcat_memory.owner.client import RemoteMemory
from slowcat_memory.owner.heir import Heir
from slowcat_memory.owner.lifecycle import Lifecycle, unavailable
from slowcat_memory.owner.numbers import provisional_turn
from slowcat_memory.owner.read_only import ReadOnlyStore
from slowcat_memory.owner.remote_recall import RemoteAttempt
from slowcat_memory.owner.serving.owner_server import OwnerServer
from slowcat_memory.providers import EmbedderReport
from slowcat_memory.records import Cursor, Event, Forget, Forgotten, Turn
from slowcat_memory.records import Memory as MemoryRecord
from slowcat_memory.runtime.commands.executor import CommandContext, Outcome
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.runtime.namespaces.vectors import Told
from slowcat_memory.runtime.recall.prefetch import Attempt, Prefetch
from slowcat_memory.runtime.recall.query import BlockWriter, Query, Recollection
from slowcat_memory.store import Ack, OpenReport, Snapshot

READS = frozenset({"embedding", "opened", "reader", "search", "hotwords", "stats"})
"""Methods that an engine which only reads can do as well."""
NUMBERED_S = 5.0  # how long a command waits for its turn to be logged
TAKE_OVER_S = 3.0  # how long a call waits while another process takes the store over


class Member:
    """Implements ``engine.memory.Memory`` for one of the processes that use a store.

    Attributes:
        availability: Reports that the store cannot be used, and that it can be again.
    """

    def __init__(
        self,
        config: Config,
        *,
        name: str = "agent",
        serves: bool = False,
        shares: bool = True,
        reads_meanwhile: bool = True,
        on_abandoned: Callable[[int], object] | None = None,
    ) -> None:
        """Set the configuration; nothing is opened before ``start``.

        Args:
            name: What this process is, for lists of clients.
            serves: Whether it is a server, to which others may give the store up.
            on_abandoned: See ``Lifecycle``.
            shares: Whether other processes may use the store through this one.
            reads_meanwhile: Whether to recall from a store that cannot be opened for writing.

        Raises:
            ConfigError: The time zone does not exist.
        """
        self.config, self.zone, self.metrics = config, time_zone(config), Metrics()
        self.availability = Availability()
        self.clock: Clock = SystemClock()
        self._name, self._serves = name, serves
        self._writer = BlockWriter(self.zone, tokenizer(config), retrieval_options(config))
        self._reading = ReadOnlyStore(config.folder, config.store)
        self._scopes: dict[str, None] = {}  # to prepare, in order
        self._callbacks = CallbackThread(self.metrics)
        self._carried_over = CarriedOver(self._callbacks)
        self._heir = Heir(config, lambda: self._life.remote is not None)
        self._life = Lifecycle(
            config,
            self.availability,
            self.metrics,
            open_engine=self._open_engine,
            open_reader=self._open_reader,
            connect=self._connect,
            on_ready=self._use,
            before_owning=self._reading.close,
            serves=serves,
            shares=shares,
            on_abandoned=on_abandoned,
            reads_meanwhile=reads_meanwhile,
        )

    # ------------------------------------------------------------------- life

    @classmethod
    def acquire(
        cls, config: Config, name: str = "agent", *, reads_meanwhile: bool = True
    ) -> "Member":
        """Return the memory of a store, shared by the processors of this process.

        Of several callers the configuration of the first counts. Call ``release`` when done.
        """
        return _shared.acquire(
            config.folder,
            lambda: cls(config, name=name, reads_meanwhile=reads_meanwhile),
            lambda memory: memory.engine is not None and memory.engine.closed,
        )

    def release(self) -> None:
        """Close the memory, unless it is shared with other users in this process.

        Saves what waits if that can be done now; else one line says how much is lost.
        """
        _shared.release(self.config.folder, self, self._close)

    def _close(self) -> None:
        self._heir.stop()
        self._life.close()
        self._callbacks.end()

    def start(self, wait_s: float) -> None:
        """Begin to own or to connect, and wait for the first try, ``wait_s`` seconds at most."""
        self._life.start(wait_s)

    @property
    def engine(self) -> MemoryEngine | None:
        """The engine; None while this process does not own the store."""
        return self._life.engine

    @property
    def owner(self) -> Owner | None:
        """The process whose client this is; None while it is none."""
        return self._life.remote.owner if self._life.remote else None

    @property
    def server(self) -> OwnerServer | None:
        """What serves other processes; None while this process does not own the store."""
        return self._life.server

    @property
    def is_ready(self) -> bool:
        return self._life.is_ready

    @property
    def last_error(self) -> Exception | None:
        """Why the memory could not be used, as it was raised; None if it always could."""
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

    def _connect(self, owner: Owner) -> RemoteMemory:
        return RemoteMemory(
            self.config,
            owner,
            self._life.backlog,
            name=self._name,
            metrics=self.metrics,
            callbacks=self._callbacks,
            serves=self._serves,
        )

    def _use(self, target: Target) -> None:
        """Pass on what was asked of earlier targets, and load the scopes."""
        if isinstance(target, MemoryEngine):
            target.availability.subscribe(self.availability.fail, self.availability.recover)
        self._carried_over.pass_on_to(target)
        for scope in tuple(self._scopes):
            self._prepare_scope(target, scope)
        if self._scopes and isinstance(target, RemoteMemory):  # a conversation
            self._heir.prepare_soon()

    def _prepare_scope(self, target: Target, scope: str) -> None:
        """Load a scope; what cannot be loaded costs recall, not the memory."""
        try:
            _do(target, "prepare", scope)
        except StoreClosedError:  # a reader gives way to the engine, which prepares it too
            return
        except Exception as error:
            if isinstance(target, RemoteMemory) and target.is_lost:
                return  # the next owner is asked again
            why = describe_error(error)
            trouble = StoreError(
                f"the memories of {scope} cannot be recalled: {why}",
                hint="What is said is still kept; slowcat-memory doctor says what is wrong",
            )
            self.availability.report(trouble)

    # ------------------------------------------------------------------- calls

    def _do(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the memory that is there; wait while another process takes it over."""
        target = self._wait_for_target(name)
        try:
            return _do(target, name, *args, **kwargs)
        except StoreError:
            gone = isinstance(target, RemoteMemory) and target.is_lost
            if not gone or name not in READS:
                raise
        return _do(self._wait_for_target(name), name, *args, **kwargs)

    def _wait_for_target(self, name: str) -> Target:
        self._life.wait_settled(TAKE_OVER_S)
        target: Target | None = self._life.engine or self._life.remote
        if name in READS:
            target = target or self._life.reader
        if target is None:
            raise self._life.backlog.closed or unavailable(self.availability.trouble)
        return target

    @property
    def embedding(self) -> EmbedderReport:
        return cast(EmbedderReport, self._do("embedding"))

    @property
    def opened(self) -> OpenReport:
        return cast(OpenReport, self._do("opened"))

    # ------------------------------------------------------------------- turns

    def append(self, event: Event) -> Ack:
        life = self._life
        if (engine := life.engine) is not None and not life.backlog:
            with suppress(StoreClosedError):  # it was given up just now, or closed
                return engine.log.append(event)  # what a turn waits for
        check_scope(event.scope)
        check_time(event.at)
        ack = life.appends.append(event)
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
        return self._life.appends.append_all(events, cursor)

    async def recall(
        self,
        text: str,
        scope: str,
        *,
        prefetch: Prefetch | None = None,
        **known: Unpack[RecallArguments],
    ) -> Recollection:
        engine, remote = self._life.engine or self._life.reader, self._life.remote
        if remote is not None:
            attempt = prefetch.take() if prefetch else None
            query = build_query(self.config, self.clock(), text, scope, **known)
            ours = attempt if isinstance(attempt, RemoteAttempt) else None
            return await remote.recall(query, ours)
        if engine is None:
            return Recollection()
        if prefetch is not None and isinstance(prefetch.attempt, RemoteAttempt):
            prefetch.drop()
        if self._life.backlog:
            known = cast(RecallArguments, self._life.backlog.numbers.logged_known(known))
        return await self._recall_here(engine, text, scope, prefetch, known)

    async def _recall_here(
        self,
        engine: MemoryEngine,
        text: str,
        scope: str,
        prefetch: Prefetch | None,
        known: RecallArguments,
    ) -> Recollection:
        """Recall from an engine of this process, which may be closed at any moment."""
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
            query = ask(text)
            if query is not None and (remote := self._life.remote) is not None:
                return cast(Attempt | None, remote.begin(query))
            engine = self._life.engine or self._life.reader
            if query is None or engine is None:
                return None
            with suppress(RuntimeError):  # it is being closed
                return engine.wiring.retrieval.begin(self._logged_query(query))
            return None

        def touch() -> Future[float] | None:
            query = ask("")
            if query is not None and (remote := self._life.remote) is not None:
                remote.touch(query)
                return None
            engine = self._life.engine or self._life.reader
            if query is None or engine is None:
                return None
            with suppress(RuntimeError):
                return engine.wiring.retrieval.touch(self._logged_query(query))
            return None

        return Prefetch(begin, self.config.prefetch, asyncio.get_running_loop(), touch)

    def _logged_query(self, query: Query) -> Query:
        backlog = self._life.backlog
        return backlog.numbers.logged_query(query) if backlog else query

    def pack(self, found: Recollection, now: datetime | None = None) -> Packed:
        return self._writer.pack(found, now or self.clock())

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        if (remote := self._life.remote) is not None:
            return remote.note_recall(turn, found, packed)
        id_ = self._life.backlog.numbers.logged_id(turn.id, missing=0)
        if (engine := self._life.engine) is not None and id_:
            with suppress(StoreClosedError):
                engine.note_recall(replace(turn, id=id_), found, packed)

    def session_context(self, scope: str, *, local: bool = False) -> str:
        target = self._life.engine or self._life.remote or self._life.reader
        return str(_do(target, "session_context", scope, local=local)) if target else ""

    def prepare(self, scope: str) -> None:
        self._scopes[scope] = None
        if self._life.remote is not None:
            self._heir.prepare_soon()
        if target := self._life.engine or self._life.remote or self._life.reader:
            self._prepare_scope(target, scope)

    def set_activity(self, name: str, busy: bool) -> None:
        self._carried_over.set_activity(name, busy)

    # ------------------------------------------------------------------- the rest

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        self._life.wait_settled(TAKE_OVER_S)
        if engine := self._life.engine or self._life.reader:
            return engine.snapshot()
        if self._life.remote is None:
            raise self._life.backlog.closed or unavailable(self.availability.trouble)
        return self._reading.snapshot()

    def stats(self) -> dict[str, Any]:
        found, server = self._do("stats"), self._life.server
        clients = server.clients if server else found.get("clients", [])
        unsaved = found["unsaved"] + len(self._life.backlog)
        return found | {"unsaved": unsaved, "clients": clients}

    def carry_out(self, command: Command, context: CommandContext) -> Outcome:
        self._wait_for_target("carry_out")
        turn = self._life.backlog.wait_for(context.turn, NUMBERED_S)
        return cast(Outcome, self._do("carry_out", command, replace(context, turn=turn)))

    def search(self, text: str, scope: str, k: int = 10, **how: Any) -> Recollection:
        known = self._life.backlog.numbers.logged_known(how)
        return cast(Recollection, self._do("search", text, scope, k, **known))

    def mark(self, scope: str, memory_id: str, **marks: Any) -> MemoryRecord | None:
        memory_id = self._wait_logged(memory_id)
        return cast(MemoryRecord | None, self._do("mark", scope, memory_id, **marks))

    def correct(self, scope: str, memory_id: str, text: str) -> MemoryRecord | None:
        memory_id = self._wait_logged(memory_id)
        return cast(MemoryRecord | None, self._do("correct", scope, memory_id, text))

    def forget(self, what: Forget | Sequence[Forget], **how: Any) -> Forgotten:
        orders = [what] if isinstance(what, Forget) else what
        logged = [self._logged_order(order) for order in orders]
        return cast(Forgotten, self._do("forget", logged, **how))

    def _logged_order(self, order: Forget) -> Forget:
        turns = tuple(map(self._wait_numbered, order.turns))
        return replace(order, turns=turns, memories=tuple(map(self._wait_logged, order.memories)))

    def _wait_logged(self, memory_id: str) -> str:
        """Return the id of a memory; for a turn that waits, once it is logged."""
        turn = provisional_turn(memory_id)
        return chunk_id(self._wait_numbered(turn)) if turn else memory_id

    def _wait_numbered(self, turn: int) -> int:
        try:
            return self._life.backlog.wait_for(turn, NUMBERED_S)
        except TimeoutError:
            raise StoreError("that turn is not saved yet", hint="Try again in a moment") from None

    def maintain(
        self, task: MaintenanceTask, scope: str = "", *, progress: Told | None = None
    ) -> Any:
        if task == "drop queries":  # never waits
            if (remote := self._life.remote) is not None:
                return remote.send_call("maintain", task)
            engine = self._life.engine or self._life.reader
            return engine.maintain(task) if engine else None
        return self._do("maintain", task, scope, progress=progress)

    def subscribe(self, **callbacks: Callable[..., Any] | None) -> Callable[[], None]:
        wanted = {name: one for name, one in callbacks.items() if one is not None}
        return self._carried_over.subscribe(wanted)

    def flush(self, timeout_s: float | None = None, *, indexed: bool = False) -> bool:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._life.backlog.wait_empty(_until(deadline)):
            if not self._life.is_ready:
                return not len(self._life.backlog)
            target = self._wait_for_target("flush")
            try:
                return bool(target.flush(_until(deadline), indexed=indexed))
            except StoreError:
                if not (isinstance(target, RemoteMemory) and target.is_lost):
                    raise  # else the next owner is asked
        return not len(self._life.backlog)


def _do(target: Target, name: str, *args: Any, **kwargs: Any) -> Any:
    if isinstance(target, RemoteMemory):
        return target.call(name, *args, **kwargs)
    member = getattr(target, name)
    return member(*args, **kwargs) if callable(member) else member


def _forwarded(name: str) -> Callable[..., Any]:
    """Return a method of the protocol's signature that calls the memory which is there."""

    @functools.wraps(getattr(Memory, name))
    def method(self: Member, *args: Any, **kwargs: Any) -> Any:
        return self._do(name, *args, **kwargs)

    return method


for _name, _function in vars(Memory).items():
    if inspect.isfunction(_function) and not _name.startswith("_"):
        if _name not in vars(Member):
            setattr(Member, _name, _forwarded(_name))
for _name in ("subscribe", "search", "mark", "correct", "forget"):
    functools.update_wrapper(getattr(Member, _name), getattr(Memory, _name))


def open_member(config: Config, *, name: str, wait_s: float) -> Member:
    """Return a member that owns its store, or is a client of its owner. Blocks.

    Raises:
        StoreError: Neither can be had within ``wait_s`` seconds.
    """
    member = Member.acquire(config, name, reads_meanwhile=False)
    try:
        member.start(wait_s)
        if not member.is_ready:
            raise member.last_error or unavailable(None)
    except BaseException:  # Ctrl-C too
        member.release()
        raise
    return member


def _until(deadline: float | None) -> float | None:
    """Return the seconds that are left, by the monotonic clock."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def _soon(work: Callable[[], object]) -> None:
    """Call a function on the event loop after the caller has returned to it, if there is one."""
    try:
        asyncio.get_running_loop().call_soon(work)
    except RuntimeError:
        work()


_shared: Shared[Member] = Shared()
