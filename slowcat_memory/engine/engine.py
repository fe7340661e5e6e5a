"""The memory engine: a facade over its components.

The event loop only waits for a recall, at most until its deadline, and never for a write: durable
writes belong to the store's thread, everything else to the workers of ``runtime.namespaces.indexer``.
Everything is built before any of the engine's own threads starts.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, Unpack

from msgspec.structs import replace

from slowcat_memory.clock import Clock, SystemClock
from slowcat_memory.config import Config, check_ranges
from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.core.time.calendar import check_time
from slowcat_memory.engine.availability import Availability, Callers
from slowcat_memory.engine.idle import IdleWork, job_parts
from slowcat_memory.engine.notes import NOTE_IMPORTANCE, Marks, Notes
from slowcat_memory.engine.search import QueryArguments, Search, SearchArguments, build_query
from slowcat_memory.engine.upkeep import Upkeep
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.errors import StoreError
from slowcat_memory.idle.events import OnMemory
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import LLM, Embedder
from slowcat_memory.records import (
    CommandEntry,
    Cursor,
    Event,
    Forget,
    Forgotten,
    Memory,
    SessionEdge,
    Turn,
)
from slowcat_memory.runtime.commands.executor import CommandContext, CommandExecutor, Outcome
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.runtime.recall.prefetch import (
    Prefetch,
    collect_garbage,
    compile_patterns,
    rehearsed,
)
from slowcat_memory.runtime.recall.query import Query, Recollection, ledger_entry
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.store import Ack, Store
from slowcat_memory.store.disk.folder import or_undo

T = TypeVar("T")
INDEX_AFTER_S = 0.05  # after a turn: longer than it waits for its recall
APPENDING = "engine/append"  # the activity by which an append closes the idle gate


def check_events(events: Sequence[Event]) -> None:
    """Check what is to be appended.

    Raises:
        ValueError: There is no event.
        ConfigError: A scope is not a valid name, or a time has no zone.
    """
    if not events:
        raise ValueError("there is no event to append")
    for event in events:
        check_scope(event.scope)
        check_time(event.at)


def _call_after(seconds: float, work: Callable[..., object], *arguments: Any) -> None:
    """Call a function after its caller has returned to the event loop; at once where there is none."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        work(*arguments)
    else:
        loop.call_later(seconds, work, *arguments) if seconds else loop.call_soon(work, *arguments)


class MemoryEngine(EngineWiring):
    """One store, its indexes and its embedder; may be given to many processors of one process.

    Unless a method says otherwise it blocks, may be called from any thread but an event loop's, and
    raises ``StoreError`` when the store cannot be read or written, and ``ConfigError`` when a scope
    is not a valid name, or the time of a turn or a note has no time zone.

    Attributes:
        availability: Whether the memory can be saved, and who is told.
        callers: The activities and callbacks of its users.
        idle: The idle work.
        upkeep: Maintenance of what is on disk.
        icebreakers: What the agent is to bring up by itself.
        blocks: Writes recollections as blocks for the LLM.
        opened: What was found and done when the store was opened.
        snapshot: Opens a consistent view of the store; do not hold it across an ``await``.
        embedding: Whose ``report`` says which model is in use, and where it came from.

    The components of ``EngineWiring`` are for this package, tests and benchmarks.
    """

    def __init__(
        self,
        config: Config,
        *,
        readonly: bool = False,
        clock: Clock = SystemClock(),
        embedder: Embedder | None = None,
        llm: LLM | None = None,
        metrics: Metrics | None = None,
        open_store: Callable[..., Store] | None = None,
        callers: Callers | None = None,
    ) -> None:
        """Open the store, and the embedder if its model is present.

        Takes up to a second, more after an unclean stop: call it from a thread.

        Args:
            readonly: Only read, beside a process that writes.
            clock: Returns the current time, timezone-aware; see ``slowcat_memory.clock``.
            embedder: For queries and documents, instead of the configured model.
            llm: For idle work, instead of the configured one.
            metrics: Counters to continue; None for new ones.
            open_store: Opens it, with the arguments of ``Store.open``; None for that.
            callers: Those that outlive this engine; None for new ones.

        Raises:
            StoreError: The store cannot be opened.
            ConfigError: A value is out of range, or the time zone or the language does not exist.
            OSError: The disk refuses.
        """
        check_ranges(config)
        self.readonly, self.closed, self.availability = readonly, False, Availability()
        metrics, callers = metrics or Metrics(), callers or Callers(IdleGate(config.idle))
        store = (open_store or Store.open)(
            config.folder,
            readonly=readonly,
            options=config.store,
            on_trouble=self.availability.fail,
            on_back=self.availability.recover,
            metrics=metrics,
        )
        with or_undo(store.close):  # or this process would keep it from every later try
            super().__init__(config, store, clock, embedder, metrics, callers)
        with or_undo(super().close):
            self.upkeep, self.notes, self._search = Upkeep(self), Notes(self), Search(self)
            parts, index = job_parts(self, self.upkeep, llm), self.indexer.take
            self.idle = IdleWork(parts, config, metrics, index, callers=callers)
            self._commands = CommandExecutor(
                store=store,
                undo_log=self.undo_log,
                zone=self.zone,
                clock=clock,
                note=self.notes.note,
                reader=self.reader,
                is_guests=self.namespaces.is_guests,
                keep_local=partial(self.notes.mark, local_only=True),
                options=config.commands,
                language=config.memory.language,
            )
            if readonly:
                return
            self.upkeep.end_orphaned_sessions()
            self.upkeep.erase_soon()
            self.indexer.later(self.upkeep.export_model)
            if config.idle.enabled:
                self.idle.start()

    # ------------------------------------------------------------------- life

    def close(self) -> None:
        """Save pending writes and close. Takes a few seconds at most; may be called twice."""
        self.closed = True
        self.idle.stop()
        super().close()

    # ------------------------------------------------------------------- turns

    def append(self, *events: Event, cursor: Cursor | None = None) -> Ack:
        """Log events in one transaction, and make turns findable. Does not wait for the disk.

        Args:
            *events: Unnumbered turns and session edges, in order.
            cursor: Written with them.

        Returns:
            Resolves once they are durable; carries the last one and its number. The numbers of
            the others are those before it.

        Raises:
            ValueError: There is no event.
            StoreFullError: Too many writes are pending.
        """
        check_events(events)
        self.gate.busy(APPENDING)  # for its grace period
        self.gate.free(APPENDING)
        self.users.hear(events)
        self.clock_guard.doubt()  # before these turns' dates are the newest ones
        acks = self.store.append_all(events, cursor, quiet=True)
        self.indexer.add(acks)
        for ack in acks:
            self.events.stored(ack)
        # Once the caller has returned: waking a thread costs 0.05 ms, which a frame need not wait for.
        _call_after(0, self.store.wake_writer)
        # A turn is indexed and embedded when its own recall is over, not beside it.
        _call_after(INDEX_AFTER_S, self.indexer.release, self.store.last_id())
        if not self.config.idle.enabled:  # else an idle job does it
            if any(isinstance(event, SessionEdge) and event.kind == "end" for event in events):
                self.upkeep.erase_soon()
        return acks[-1]

    async def recall(
        self,
        text: str,
        scope: str,
        *,
        prefetch: Prefetch | None = None,
        **known: Unpack[QueryArguments],
    ) -> Recollection:
        """Recall for a turn that waits; return what is ready by the deadline.

        Args:
            prefetch: A recall made ahead for this turn; it is consumed, and costs no wait.
            **known: See ``QueryArguments``.
        """
        query = build_query(self.clock, text, scope, **known)
        return await self.retrieval.recall(query, prefetch)

    def prefetch(self, ask: Callable[[str], Query | None]) -> Prefetch:
        """Return a prefetcher for one speaker; use it on the event loop of this call.

        Args:
            ask: Returns the query that a turn of these words would make now (see ``build_query``);
                None for no recall.
        """

        def with_query(do: Callable[[Retrieval, Query], T], text: str = "") -> T | None:
            if (query := ask(text)) is not None:
                with suppress(RuntimeError, StoreError):  # it is being closed, or not open
                    return do(self.retrieval, query)
            return None

        return Prefetch(
            lambda text: with_query(lambda retrieval, query: retrieval.begin(query), text),
            self.config.prefetch,
            asyncio.get_running_loop(),
            lambda: with_query(lambda retrieval, query: retrieval.touch(query)),
        )

    def note_recall(self, turn: Turn, recollection: Recollection, packed: Packed) -> None:
        """Write into the ledger what was injected at a turn and what was rejected; skips guests.

        Returns at once: the row is made on the recall worker, once the caller has gone on.

        Args:
            turn: The user's turn, numbered.
            recollection: From ``recall``.
            packed: What was injected of it.
        """
        if self.namespaces.is_guests(turn.scope):
            return

        def record() -> None:
            entry = ledger_entry(turn, recollection, packed)
            self.store.write_ledger(entry)
            more = {"session": entry.session, "turn": entry.turn, "at": entry.at}
            offered = [offer.memory for offer in entry.offers]
            self.events.tell("recalled", entry.scope, offered, **more)

        _call_after(0, self.indexer.soon, record)

    def session_context(self, scope: str, *, local: bool = False) -> str:
        """Return what stays the same during a session, for the system instruction.

        Byte-stable while nothing is pinned or unpinned, so it belongs there before the session
        starts, where it costs the LLM's prefix cache nothing. Takes an icebreaker from the queue
        if one may be used; within one session it is the same one each time.

        Args:
            local: Whether the LLM is on this machine; otherwise local-only memories are excluded.

        Returns:
            A few lines; "" if there is nothing to include, and for guests.
        """
        return self.heads.write(scope, self.reader(scope, local=local))

    def prepare(self, scope: str) -> None:
        """Load a scope's index, so that its first recall is answered in full. Blocks.

        What makes it as fast as later ones (patterns, rules, a full garbage collection) takes a
        second of processor time once in a process, and follows in the background.
        """
        with self.gate.closed("prepare"):
            namespace = self.namespaces.get(scope)
            self.retrieval.search(Query(text="warm up", scope=scope, now=self.clock(), k=1))
            namespace.searcher.warm()
            with self.store.snapshot() as snapshot, self.catalogue(scope, snapshot):
                pass  # behind all that a recall needs; the first head waits for no reading
            self.indexer.later(self._warm_up, scope)
            if not self.readonly:
                self.indexer.later(self.indexer.embed, scope)
                if namespace.seal_due():
                    self.indexer.later(namespace.reseal)

    def _warm_up(self, scope: str) -> None:
        """Make what the first turns need and later ones have: a second of processor time, once."""
        memory, retrieval = self.config.memory, self.retrieval
        compile_patterns(memory.language, memory.agent_name)
        for text in rehearsed(memory.language):
            if self.indexer.closing.is_set():
                return
            if running := retrieval.touch(Query(text=text, scope=scope, now=self.clock())):
                running.result()
        collect_garbage()

    def set_activity(self, name: str, busy: bool) -> None:
        """Close the gate of idle work while an activity lasts. Returns at once; any thread.

        Args:
            name: The activity, for example "kitchen/user speaks". A name that ends in "/" means all
                names with that prefix, and is only valid with ``busy=False``.
            busy: Whether the activity is running.
        """
        gate = self.callers.gate
        change = gate.busy if busy else gate.gone if name.endswith("/") else gate.free
        change(name)

    # ------------------------------------------------------------------- reading

    def search(
        self, text: str, scope: str, k: int = 10, **how: Unpack[SearchArguments]
    ) -> Recollection:
        """Recall without a deadline and, by default, without a threshold; the best hits first.

        ``how``: see ``SearchArguments``.

        Raises:
            ConfigError: There is no such kind.
        """
        with self.gate.closed("search"):
            look = self._search.derived if how.get("kinds") else self._search.turns
            return look(text, scope, k, how)

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
        """Store a statement that was not made in a conversation; return it once it is durable.

        Args:
            speaker: The person it is about; "" for the configured user.
            pinned: Whether it always counts.
            importance: 0 to 1; 0.5 is ordinary.
            at: The time since when it is true; None for now.
            local_only: Whether it must never reach an LLM on another machine.

        Raises:
            ValueError: The statement is empty.
            ConfigError: The scope is not a valid name, or that of guests.
        """
        note = self.notes.note(text, scope, speaker=speaker, at=at)
        pinned, local_only = pinned or note.pinned, local_only or note.local_only
        note = replace(note, pinned=pinned, importance=importance, local_only=local_only)
        return self._settled(self.notes.put(note))

    def edit(
        self,
        scope: str,
        memory_id: str,
        *,
        text: str | None = None,
        **marks: Unpack[Marks],
    ) -> Memory | None:
        """Change the marks of a memory, or its words; None leaves it as it is.

        Other words replace it since when it was true: the old one is superseded and stays readable
        as history; the new one, a note, has its sources, pin and marks, and is taken back by
        ``undo``. A block gets a new version that jobs do not overwrite.

        Args:
            text: The user's own wording.
            **marks: See ``Marks``.

        Returns:
            The changed memory, or what replaces it, durable; None if there is no such current
            memory, and for other words of a turn: what was said stays as it was said.

        Raises:
            ValueError: The text is empty, or too long for a block.
            ConfigError: The scope is that of guests.
        """
        changed = None
        if any(on is not None for on in marks.values()):
            changed = self.notes.mark(scope, memory_id, **marks)
        if text is not None:
            changed = self.notes.correct(scope, memory_id, text)
        return self._settled(changed)

    def carry_out(self, command: Command, context: CommandContext) -> Outcome:
        """Execute a voice command; what the answer confirms is durable on return."""
        return self._commands.execute(command, context)

    def undo(self, entry: CommandEntry) -> CommandEntry | None:
        """Undo a command: restore what it hid, retire what it made; return its updated row.

        None when it does not exist or cannot be undone.
        """
        return self._settled(self.undo_log.undo(entry))

    def forget(
        self,
        what: Forget | Sequence[Forget],
        *,
        dry_run: bool = False,
        undo_s: float = 0.0,
    ) -> Forgotten:
        """Delete for good: turns, what was derived from them, index entries, cached queries.

        Args:
            what: What to forget; several orders are one pass.
            dry_run: Change nothing, and return what would be deleted from disk.
            undo_s: Hide it at once, durably, and delete it after as many seconds; until then
                ``undo`` takes the ``order`` of the result back. 0 deletes it now.

        Raises:
            ValueError: An order has no condition.
        """
        orders = [what] if isinstance(what, Forget) else what
        if not (dry_run or undo_s):
            return self.upkeep.forget(*orders)
        covered = self.store.covered(orders)
        if dry_run or not (covered.turns or covered.memories):
            return covered
        hidden = (), covered.turns, 0, undo_s, covered.memories
        order = self.undo_log.hide("forget_about", orders[0].scope, *hidden)
        return replace(covered, order=order)

    def _settled(self, changed: T) -> T:
        """Return the result of a change once it is where it belongs: it is durable here."""
        return changed

    def subscribe(
        self,
        *,
        on_pause: Callable[[], object] | None = None,
        on_event: OnMemory | None = None,
    ) -> Callable[[], None]:
        """Register callbacks. They run on the thread of what happens and must return at once.

        Args:
            on_pause: Called when idle work pauses: nothing is due, or somebody speaks.
            on_event: Called with everything that is stored, recalled, created, updated, retired,
                marked or forgotten, by whomever; not with turns that wait for the store.

        Returns:
            Ends the subscription.
        """
        callers, ends = self.callers, ExitStack()
        if on_event is not None:
            callers.on_event.append(on_event)
            ends.callback(callers.on_event.remove, on_event)
        if on_pause is not None:
            callers.on_pause.append(on_pause)
            ends.callback(callers.on_pause.remove, on_pause)
        return ends.close

    def flush(self, timeout_s: float | None = None, *, indexed: bool = False) -> bool:
        """Wait until everything appended so far is durable; return whether it is.

        Args:
            timeout_s: The longest wait; None for no limit.
            indexed: Wait until it is indexed and embedded as well; the vectors are durable then.
        """
        if indexed:
            self.indexer.drain()
        return self.store.flush(timeout_s)
