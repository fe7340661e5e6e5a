"""Selects what forget requests cover: turns, sessions and memories. Changes nothing."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id, turn_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import (
    CommandEntry,
    Context,
    Event,
    Forget,
    Forgotten,
    Key,
    LedgerEntry,
    Memory,
    Run,
    Session,
    SessionEdge,
    Task,
    Turn,
)
from slowcat_memory.store.blocks import removal
from slowcat_memory.store.blocks.reader import (
    EVENTS,
    BlockCache,
    BlockReader,
    DamagedRow,
    event_keys,
)
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows.bookkeeping import fold_session

Subject = tuple[str, str]  # scope, id

SUBJECT_TABLES = ("memories", "contexts", "keys")  # whose rows have vectors
RECORDS: dict[str, Any] = {
    "memories": Memory,
    "contexts": Context,
    "keys": Key,
    "ledger": LedgerEntry,
    "commands": CommandEntry,
    "tasks": Task,
    "runs": Run,
}


@dataclass(slots=True)
class Deletion:
    """The rows that some requests delete.

    Attributes:
        turns: By log id.
        edges: By log id: of sessions that lose their last turn.
        blocks: Numbers of the blocks that contain any of these events.
        memories: (scope, id), chunks included.
        memory_ids: The ids alone.
        unnamed: The memories deleted neither by their name nor by their sources.
        sessions: The remaining row of each session that loses an event; None when nothing remains.
        subjects: Memories and keys whose vectors are deleted.
        scopes: Namespaces whose index has any of it.
        damaged: (table, key) of unreadable records: whether a request covers them cannot be known,
            so they are deleted too.
    """

    selectors: "list[_Selector]"
    turns: dict[int, Turn] = field(default_factory=dict)
    edges: dict[int, SessionEdge] = field(default_factory=dict)
    blocks: set[int] = field(default_factory=set)
    memories: set[Subject] = field(default_factory=set)
    memory_ids: frozenset[str] = frozenset()
    unnamed: set[Subject] = field(default_factory=set)
    sessions: dict[str, Session | None] = field(default_factory=dict)
    subjects: set[Subject] = field(default_factory=set)
    scopes: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    damaged: list[tuple[str, bytes]] = field(default_factory=list)

    def events(self) -> dict[int, Event]:
        return {**self.turns, **self.edges}

    def lost_events(self) -> set[int]:
        """Return the log ids of the deleted events, damaged ones included."""
        return {*self.events(), *(keys.id_of(key) for name, key in self.damaged if name in EVENTS)}

    def result(self) -> Forgotten:
        """Return the report to the caller; not erased yet."""
        return Forgotten(turns=tuple(sorted(self.turns)), memories=tuple(sorted(self.memories)))

    def is_named(self, scope: str, memory: str) -> bool:
        return any(memory in s.memories and s.request.scope in ("", scope) for s in self.selectors)

    def is_whole(self, scope: str) -> bool:
        return any(s.is_whole_scope and s.request.scope in ("", scope) for s in self.selectors)

    def read_records(self, tx: Transaction, table: str) -> Iterator[tuple[bytes, Any]]:
        """Yield keys and records of a table; damaged ones are recorded, to be deleted."""
        for key, value in tx.rows(table):
            try:
                yield key, codec.decode(RECORDS[table], key, value)
            except StoreDamagedError:
                self.damaged.append((table, key))
                if table in SUBJECT_TABLES:
                    scope, id = keys.split_scope(key)
                    self.subjects.add((scope, id.decode()))

    def read_events(self, tx: Transaction) -> Iterator[Event]:
        """Yield the log; a damaged row is recorded, or a damaged block with its locations."""
        reader = BlockReader(tx.get, BlockCache())
        for key in event_keys(tx.cursor):
            try:
                event = reader.event(key)
            except DamagedRow as error:
                self.damaged += [*((table, key) for table in EVENTS), (error.table, error.key)]
            else:
                if event is not None:
                    yield event


class _Selector:
    """One request, ready to be matched with many turns and memories."""

    def __init__(self, request: Forget) -> None:
        self.request = request
        self.memories = frozenset(request.memories)
        self._by_ids = bool(request.turns or request.memories)
        self._turns = {*request.turns, *map(turn_of, request.memories)}
        scope, session = request.scope, request.session
        self.is_whole_scope = request == Forget(scope=scope, everything=True)
        self.has_whole_sessions = request == Forget(
            scope=scope, session=session, everything=request.everything
        )

    def has_turn(self, turn: Turn) -> bool:
        return (
            (not self._by_ids or turn.id in self._turns)
            and self.request.session in ("", turn.session)
            and self._matches(turn.scope, turn.speaker, turn.at)
        )

    def has_memory(self, memory: Memory) -> bool:
        """Return whether a memory is covered by name or, without sources, as a turn would be."""
        if not self._matches(memory.scope, memory.speaker, memory.valid_from):
            return False
        if self._by_ids:
            return memory.id in self.memories and not self.request.session
        return self.request.everything or not (memory.sources or self.request.session)

    def _matches(self, scope: str, speaker: str, at: datetime) -> bool:
        request = self.request
        return (
            request.scope in ("", scope)
            and request.speaker in ("", speaker)
            and (request.since is None or at >= request.since)
            and (request.until is None or at < request.until)
        )


def checked(what: Forget | Sequence[Forget]) -> tuple[Forget, ...]:
    """Return the requests; ``ValueError`` for one without a condition, or when there is none."""
    requests = (what,) if isinstance(what, Forget) else tuple(what)
    if not requests or Forget() in requests:
        raise ValueError("say what to forget: no condition is given")
    if any(request == Forget(scope=request.scope) for request in requests):
        raise ValueError("to forget a whole namespace, give everything=True too")
    return requests


def select(requests: Sequence[Forget], tx: Transaction) -> Deletion:
    selectors = [_Selector(request) for request in _joined(requests)]
    gone = Deletion(selectors)
    by_session: defaultdict[str, list[Event]] = defaultdict(list)
    for event in gone.read_events(tx):
        by_session[event.session].append(event)
        if isinstance(event, Turn) and any(s.has_turn(event) for s in selectors):
            gone.turns[event.id] = event
    _select_copies(by_session, gone)
    _select_sessions(by_session, gone)
    gone.memories = {(turn.scope, chunk_id(turn.id)) for turn in gone.turns.values()}
    for _, memory in gone.read_records(tx, "memories"):
        by_source = not gone.turns.keys().isdisjoint(memory.sources)
        if by_source or any(s.has_memory(memory) for s in selectors):
            gone.memories.add((memory.scope, memory.id))
            if not by_source and not gone.is_named(memory.scope, memory.id):
                gone.unnamed.add((memory.scope, memory.id))
    gone.blocks = {removal.block_of(keys.id_key(id), tx) for id in gone.lost_events()} - {0}
    gone.memory_ids = frozenset(id for _, id in gone.memories)
    gone.subjects |= gone.memories
    gone.scopes = {scope for scope, _ in gone.memories}
    gone.scopes |= {event.scope for event in gone.events().values()}
    return gone


def _select_copies(by_session: dict[str, list[Event]], gone: Deletion) -> None:
    """Select the copies of the agent's replies that were logged for several speakers."""
    said = [
        turn
        for turn in gone.turns.values()
        if turn.role == "assistant"
        and any(s.request.copies and s.has_turn(turn) for s in gone.selectors)
    ]
    wholes = {turn.part_of or turn.id for turn in said}
    for events in by_session.values() if wholes else ():
        for event in events:
            if isinstance(event, Turn) and (event.part_of or event.id) in wholes:
                gone.turns[event.id] = event


def _joined(requests: Sequence[Forget]) -> list[Forget]:
    """Join the requests for ids alone, so that many of them cost one lookup for each turn."""
    ids: defaultdict[str, tuple[list[int], list[str]]] = defaultdict(lambda: ([], []))
    others = []
    for request in requests:
        turns, memories = request.turns, request.memories
        if (turns or memories) and replace(request, turns=(), memories=()) in (
            Forget(scope=request.scope),
            Forget(scope=request.scope, everything=True),
        ):
            ids[request.scope][0].extend(turns)
            ids[request.scope][1].extend(memories)
        else:
            others.append(request)
    joined = [Forget(scope=s, turns=tuple(t), memories=tuple(m)) for s, (t, m) in ids.items()]
    return joined + others


def _select_sessions(by_session: dict[str, list[Event]], gone: Deletion) -> None:
    """Recompute each session that loses an event; one without a turn loses its edges too."""
    touched = {turn.session for turn in gone.turns.values()}
    for selector in gone.selectors:
        if selector.has_whole_sessions:
            scope, named = selector.request.scope, selector.request.session
            touched |= {
                session
                for session in ([named] if named else by_session)
                if any(scope in ("", event.scope) for event in by_session.get(session, ()))
            }
    for session in touched:
        kept = [event for event in by_session[session] if event.id not in gone.turns]
        if any(isinstance(event, Turn) for event in kept):
            gone.sessions[session] = reduce(fold_session, kept, None)
        else:
            gone.sessions[session] = None
            gone.edges |= {event.id: event for event in kept if isinstance(event, SessionEdge)}
