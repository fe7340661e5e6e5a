"""Deletes for good what forget requests cover, with everything derived from it, in one transaction.

Theory of operation. ``select`` reads the log and the memories once; then one loop over ``TABLES``
deletes, or cleans, the rows that name what is selected. ``NamedBy`` declares there how the rows of a
table name their sources; ``TESTS`` and ``RULES`` have one function for each way. All this happens
beside the writers, and the result is committed if nothing else was committed meanwhile: so a turn
that is said waits for the writing of the rows alone. After some tries it is made under the write
lock.

With a turn its chunk, every memory made from it, and all their vectors are deleted. A context and
an index key quote the turns that they were made from, so one forgotten source deletes them, though
their memory stays; its vectors, made with that context, are deleted too.

The same transaction records that bytes are to be erased (``care.copies``), and where.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from slowcat_memory.core.memory import MADE_AGAIN, chunk_id, family, session_in, turn_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import (
    CommandEntry,
    Context,
    Event,
    Forget,
    Forgotten,
    Key,
    Manifest,
    Memory,
    Run,
    Session,
    SessionEdge,
    Task,
    Turn,
)
from slowcat_memory.store import blocks, bookkeeping
from slowcat_memory.store.bookkeeping import Subject, drop_vectors, fold_session
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.tables import (
    EPOCH,
    ERASE_DUE,
    PENDING,
    RECORDS,
    TABLES,
    NamedBy,
    Table,
)
from slowcat_memory.store.disk.transaction import Transaction, change_beside

ANY = ""  # in place of ids, of a request that names none
SUBJECT_TABLES = ("memories", "contexts", "keys")  # whose rows have vectors


def forget(env: Environment, requests: Sequence[Forget]) -> Forgotten:
    """Delete the rows that checked requests cover; their bytes are still to be erased.

    Raises:
        StoreError: Nothing is deleted.
    """
    return change_beside(env, partial(delete, requests)).result()


def delete(requests: Sequence[Forget], tx: Transaction) -> "Deletion":
    """Delete what checked requests cover, and everything that names it."""
    gone = select(requests, tx)
    if gone.is_empty():
        return gone
    tx.set_meta(EPOCH, tx.meta(EPOCH, 0) + 1)
    gone.blocks = {blocks.block_of(codec.id_key(id), tx) for id in gone.event_ids} - {0}
    for table in TABLES:
        _drop_named(table, gone, tx)
        for way in table.named_by:
            if way in RULES:
                RULES[way](table, gone, tx)
    for name, key in gone.damaged:
        tx.drop(name, key)
    _bury(gone, tx)
    tx.set_meta(ERASE_DUE, True)
    # What an earlier deletion names is still due.
    tx.set_meta(PENDING, sorted(gone.scopes.union(read_pending(tx) or ())))
    return gone


def _bury(gone: "Deletion", tx: Transaction) -> None:
    """Write tombstones for turns and for memories that requests name.

    The other memories may be made again, differently. They get an epoch mark instead, so that a
    backup cannot restore them (see ``care.copies``).
    """
    tombstones = [codec.turn_tombstone(id) for id in gone.turns]
    tombstones += [codec.memory_tombstone(*row) for row in gone.memories if gone.is_named(*row)]
    for key in tombstones:
        tx.put("tombstones", key, codec.seal(key))
    for scope, memory in gone.unnamed:
        tx.write_record("tombstones", codec.epoch_mark(scope, memory), tx.meta(EPOCH, 0))


# ------------------------------------------------------------------- what is to be erased


def read_pending(tx: Transaction) -> list[str] | None:
    """Return the namespaces whose index files may have what is to be erased.

    None when nothing is, or the row does not read.
    """
    try:
        return msgspec.convert(tx.meta(PENDING), list[str] | None)
    except (StoreDamagedError, msgspec.ValidationError):
        return None


def end(tx: Transaction) -> None:
    """Record that nothing of what was deleted is left anywhere."""
    tx.drop("meta", codec.name_key(PENDING))
    tx.set_meta(ERASE_DUE, False)


# ------------------------------------------------------------------- what requests cover


@dataclass(slots=True)
class Deletion:
    """What some requests delete.

    Attributes:
        ids: Turns that are requested by number alone; their rows may be gone already, as in a file
            that was salvaged, and what was made from them may not.
        copies: Turns that no request covers: copies of a selected reply.
        turns: (scope, session) of all selected turns, by log id.
        edges: Likewise, of sessions that lose their last turn.
        memories: (scope, id), chunks included.
        unnamed: Those of them selected neither by their name nor by their sources.
        sessions: The remaining row of each session that loses an event; None when nothing remains.
        subjects: Memories and keys whose vectors are deleted.
        scopes: Namespaces whose index has any of it.
        tasks: Ids of the deleted tasks.
        blocks: Numbers of the blocks that have any of it.
        damaged: (table, key) of unreadable records: whether a request covers them cannot be known,
            so they are deleted too.
    """

    selectors: "list[_Selector]"
    ids: frozenset[int]
    copies: frozenset[int] = frozenset()
    turns: dict[int, Subject] = field(default_factory=dict)
    edges: dict[int, Subject] = field(default_factory=dict)
    memories: set[Subject] = field(default_factory=set)
    unnamed: set[Subject] = field(default_factory=set)
    sessions: dict[str, Session | None] = field(default_factory=dict)
    subjects: set[Subject] = field(default_factory=set)
    scopes: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    blocks: set[int] = field(default_factory=set)
    damaged: dict[tuple[str, bytes], None] = field(default_factory=dict)
    _by_id: "dict[int | str, list[_Selector]]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        for selector in self.selectors:
            for id in selector.ids:
                self._by_id.setdefault(id, []).append(selector)

    def _selectors_of(self, id: int | str) -> "list[_Selector]":
        """Return the requests that may cover a turn or memory: many for ids cost one lookup."""
        return [*self._by_id.get(ANY, ()), *self._by_id.get(id, ())]

    def is_empty(self) -> bool:
        """Return whether there is nothing to delete."""
        named = self.turns or self.memories or self.sessions or self.damaged
        return not named and not any(s.is_whole_scope for s in self.selectors)

    @property
    def events(self) -> dict[int, Subject]:
        return {**self.turns, **self.edges}

    @property
    def event_ids(self) -> set[int]:
        """Log ids of all events that go, damaged ones included."""
        damaged = {codec.id_of(key) for name, key in self.damaged if name in blocks.EVENTS}
        return damaged.union(self.turns, self.edges)

    def result(self) -> Forgotten:
        """Return the report to the caller; not erased yet."""
        return Forgotten(turns=tuple(sorted(self.turns)), memories=tuple(sorted(self.memories)))

    def is_made_from(self, sources: Sequence[int]) -> bool:
        return not (self.ids.isdisjoint(sources) and self.turns.keys().isdisjoint(sources))

    def has_memory(self, scope: str, id: str) -> bool:
        return (scope, id) in self.memories or turn_of(id) in self.turns

    def takes(self, turn: Turn) -> bool:
        return turn.id in self.copies or any(s.has_turn(turn) for s in self._selectors_of(turn.id))

    def takes_memory(self, memory: Memory) -> bool:
        return any(s.has_memory(memory) for s in self._selectors_of(memory.id))

    def takes_copies(self, reply: Turn) -> bool:
        """Return whether the copies of a reply in other namespaces are selected with it."""
        return any(s.request.copies and s.has_turn(reply) for s in self._selectors_of(reply.id))

    def is_named(self, scope: str, memory: str) -> bool:
        """Return whether a request names a memory whose id is never given again."""
        if family(memory) in MADE_AGAIN:
            return False
        named = (s for s in self._selectors_of(memory) if memory in s.memories)
        return any(s.request.scope in ("", scope) for s in named)

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
                    scope, id = codec.split_scope(key)
                    self.subjects.add((scope, id.decode()))

    def read_events(self, tx: Transaction) -> Iterator[Event]:
        """Yield the log; a damaged row is recorded, or a damaged block with its locations."""
        for key, event in blocks.BlockReader(tx).events():
            if isinstance(event, blocks.DamagedRow):
                damaged = (*((table, key) for table in blocks.EVENTS), (event.table, event.key))
                self.damaged |= dict.fromkeys(damaged)
            else:
                yield event


class _Selector:
    """One request, ready to be matched with many turns and memories."""

    def __init__(self, request: Forget) -> None:
        self.request = request
        self.memories = frozenset(request.memories)
        self.ids: set[int | str] = {*request.turns, *map(turn_of, request.memories)}
        self.ids = self.ids | self.memories or {ANY}
        scope, session = request.scope, request.session
        self.is_whole_scope = request == Forget(scope=scope, everything=True)
        self._has_whole_sessions = request == Forget(
            scope=scope, session=session, everything=request.everything
        )

    def has_turn(self, turn: Turn) -> bool:
        return (
            not self.ids.isdisjoint((ANY, turn.id))
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
        if ANY not in self.ids:
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
    """Select turns, sessions and memories; changes nothing."""
    ids = frozenset(id for r in requests if r == Forget(turns=r.turns) for id in r.turns)
    gone = Deletion([_Selector(request) for request in requests], ids)
    _select_turns(gone, tx)
    _select_memories(gone, tx)
    gone.scopes |= {scope for scope, _ in (*gone.memories, *gone.events.values())}
    return gone


def _select_turns(gone: Deletion, tx: Transaction) -> None:
    """Select turns, and recompute the sessions that lose one.

    One pass over the log, and a second one for the copies of selected replies in other namespaces.
    """
    kept, edges, copies = _fold_rest(gone, tx)
    if copies:
        gone.copies = frozenset(copies)
        kept, edges, _ = _fold_rest(gone, tx)
    touched = {session for _, session in gone.turns.values()}
    touched |= {  # whole ones, even if they have no turn
        session
        for session, row in kept.items()
        if any(selector.has_whole_session(session, row.scope) for selector in gone.selectors)
    }
    for session in touched:
        row = kept.get(session)
        if row is not None and row.turns:
            gone.sessions[session] = row
        else:
            gone.sessions[session] = None
            gone.edges |= edges[session]


Edges = defaultdict[str, dict[int, Subject]]
"""(scope, session) of edges, by session and log id."""


def _fold_rest(gone: Deletion, tx: Transaction) -> tuple[dict[str, Session], Edges, set[int]]:
    """Select turns; return the rows and edges of the sessions without them.

    Also the log ids of copies of selected replies that are to be selected too.
    """
    gone.turns.clear()
    kept, edges = dict[str, Session](), Edges(dict)
    parts = defaultdict[int, set[int]](set)  # copies of replies, by the first one
    wholes = set[int]()  # selected replies whose copies are selected too
    pairs: dict[Subject, Subject] = {}  # so that the turns of a session share one
    for event in gone.read_events(tx):
        if isinstance(event, Turn) and event.part_of and event.role == "assistant":
            parts[event.part_of].add(event.id)
        if isinstance(event, Turn) and gone.takes(event):
            pair = event.scope, event.session
            gone.turns[event.id] = pairs.setdefault(pair, pair)
            if event.role == "assistant" and gone.takes_copies(event):
                wholes.add(event.part_of or event.id)
            continue
        kept[event.session] = fold_session(kept.get(event.session), event)
        if isinstance(event, SessionEdge):
            edges[event.session][event.id] = event.scope, event.session
    copies = {id for whole in wholes for id in (whole, *parts[whole])}
    return kept, edges, copies - gone.turns.keys()


def _select_memories(gone: Deletion, tx: Transaction) -> None:
    gone.memories = {(scope, chunk_id(id)) for id, (scope, _) in gone.turns.items()}
    made_from: defaultdict[Subject, list[Subject]] = defaultdict(list)
    named = set[Subject]()
    for _, memory in gone.read_records(tx, "memories"):
        which = memory.scope, memory.id
        # A reply's chunk has only its mark from its origins; its words are the agent's.
        for origin in () if turn_of(memory.id) else memory.derived_from:
            made_from[origin].append(which)
        if gone.is_made_from(memory.sources) or turn_of(memory.id) in gone.turns:
            gone.memories.add(which)
        elif gone.takes_memory(memory):
            named.add(which)
    gone.memories |= named
    named |= _made_from_selected(made_from, gone)
    gone.unnamed = {which for which in named if not gone.is_named(*which)}
    gone.memories |= named
    gone.subjects |= gone.memories


def _made_from_selected(
    made_from: Mapping[Subject, Sequence[Subject]], gone: Deletion
) -> set[Subject]:
    """Return the memories that were made from selected ones, however indirectly."""
    derived = set[Subject]()
    waiting = [origin for origin in made_from if origin in gone.memories]
    while waiting:
        fresh = {*made_from.get(waiting.pop(), ())} - gone.memories - derived
        derived |= fresh
        waiting += fresh
    return derived


# ------------------------------------------------------------------- tables whose records are tested


def _names_work(record: Task | Run, gone: Deletion) -> bool:
    """Return whether a task's id, which may contain words, names deleted data."""
    if isinstance(record, Task):
        scope, key = record.scope, record.key
    elif record.task in gone.tasks:
        return True
    else:
        scope, _, key = record.task.removeprefix(f"{record.job}/").partition("/")
    ended = key in gone.sessions and gone.sessions[key] is None
    return ended or gone.has_memory(scope, key) or gone.is_whole(scope)


TESTS: dict[NamedBy, Callable[[Any, Deletion], bool]] = {
    NamedBy.TURNS: lambda record, gone: gone.is_made_from(record.sources),
    NamedBy.MEMORY: lambda record, gone: gone.has_memory(record.scope, record.memory),
    NamedBy.WORK: _names_work,
}


def _drop_named(table: Table, gone: Deletion, tx: Transaction) -> None:
    tests = [TESTS[way] for way in table.named_by if way in TESTS]
    for key, record in gone.read_records(tx, table.name) if tests else ():
        if not any(test(record, gone) for test in tests):
            continue
        tx.drop(table.name, key)
        if isinstance(record, Context | Key):
            gone.subjects.add((record.scope, getattr(record, "id", record.memory)))
            gone.scopes.add(record.scope)
        elif isinstance(record, Task):
            gone.tasks.add(record.id)


# ------------------------------------------------------------------- the other tables


def _drop_events(table: Table, gone: Deletion, tx: Transaction) -> None:
    scoped = table.key.startswith("scope")
    for id, (scope, _) in gone.events.items():
        tx.drop(table.name, codec.scoped_id_key(scope, id) if scoped else codec.id_key(id))


def _fold_sessions(table: Table, gone: Deletion, tx: Transaction) -> None:
    for session, row in gone.sessions.items():
        key = codec.name_key(session)
        if row is None:
            tx.drop(table.name, key)
        elif row != tx.read(Session, table.name, key):
            tx.write_record(table.name, key, row)
    is_open = {id: row is not None and row.ended is None for id, row in gone.sessions.items()}
    bookkeeping.list_unended(is_open, tx)


def _drop_memories(table: Table, gone: Deletion, tx: Transaction) -> None:
    for which in gone.memories:
        tx.drop(table.name, codec.scoped_key(*which))


def _drop_scopes(table: Table, gone: Deletion, tx: Transaction) -> None:
    """Delete manifests and numbered changes: nothing depends on them, and ids may be words.

    The indexes of the other namespaces have nothing of it, and stay in use: so their manifests say.
    """
    for scope in gone.scopes:
        if table.key == "scope":
            tx.drop(table.name, codec.name_key(scope))
        else:
            bookkeeping.drop_changes(scope, bookkeeping.LATEST, tx)
    if table.key == "scope":
        epoch = tx.meta(EPOCH, 0)
        for key in list(tx.keys(table.name)):
            other = tx.read(Manifest, table.name, key)
            if other and other.forget_epoch == epoch - 1:
                tx.write_record(table.name, key, replace(other, forget_epoch=epoch))


IsAway = Callable[[str], bool]
"""Returns whether a memory of any namespace is deleted."""


def _clean_ids(table: Table, gone: Deletion, tx: Transaction) -> None:
    clean, ids = CLEANED[table.name], {id for _, id in gone.memories}

    def is_away(id: str) -> bool:
        return id in ids or turn_of(id) in gone.turns

    for key, entry in gone.read_records(tx, table.name):
        cleaned = None if gone.is_whole(entry.scope) else clean(entry, is_away, gone)
        if cleaned is None:
            tx.drop(table.name, key)
        elif cleaned != entry:
            tx.write_record(table.name, key, cleaned)


def _cleaned_command(entry: CommandEntry, is_away: IsAway, gone: Deletion) -> CommandEntry:
    """Return a command's row without deleted ids: an id may contain words."""
    kept = replace(
        entry,
        turn=0 if entry.turn in gone.turns else entry.turn,
        made=tuple(id for id in entry.made if not is_away(id)),
        hidden=tuple(id for id in entry.hidden if not is_away(id)),
        others=tuple(other for other in entry.others if not is_away(other[1])),
        turns=tuple(turn for turn in entry.turns if turn not in gone.turns),
    )
    lost = replace(kept, turn=entry.turn) != entry
    rest = kept.made or kept.hidden or kept.others or kept.turns
    return replace(kept, state="erased") if lost and not rest else kept


CLEANED: dict[str, Callable[[Any, IsAway, Deletion], Any]] = {
    "ledger": lambda entry, is_away, gone: (
        None if entry.turn in gone.turns else bookkeeping.without(entry, is_away)
    ),
    "calls": lambda entry, is_away, gone: replace(
        entry, memories=tuple(id for id in entry.memories if not is_away(id))
    ),
    "commands": _cleaned_command,
}

RULES: dict[NamedBy, Callable[[Table, Deletion, Transaction], None]] = {
    NamedBy.EVENT: _drop_events,
    NamedBy.PACKED_EVENTS: lambda table, gone, tx: blocks.remove_events(
        table.name, gone.event_ids, gone.blocks, tx
    ),
    NamedBy.SESSION: _fold_sessions,
    NamedBy.SELECTION: _drop_memories,
    NamedBy.SUBJECT: lambda table, gone, tx: drop_vectors(gone.subjects, tx),
    NamedBy.IDS: _clean_ids,
    NamedBy.SCOPE: _drop_scopes,
}
