"""Selects what forget requests cover: turns, sessions, memories, and rows derived from them.

Changes nothing, and reads each table once. ``select`` reads the log and the memories; once its
result is hidden (see ``pending``), so that nothing more can be derived from it, ``add_derived``
adds the other rows.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id, session_in, turn_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import (
    CallEntry,
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
from slowcat_memory.store.blocks.reader import EVENTS, BlockReader, DamagedRow
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows.bookkeeping import fold_session
from slowcat_memory.store.rows.pending import Pending, Subject, unpack_ids, unpack_memories

SUBJECT_TABLES = ("memories", "contexts", "keys")  # whose rows have vectors
RECORDS: dict[str, Any] = {
    "memories": Memory,
    "contexts": Context,
    "keys": Key,
    "ledger": LedgerEntry,
    "calls": CallEntry,
    "commands": CommandEntry,
    "tasks": Task,
    "runs": Run,
}


@dataclass(slots=True)
class Deletion:
    """The rows that some requests delete.

    Attributes:
        ids: Log ids of all selected turns, also of those whose rows are deleted already.
        copies: Those of them that no request covers: copies of a selected reply.
        turns: (scope, session) of those in the log, by log id.
        edges: Likewise, of sessions that lose their last turn.
        upto: The last log id that was read.
        memories: (scope, id), chunks included.
        memory_ids: The ids alone, once derived rows are added.
        named: Those of them that requests select by name, or without sources.
        unnamed: Those of them selected neither by their name nor by their sources.
        sessions: The remaining row of each session that loses an event; None when nothing remains.
        rows: (table, key) of the derived rows to delete.
        subjects: Memories and keys whose vectors are deleted.
        scopes: Namespaces whose index has any of it.
        tasks: Ids of the tasks among ``rows``.
        resumed: Whether some rows may have been deleted before.
        damaged: (table, key) of unreadable records: whether a request covers them cannot be known,
            so they are deleted too.
    """

    selectors: "list[_Selector]"
    ids: frozenset[int] = frozenset()
    copies: frozenset[int] = frozenset()
    turns: dict[int, Subject] = field(default_factory=dict)
    edges: dict[int, Subject] = field(default_factory=dict)
    upto: int = 0
    memories: set[Subject] = field(default_factory=set)
    memory_ids: frozenset[str] = frozenset()
    named: set[Subject] = field(default_factory=set)
    unnamed: set[Subject] = field(default_factory=set)
    sessions: dict[str, Session | None] = field(default_factory=dict)
    rows: dict[tuple[str, bytes], None] = field(default_factory=dict)
    subjects: set[Subject] = field(default_factory=set)
    scopes: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    resumed: bool = False
    damaged: dict[tuple[str, bytes], None] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Return whether there is nothing to delete."""
        found = self.ids or self.memories or self.sessions or self.damaged
        return not found and not any(s.is_whole_scope for s in self.selectors)

    def events(self) -> dict[int, Subject]:
        return {**self.turns, **self.edges}

    def damaged_events(self) -> set[int]:
        return {keys.id_of(key) for name, key in self.damaged if name in EVENTS}

    def result(self) -> Forgotten:
        """Return the report to the caller; not erased yet."""
        return Forgotten(turns=tuple(sorted(self.turns)), memories=tuple(sorted(self.memories)))

    def has_memory(self, scope: str, id: str) -> bool:
        return (scope, id) in self.memories or turn_of(id) in self.ids

    def takes_copies(self, reply: Turn) -> bool:
        """Return whether the copies of a reply in other namespaces are selected with it."""
        return not self.resumed and any(
            s.request.copies and s.has_turn(reply) for s in self.selectors
        )

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
                self.damaged[table, key] = None
                if table in SUBJECT_TABLES:
                    scope, id = keys.split_scope(key)
                    self.subjects.add((scope, id.decode()))

    def read_events(self, tx: Transaction) -> Iterator[Event]:
        """Yield the log; a damaged row is recorded, or a damaged block with its locations."""
        for key, event in BlockReader(tx.get).events(tx.cursor):
            self.upto = keys.id_of(key)
            if isinstance(event, DamagedRow):
                damaged = (*((table, key) for table in EVENTS), (event.table, event.key))
                self.damaged |= dict.fromkeys(damaged)
            else:
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
        self._has_whole_sessions = request == Forget(
            scope=scope, session=session, everything=request.everything
        )

    def has_turn(self, turn: Turn) -> bool:
        return (
            (not self._by_ids or turn.id in self._turns)
            and self._has_session(turn.session, turn.scope)
            and self._matches(turn.scope, turn.speaker, turn.at)
        )

    def _has_session(self, session: str, scope: str) -> bool:
        named = self.request.session
        return not named or session in (named, session_in(named, scope))

    def has_whole_session(self, session: str, scope: str) -> bool:
        owned = self._has_whole_sessions and self.request.scope in ("", scope)
        return owned and self._has_session(session, scope)

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


def select(requests: Sequence[Forget], tx: Transaction, pending: Pending | None = None) -> Deletion:
    """Select turns, sessions and memories.

    ``pending`` is an erasure with these requests that was interrupted: what it has selected is
    selected again, and nothing else.
    """
    gone = Deletion([_Selector(request) for request in _joined(requests)])
    if pending is not None:
        gone.ids, gone.resumed = frozenset(unpack_ids(pending.turns)), True
    _select_turns(gone, tx)
    _select_memories(gone, tx, pending)
    gone.scopes |= {scope for scope, _ in (*gone.memories, *gone.events().values())}
    return gone


def _select_turns(gone: Deletion, tx: Transaction) -> None:
    """Select turns, and recompute the sessions that lose one.

    One pass over the log, and a second one for the copies of selected replies in other namespaces.
    """
    rest = _fold_rest(gone, tx)
    copies = rest.copies() - gone.turns.keys()
    if copies:
        gone.copies = frozenset(copies)
        rest = _fold_rest(gone, tx)
    if not gone.resumed:
        gone.ids = frozenset(gone.turns)
    touched = {session for _, session in gone.turns.values()}
    touched |= {  # whole ones, even if they have no turn
        session
        for session, row in rest.kept.items()
        if any(selector.has_whole_session(session, row.scope) for selector in gone.selectors)
    }
    if gone.resumed:  # rows that count events that were deleted before the interruption
        rows = tx.records(Session, "sessions")
        touched |= {row.id for row in rows if row != rest.kept.get(row.id)}
    for session in touched:
        row = rest.kept.get(session)
        if row is not None and row.turns:
            gone.sessions[session] = row
        else:
            gone.sessions[session] = None
            gone.edges |= rest.edges[session]


@dataclass(slots=True)
class _Rest:
    """The log without the selected turns, by session.

    Attributes:
        kept: The remaining rows.
        edges: (scope, session) of the edges, by log id.
        parts: Log ids of the copies of replies, by that of the first one.
        wholes: Those of the selected replies whose copies are selected too.
    """

    kept: dict[str, Session] = field(default_factory=dict)
    edges: defaultdict[str, dict[int, Subject]] = field(default_factory=lambda: defaultdict(dict))
    parts: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    wholes: set[int] = field(default_factory=set)

    def copies(self) -> set[int]:
        """Return the log ids of the selected replies and of their copies."""
        return {id for whole in self.wholes for id in (whole, *self.parts[whole])}

    def add(self, event: Event) -> None:
        self.kept[event.session] = fold_session(self.kept.get(event.session), event)
        if isinstance(event, SessionEdge):
            self.edges[event.session][event.id] = event.scope, event.session


def _fold_rest(gone: Deletion, tx: Transaction) -> _Rest:
    gone.turns.clear()
    rest = _Rest()
    pairs: dict[Subject, Subject] = {}  # so that the turns of a session share one
    for event in gone.read_events(tx):
        if isinstance(event, Turn) and event.part_of and event.role == "assistant":
            rest.parts[event.part_of].add(event.id)
        if isinstance(event, Turn) and _is_selected(event, gone):
            pair = event.scope, event.session
            gone.turns[event.id] = pairs.setdefault(pair, pair)
            if event.role == "assistant" and gone.takes_copies(event):
                rest.wholes.add(event.part_of or event.id)
        else:
            rest.add(event)
    return rest


def _is_selected(turn: Turn, gone: Deletion) -> bool:
    if gone.resumed:
        return turn.id in gone.ids
    return turn.id in gone.copies or any(selector.has_turn(turn) for selector in gone.selectors)


def _select_memories(gone: Deletion, tx: Transaction, pending: Pending | None) -> None:
    gone.memories = {(scope, chunk_id(id)) for id, (scope, _) in gone.turns.items()}
    made_from: defaultdict[Subject, list[Subject]] = defaultdict(list)
    for _, memory in gone.read_records(tx, "memories"):
        # A reply's chunk has only its mark from its origins; its words are the agent's.
        for origin in () if turn_of(memory.id) else memory.derived_from:
            made_from[origin].append((memory.scope, memory.id))
        if add_by_source(memory, gone):
            continue
        which = memory.scope, memory.id
        if pending is None and any(selector.has_memory(memory) for selector in gone.selectors):
            gone.named.add(which)
    if pending is not None:
        gone.named.update(unpack_memories(pending.memories))
    gone.memories |= gone.named
    gone.named |= _made_from_selected(made_from, gone)
    gone.unnamed = {which for which in gone.named if not gone.is_named(*which)}
    gone.memories |= gone.named
    gone.subjects |= gone.memories


def _made_from_selected(
    made_from: Mapping[Subject, Sequence[Subject]], gone: Deletion
) -> set[Subject]:
    """Return the memories that were made from selected ones, however indirectly."""
    found: set[Subject] = set()
    waiting = [origin for origin in made_from if origin in gone.memories]
    while waiting:
        made = made_from.get(waiting.pop(), ())
        fresh = [one for one in made if one not in gone.memories and one not in found]
        found.update(fresh)
        waiting += fresh
    return found


def add_by_source(memory: Memory, gone: Deletion) -> bool:
    """Select a memory that is a selected turn's chunk, or made from one; return whether it is."""
    if gone.ids.isdisjoint(memory.sources) and turn_of(memory.id) not in gone.ids:
        return False
    gone.memories.add((memory.scope, memory.id))
    gone.subjects.add((memory.scope, memory.id))
    return True


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
