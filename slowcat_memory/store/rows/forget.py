"""What a person wants gone: which rows that is, and taking them away.

A turn takes with it its chunk, every memory that was made from it, their vectors by every
embedder, its ledger row and what other rows offered of it; and what ``cascade`` finds. A session's row is folded anew from
what is left of it, or goes with its edges when no turn is left.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import chunk_id, turn_of
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
from slowcat_memory.store.blocks.locations import EVENTS, event_keys
from slowcat_memory.store.blocks.reader import BlockCache, BlockReader, DamagedRow
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows import apply, cascade, change_log, unended
from slowcat_memory.store.rows.sessions import fold


def check(what: Forget) -> None:
    """Refuse to forget nothing in particular.

    Args:
        what: The wish.

    Raises:
        ValueError: No condition is given.
    """
    if what == Forget():
        raise ValueError("say what to forget: nothing is given")
    if what == Forget(scope=what.scope):
        raise ValueError("to forget a whole namespace, give everything=True too")


@dataclass(slots=True)
class Doomed:
    """The rows that a wish covers.

    Attributes:
        turns: By log id.
        edges: By log id: of sessions that lose their last turn.
        memories: (scope, id), chunks included.
        unnamed: Those of them that go neither by their name nor by their sources.
        sessions: Ids of sessions to fold anew: what is left of each.
        along: Contexts, keys, tasks and runs.
        damaged: (table, key) of records that cannot be read, so that nobody can tell whether the
            wish covers them: they go too.
    """

    turns: dict[int, Turn] = field(default_factory=dict)
    edges: dict[int, SessionEdge] = field(default_factory=dict)
    memories: set[tuple[str, str]] = field(default_factory=set)
    unnamed: set[tuple[str, str]] = field(default_factory=set)
    sessions: dict[str, Session | None] = field(default_factory=dict)
    along: cascade.Along = field(default_factory=cascade.Along)
    damaged: list[tuple[str, bytes]] = field(default_factory=list)

    def readable(self, tx: Transaction, table: str, kind: Any) -> Iterator[Any]:
        """Read a table's records and note those that are damaged.

        Args:
            tx: To read from.
            table: The table.
            kind: Its records' type.

        Yields:
            Records.
        """
        if table not in tx.handles:  # read beside a writer of an older version
            return
        for key, value in tx.txn.cursor(tx.handles[table]):
            try:
                yield codec.decode(kind, key, value)
            except StoreDamagedError:
                self.damaged.append((table, key))

    def events(self, tx: Transaction) -> Iterator[Event]:
        """Read the log, and note what is damaged: a row, or a block with all that point to it.

        Args:
            tx: To read from.

        Yields:
            Events.
        """
        reader = BlockReader(tx.get, BlockCache())
        for key in event_keys(tx.txn, tx.handles):
            try:
                event = reader.event(key)
            except DamagedRow as error:
                self.damaged += [*((table, key) for table in EVENTS), (error.table, error.key)]
            else:
                if event is not None:
                    yield event


# ------------------------------------------------------------------- which


def find(what: Forget, tx: Transaction) -> Doomed:
    """Find every row that a wish covers.

    Args:
        what: The wish, checked.
        tx: To read from.

    Returns:
        The rows.
    """
    doomed = Doomed()
    events = list(doomed.events(tx))
    wanted = _turn_test(what)
    doomed.turns = {e.id: e for e in events if isinstance(e, Turn) and wanted(e)}
    _find_sessions(what, events, doomed)
    doomed.memories = {(t.scope, chunk_id(t.id)) for t in doomed.turns.values()}
    for memory in doomed.readable(tx, "memories", Memory):
        if _covers(what, memory, doomed):
            doomed.memories.add((memory.scope, memory.id))
            if doomed.turns.keys().isdisjoint(memory.sources) and memory.id not in what.memories:
                doomed.unnamed.add((memory.scope, memory.id))
    _find_along(what, doomed, tx)
    return doomed


def _find_along(what: Forget, doomed: Doomed, tx: Transaction) -> None:
    ended = frozenset(session for session, row in doomed.sessions.items() if row is None)
    gone = cascade.Gone(frozenset(doomed.turns), frozenset(doomed.memories), ended)
    along, read = doomed.along, doomed.readable
    contexts, every_key = read(tx, "contexts", Context), read(tx, "keys", Key)
    for table, subject in cascade.contexts_and_keys(gone, contexts, every_key):
        (along.contexts if table == "contexts" else along.keys).add(subject)
    along.tasks |= set(cascade.tasks(what, gone, read(tx, "tasks", Task)))
    along.runs |= set(cascade.runs(what, gone, along.tasks, read(tx, "runs", Run)))


def _turn_test(what: Forget) -> Callable[[Turn], bool]:
    named = set(what.turns) | {turn_of(memory) for memory in what.memories}
    by_id = bool(what.turns or what.memories)

    def wanted(turn: Turn) -> bool:
        return (
            (not by_id or turn.id in named)
            and (not what.session or turn.session == what.session)
            and _in(what, turn.scope, turn.speaker, turn.at)
        )

    return wanted


def _in(what: Forget, scope: str, speaker: str, at: datetime) -> bool:
    return (
        what.scope in ("", scope)
        and what.speaker in ("", speaker)
        and (what.since is None or at >= what.since)
        and (what.until is None or at < what.until)
    )


def _covers(what: Forget, memory: Memory, doomed: Doomed) -> bool:
    """Tell whether a memory goes: by its sources, by its name, or for want of sources as a turn."""
    if any(source in doomed.turns for source in memory.sources):
        return True
    if not _in(what, memory.scope, memory.speaker, memory.valid_from):
        return False
    if what.memories or what.turns:
        return memory.id in what.memories and not what.session
    return what.everything or not (memory.sources or what.session)


def _find_sessions(what: Forget, events: list[Event], doomed: Doomed) -> None:
    touched = {turn.session for turn in doomed.turns.values()}
    if what == Forget(scope=what.scope, session=what.session, everything=what.everything):
        touched |= {e.session for e in events if _names_session(what, e)}
    for session in touched:
        kept = [e for e in events if e.session == session and e.id not in doomed.turns]
        if any(isinstance(event, Turn) for event in kept):
            doomed.sessions[session] = _folded(kept)
        else:
            doomed.sessions[session] = None
            doomed.edges |= {e.id: e for e in kept if isinstance(e, SessionEdge)}


def _names_session(what: Forget, event: Event) -> bool:
    """Tell whether a whole session is meant, be there a turn in it or not."""
    return what.session in ("", event.session) and what.scope in ("", event.scope)


def _folded(events: list[Event]) -> Session | None:
    row = None
    for event in events:
        row = fold(row, event)
    return row


# ------------------------------------------------------------------- away


def covered(what: Forget, tx: Transaction) -> Forgotten:
    """Tell what a wish covers, and take nothing away.

    Args:
        what: The wish, checked.
        tx: To read from.

    Returns:
        What would be gone.
    """
    doomed = find(what, tx)
    return Forgotten(turns=tuple(sorted(doomed.turns)), memories=tuple(sorted(doomed.memories)))


def forget(what: Forget, tx: Transaction) -> Forgotten:
    """Take away every row that a wish covers, and leave nothing of it in blocks or dictionaries.

    Args:
        what: The wish, checked.
        tx: Takes the changes.

    Returns:
        What is gone; not erased yet.
    """
    doomed = find(what, tx)
    _empty_blocks(doomed, tx)
    _drop_events(doomed, tx)
    for scope, memory in doomed.memories:
        apply.drop_memory(scope, memory, tx)
    cascade.drop(doomed.along, tx)
    _bury(what, doomed, tx)
    _clean_ledger(doomed, tx)
    _clean_commands(what, doomed, tx)
    for table, key in doomed.damaged:
        cascade.drop_damaged(table, key, tx)
    if doomed.turns or doomed.memories or doomed.edges or doomed.along or doomed.damaged:
        _close_the_books(doomed, tx)
    return Forgotten(turns=tuple(sorted(doomed.turns)), memories=tuple(sorted(doomed.memories)))


def _empty_blocks(doomed: Doomed, tx: Transaction) -> None:
    """Take events out of their blocks; the rows that say which are still in place."""
    gone = {*doomed.turns, *doomed.edges}
    gone |= {keys.id_of(key) for table, key in doomed.damaged if table in EVENTS}
    numbers = {removal.block_of(keys.id_key(id), tx) for id in gone} - {0}
    if gone:
        removal.remove_events(gone, numbers, tx)


def _drop_events(doomed: Doomed, tx: Transaction) -> None:
    gone: dict[int, Event] = {**doomed.turns, **doomed.edges}
    for event in gone.values():
        for table in EVENTS:
            tx.drop(table, keys.id_key(event.id))
        tx.drop("log_by_scope", keys.scoped_id_key(event.scope, event.id))
    for session, row in doomed.sessions.items():
        key = keys.name_key(session)
        unended.track(tx.read(Session, "sessions", key), row, session, tx)
        if row is None:
            tx.drop("sessions", key)
        else:
            tx.write_record("sessions", key, row)


def _bury(what: Forget, doomed: Doomed, tx: Transaction) -> None:
    """Leave a tombstone for what was named; a cascade's memories may be made anew, differently.

    What went neither by its name nor by its sources leaves a mark: the same words may be kept
    again one day, and a backup of before must not bring them back (see ``restoring``).
    """
    buried = [keys.turn_tombstone(turn) for turn in doomed.turns]
    buried += [keys.memory_tombstone(s, m) for s, m in doomed.memories if m in what.memories]
    for key in buried:
        tx.put("tombstones", key, codec.seal(key))
    epoch = tx.meta(EPOCH, 0) + 1
    for scope, memory in doomed.unnamed:
        tx.write_record("tombstones", keys.epoch_mark(scope, memory), epoch)


def _clean_ledger(doomed: Doomed, tx: Transaction) -> None:
    ids = {memory for _, memory in doomed.memories}
    for entry in list(doomed.readable(tx, "ledger", LedgerEntry)):
        key = keys.id_key(entry.turn)
        kept = apply.without(entry, lambda memory: memory in ids)
        if entry.turn in doomed.turns:
            tx.drop("ledger", key)
        elif kept != entry:
            tx.write_record("ledger", key, kept)


def _clean_commands(what: Forget, doomed: Doomed, tx: Transaction) -> None:
    """Take what is gone out of the orders that name it; an id may be made of its words."""
    whole = what == Forget(scope=what.scope, everything=True)
    for entry in list(doomed.readable(tx, "commands", CommandEntry)):
        key = keys.id_key(entry.id)
        if whole and what.scope in ("", entry.scope):
            tx.drop("commands", key)
        elif (cleaned := _cleaned(entry, doomed)) != entry:
            tx.write_record("commands", key, cleaned)


def _cleaned(entry: CommandEntry, doomed: Doomed) -> CommandEntry:
    made, hidden = (
        tuple(id for id in ids if (entry.scope, id) not in doomed.memories)
        for ids in (entry.made, entry.hidden)
    )
    turns = tuple(turn for turn in entry.turns if turn not in doomed.turns)
    lost = (made, hidden, turns) != (entry.made, entry.hidden, entry.turns)
    return replace(
        entry,
        turn=0 if entry.turn in doomed.turns else entry.turn,
        made=made,
        hidden=hidden,
        turns=turns,
        state="erased" if lost and not (made or hidden or turns) else entry.state,
    )


def _close_the_books(doomed: Doomed, tx: Transaction) -> None:
    scopes = {scope for scope, _ in doomed.memories}
    scopes |= {turn.scope for turn in doomed.turns.values()}
    scopes |= {edge.scope for edge in doomed.edges.values()} | doomed.along.scopes()
    for scope in scopes:
        tx.drop("manifest", keys.name_key(scope))
        change_log.drop(
            scope, change_log.LATEST, tx
        )  # nothing builds on them, and ids may be words
    tx.set_meta(EPOCH, tx.meta(EPOCH, 0) + 1)
    tx.set_meta(ERASE_DUE, True)
