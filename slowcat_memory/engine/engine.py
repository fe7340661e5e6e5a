"""The memory engine: a facade over its components.

The event loop only waits for a recall, at most until its deadline, and never for a write: durable
writes belong to the store's thread, everything else to the workers of ``runtime.namespaces.indexer``.
Everything is built before any of the engine's own threads starts.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from typing import Any, Unpack

from slowcat_memory.clock import Clock, SystemClock
from slowcat_memory.config import Config, check_ranges
from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.disclosure import Reader
from slowcat_memory.core.memory import BLOCK, family
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine.availability import Availability, OnTrouble
from slowcat_memory.engine.forget import Eraser
from slowcat_memory.engine.idle import IdleWork, job_parts
from slowcat_memory.engine.memory import MaintenanceTask
from slowcat_memory.engine.notes import NOTE_IMPORTANCE, CommandMemory, Notes, edit_block
from slowcat_memory.engine.search import (
    Graph,
    Search,
    SearchArguments,
    hotwords,
    latest_session,
    read_graph,
    stats,
    why,
)
from slowcat_memory.engine.sharing import Shared
from slowcat_memory.engine.turns import EventLog, RecallArguments, TurnRecall
from slowcat_memory.engine.upkeep import Upkeep
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.errors import StoreError
from slowcat_memory.idle.events import OnMemory
from slowcat_memory.idle.forecast import Forecast
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import LLM, EmbedderReport, QueryEmbedder
from slowcat_memory.records import (
    CommandEntry,
    Cursor,
    Event,
    Forget,
    Forgotten,
    Hotword,
    LedgerEntry,
    Memory,
    Session,
    Turn,
    WriteBatch,
)
from slowcat_memory.runtime.commands.executor import CommandContext, CommandExecutor, Outcome
from slowcat_memory.runtime.first_turn import (
    collect_garbage,
    compile_patterns,
    rehearsed,
)
from slowcat_memory.runtime.namespaces.vectors import Told
from slowcat_memory.runtime.recall.prefetch import Prefetch
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.store import Ack, OpenReport, Snapshot, Store


class MemoryEngine:
    """One store, its indexes and its embedder; may be shared by many processors of one process.

    Implements ``engine.memory.Memory``, which documents the methods. The other attributes are the
    components, for tests and benchmarks only.
    """

    def __init__(
        self,
        config: Config,
        *,
        readonly: bool = False,
        on_trouble: OnTrouble | None = None,
        clock: Clock = SystemClock(),
        embedder: QueryEmbedder | None = None,
        llm: LLM | None = None,
        metrics: Metrics | None = None,
        open_store: Callable[..., Store] | None = None,
    ) -> None:
        """Open the store, and the embedder if its model is present.

        Takes up to a second, more after an unclean stop: call it from a thread.

        Args:
            readonly: Only read, beside a process that writes.
            on_trouble: Called once with the reason when the store cannot save; see also
                ``availability``.
            clock: Returns the current time, timezone-aware; see ``slowcat_memory.clock``.
            embedder: For queries and documents, instead of the configured model.
            llm: For idle work, instead of the configured one.
            metrics: Counters to continue; None for new ones.
            open_store: Opens it, with the arguments of ``Store.open``; None for that.

        Raises:
            StoreError: The store cannot be opened.
            ConfigError: A value is out of range, or the time zone or the language does not exist.
            OSError: The disk refuses.
        """
        check_ranges(config)
        self.closed = False
        self.availability = Availability()
        if on_trouble is not None:
            self.availability.subscribe(on_trouble, lambda: None)
        wiring = self.wiring = EngineWiring(
            config,
            readonly=readonly,
            availability=self.availability,
            clock=clock,
            embedder=embedder,
            metrics=metrics,
            open_store=open_store,
        )
        try:
            self._wire(wiring, llm)
        except BaseException:
            wiring.close()  # or this process would keep the store from every later try
            raise

    def _wire(self, wiring: EngineWiring, llm: LLM | None) -> None:
        config = self.config = wiring.config
        self.readonly, self.clock = wiring.readonly, wiring.clock
        self.zone, self.metrics, self.store = wiring.zone, wiring.metrics, wiring.store
        self.eraser = Eraser(wiring)
        self.upkeep = Upkeep(wiring, self.eraser)
        self.notes = Notes(wiring)
        self.idle = IdleWork(
            job_parts(wiring, self.upkeep, llm),
            config.idle,
            config.thinking,
            wiring.metrics,
            wiring.indexer.take,
            gate=wiring.gate,
        )
        self.log = EventLog(wiring, self.idle.gate, self._on_session_end)
        self.turn_recall = TurnRecall(wiring)
        self._search = Search(wiring)
        self.command_memory = CommandMemory(wiring, self.notes)
        self._commands = CommandExecutor(
            self.command_memory,
            config.commands,
            config.memory.language,
            partial(self.notes.keep_local, on=True),
        )
        if not self.readonly:
            self._start()

    def _start(self) -> None:
        self.upkeep.end_orphaned_sessions()
        self.eraser.erase_soon()
        if self.wiring.embedding.needs_export:
            self.wiring.indexer.later(self.upkeep.export_model)
        if self.config.idle.enabled:
            self.idle.start()

    def _on_session_end(self) -> None:
        """Erase what is due, unless an idle job does it."""
        if not self.config.idle.enabled:
            self.eraser.erase_soon()

    # ------------------------------------------------------------------- life

    @classmethod
    def acquire(
        cls,
        config: Config,
        on_trouble: OnTrouble | None = None,
        *,
        metrics: Metrics | None = None,
    ) -> "MemoryEngine":
        """Return the engine of a store, shared by the processors of this process.

        Args:
            config: Only that of the first caller counts.
            on_trouble: As in the constructor; only that of the first caller counts.
            metrics: As in the constructor; only those of the first caller count.

        Returns:
            The engine; call ``release`` on it when done.

        Raises:
            StoreError: The store cannot be opened.
            OSError: The disk refuses.
        """
        return _shared.acquire(
            config.folder,
            lambda: cls(config, on_trouble=on_trouble, metrics=metrics),
            lambda engine: engine.closed,
        )

    def release(self) -> None:
        _shared.release(self.config.folder, self, self.close)

    def close(self) -> None:
        """Save pending writes and close. Takes a few seconds at most; may be called twice."""
        self.closed = True
        self.idle.stop()
        self.wiring.close()

    # ------------------------------------------------------------------- turns

    @property
    def embedding(self) -> EmbedderReport:
        return self.wiring.embedding.report

    @property
    def opened(self) -> OpenReport:
        return self.store.opened

    def append(self, event: Event) -> Ack:
        return self.log.append(event)

    def append_all(self, events: Sequence[Event], cursor: Cursor | None = None) -> list[Ack]:
        return self.log.append_all(events, cursor)

    async def recall(
        self,
        text: str,
        scope: str,
        *,
        prefetch: Prefetch | None = None,
        **known: Unpack[RecallArguments],
    ) -> Recollection:
        query = self.turn_recall.query(text, scope, **known)
        return await self.wiring.retrieval.recall(query, prefetch)

    def prefetch(self, ask: Callable[[str], Query | None]) -> Prefetch:
        return self.turn_recall.prefetch(ask)

    def pack(self, found: Recollection, now: datetime | None = None) -> Packed:
        return self.turn_recall.pack(found, now)

    def note_recall(self, turn: Turn, found: Recollection, packed: Packed) -> None:
        self.turn_recall.note(turn, found, packed)

    def session_context(self, scope: str, *, local: bool = False) -> str:
        self.wiring.users.load(scope)
        return self.wiring.heads.write(scope, self.wiring.reader(scope, local=local))

    def prepare(self, scope: str) -> None:
        with self.wiring.gate.closed("prepare"):
            self._prepare(scope)

    def _prepare(self, scope: str) -> None:
        wiring = self.wiring
        namespace = wiring.namespaces.get(scope)
        wiring.users.load(scope)
        namespace.finish_opening()
        namespace.wait_vectors()
        namespace.local_only()
        wiring.retrieval.run(Query(text="warm up", scope=scope, now=self.clock(), k=1))
        namespace.searcher.warm()
        wiring.indexer.later(self._warm_up, scope)
        if not self.readonly:
            wiring.indexer.later(wiring.vectors.embed_missing, scope)
            if namespace.seal_due():
                wiring.indexer.later(namespace.reseal)

    def _warm_up(self, scope: str) -> None:
        """Make what the first turns need and later ones have: a second of processor time, once."""
        memory, retrieval = self.config.memory, self.wiring.retrieval
        compile_patterns(memory.language, memory.agent_name)
        for text in rehearsed(memory.language):
            if self.wiring.indexer.closing.is_set():
                return
            retrieval.rehearse(Query(text=text, scope=scope, now=self.clock(), local=True))
        collect_garbage()

    def set_activity(self, name: str, busy: bool) -> None:
        gate = self.idle.gate
        change = gate.busy if busy else gate.gone if name.endswith("/") else gate.free
        change(name)

    # ------------------------------------------------------------------- reading

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return self.store.snapshot()

    def reader(self, *scopes: str, local: bool = False, muted: bool = False) -> Reader:
        return self.wiring.reader(*scopes, local=local, muted=muted)

    def search(
        self, text: str, scope: str, k: int = 10, **how: Unpack[SearchArguments]
    ) -> Recollection:
        return self._search.search(text, scope, k, **how)

    def hotwords(self, scope: str, n: int = 100, *, local: bool = False) -> list[Hotword]:
        return hotwords(self.wiring, scope, n, local=local)

    def stats(self) -> dict[str, Any]:
        return stats(self.wiring)

    def latest_session(self, scope: str) -> Session | None:
        with self.snapshot() as snapshot:
            return latest_session(snapshot, scope, self.clock())

    def graph(
        self,
        scope: str,
        *,
        true: datetime | None = None,
        known: datetime | None = None,
        local: bool = True,
    ) -> Graph:
        return read_graph(self, scope, true=true, known=known, local=local)

    def why(self, turn: int) -> tuple[LedgerEntry, dict[str, Memory]] | None:
        with self.snapshot() as snapshot:
            return why(snapshot, turn)

    # ------------------------------------------------------------------- changes

    def remember(
        self,
        text: str,
        scope: str,
        *,
        speaker: str = "",
        pinned: bool = False,
        importance: float = NOTE_IMPORTANCE,
        at: datetime | None = None,
        local_only: bool = False,
    ) -> Memory:
        return self.notes.remember(
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
        changed = None
        if pinned is not None:
            changed = self.notes.pin(scope, memory_id, pinned)
        if local_only is not None:
            changed = self.notes.keep_local(scope, memory_id, local_only)
        if muted is not None:
            changed = self.notes.mute(scope, memory_id, muted)
        if dropped:
            changed = next(iter(self.wiring.icebreakers.drop(scope, [memory_id])), None)
        return changed

    def correct(self, scope: str, memory_id: str, text: str) -> Memory | None:
        if family(memory_id) == BLOCK:
            with self.snapshot() as snapshot:
                there = snapshot.read(scope, memory_id)
            return edit_block(self, scope, memory_id.split("/")[1], text) if there else None
        return self.notes.correct(scope, memory_id, text)

    def push_icebreaker(
        self,
        scope: str,
        text: str,
        *,
        priority: float = 0.5,
        expires: datetime | None = None,
        quiet: bool = True,
    ) -> Memory | None:
        return self.wiring.icebreakers.push(
            scope, text, priority=priority, expires=expires, quiet=quiet
        )

    def carry_out(self, command: Command, context: CommandContext) -> Outcome:
        return self._commands.execute(command, context)

    def undo(self, entry: CommandEntry) -> CommandEntry | None:
        return self.wiring.undo_log.undo(entry)

    def forget(
        self,
        what: Forget | Sequence[Forget],
        *,
        dry_run: bool = False,
        keep_backups: bool = False,
        undo_s: float = 0.0,
    ) -> Forgotten:
        orders = [what] if isinstance(what, Forget) else what
        if dry_run:
            return self.eraser.preview(*orders)
        if undo_s:
            return self.eraser.hide(undo_s, *orders)
        return self.eraser.forget(*orders, keep_backups=keep_backups)

    def apply(self, job: str, batch: WriteBatch) -> None:
        self.wiring.events.write(job, batch)
        self.wiring.indexer.take(batch)

    # ------------------------------------------------------------------- upkeep

    def maintain(
        self, task: MaintenanceTask, scope: str = "", *, progress: Told | None = None
    ) -> Any:
        return self.upkeep.run(task, scope, progress)

    def think(
        self,
        jobs: Sequence[str] | None = None,
        progress: Callable[[Forecast], object] | None = None,
    ) -> int:
        if self.readonly:
            raise StoreError("no idle work is done in a store that is open read-only")
        return self.idle.until_done(jobs, progress)

    def subscribe(
        self,
        *,
        on_memory: OnMemory | None = None,
        on_pause: Callable[[], object] | None = None,
        on_event: OnMemory | None = None,
    ) -> Callable[[], None]:
        ends = [self.idle.subscribe(on_memory, on_pause)]
        if on_event is not None:
            ends += self.wiring.events.listen(on_event), self.idle.subscribe(on_event)

        def end() -> None:
            for one in ends:
                one()

        return end

    def drain(self) -> None:
        """Wait until everything appended is indexed and embedded, on disk or not."""
        self.wiring.indexer.drain()

    def flush(self, timeout_s: float | None = None, *, indexed: bool = False) -> bool:
        durable = self.store.flush(timeout_s)
        if indexed:
            self.wiring.indexer.drain()
        return durable


_shared: Shared[MemoryEngine] = Shared()
