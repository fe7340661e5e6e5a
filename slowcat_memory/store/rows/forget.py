"""Deletes for good the rows that forget requests cover, in slices of one transaction each.

``forget_select`` reads the log and the memories once. ``order`` writes the result into the store's
row of the erasure under way, which hides it; ``add_derived`` then finds the rows made from it, and
``slices`` yields the changes that delete everything, some hundred rows each. Each slice looks up
the present rows of what it deletes, so other writes may come between two slices, and a slice that
was carried out before changes nothing.

Within a slice one loop over ``TABLES`` deletes, or cleans, the rows that name deleted records.
``NamedBy`` declares there how the rows of a table name their sources; ``forget_rules`` has one
rule for each way.

With a turn its chunk, every memory made from it, and all their vectors are deleted. A context and
an index key quote the turns that they were made from, so one forgotten source deletes them, though
their memory stays; its vectors, made with that context, are deleted too.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

import lmdb
from loguru import logger
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.errors import StoreDamagedError, StoreError, describe_error
from slowcat_memory.records import Forget, Forgotten
from slowcat_memory.store.blocks.reader import block_of
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE, PENDING, TABLES
from slowcat_memory.store.disk.transaction import Run, Transaction, reading, run_here, transact
from slowcat_memory.store.rows.forget_rules import RULES, TESTS, Slice, add_rows, drop_rows
from slowcat_memory.store.rows.forget_select import SUBJECT_TABLES, Deletion, add_by_source, select
from slowcat_memory.store.rows.pending import (
    PENDING_KEY,
    Pending,
    Subject,
    decode,
    pack_ids,
    pack_memories,
)

EVENTS = 250  # deleted in one slice
ROWS = 1000  # derived rows deleted in one slice

Change = Callable[[Transaction], None]
OnHidden = Callable[[Forgotten], object]
T = TypeVar("T")

# ------------------------------------------------------------------- the steps


class Forgetting:
    """Deletes rows in one environment; one thread at a time.

    Selecting runs on the caller's thread, the slices where ``run`` runs them.
    """

    def __init__(
        self, env: Environment, run: Run = run_here, on_deleted: Callable[[], object] = lambda: None
    ) -> None:
        """Connect the parts; ``on_deleted`` is called when no row is left."""
        self._env, self._run, self._on_deleted = env, run, on_deleted

    def forget(
        self,
        requests: Sequence[Forget],
        *,
        keep_backups: bool = False,
        on_hidden: OnHidden = lambda gone: None,
    ) -> Forgotten:
        """Delete the rows that checked requests cover; their bytes are still to be erased.

        ``on_hidden`` is called with the result once nothing of it is shown any more.

        Raises:
            StoreError: Nothing is deleted.
        """
        self.resume()
        gone = self._read(partial(select, requests))
        if gone.is_empty():
            return gone.result()
        self._write(partial(order, gone, requests, keep_backups))
        try:
            self._delete(gone, on_hidden)
        except (OSError, StoreError, lmdb.Error) as error:
            why = describe_error(error)
            logger.error("what is forgotten is hidden, but could not be deleted yet: {}", why)
        return gone.result()

    def resume(self) -> None:
        """Delete the rows that an interrupted erasure has left."""
        found = self.pending()
        if found is not None and not found.deleted:
            self._delete(self._read(lambda tx: select(found.requests, tx, found)))

    def _delete(self, gone: Deletion, on_hidden: OnHidden = lambda gone: None) -> None:
        self._read(partial(add_derived, gone))
        on_hidden(gone.result())
        for change in slices(gone):
            self._write(change)
        decode.cache_clear()
        self._on_deleted()

    def pending(self) -> Pending | None:
        return self._read(read_pending)

    def is_due(self) -> bool:
        """Return whether deleted text may still be somewhere: from a forget until it is erased."""
        return self._read(lambda tx: bool(tx.meta(ERASE_DUE, False)))

    def _read(self, read: Callable[[Transaction], T]) -> T:
        with reading(self._env) as tx:
            return read(tx)

    def _write(self, change: Change) -> None:
        self._run(partial(transact, self._env, change))


def order(gone: Deletion, requests: Sequence[Forget], keep_backups: bool, tx: Transaction) -> None:
    """Write the row of the erasure under way: from its commit on, what it selects is hidden."""
    before = read_pending(tx) or Pending(requests=(), keep_backups=True)  # bytes are still due
    pending = Pending(
        requests=(*before.requests, *map(_without_turns, requests)),
        turns=pack_ids(sorted(gone.ids)),
        memories=pack_memories(gone.named),
        scopes=tuple(sorted(gone.scopes.union(before.scopes))),
        keep_backups=keep_backups and before.keep_backups,
    )
    tx.set_meta(EPOCH, tx.meta(EPOCH, 0) + 1)
    tx.set_meta(ERASE_DUE, True)
    tx.set_meta(PENDING, pending)


def _without_turns(request: Forget) -> Forget:
    """Return a request without its many log ids, which is still one for some turns only."""
    return replace(request, turns=(0,)) if request.turns else request


def read_pending(tx: Transaction) -> Pending | None:
    """Return the erasure under way; None when there is none, or its row does not read."""
    value = tx.get("meta", PENDING_KEY)
    try:
        return None if value is None else decode(value)[0]
    except StoreDamagedError:
        return None


def end(tx: Transaction) -> None:
    """Delete the row of the erasure: nothing of what it named is left anywhere."""
    tx.drop("meta", PENDING_KEY)
    tx.set_meta(ERASE_DUE, False)


def add_derived(gone: Deletion, tx: Transaction) -> None:
    """Add the rows derived from what is selected, which must be hidden by now."""
    for _, memory in gone.read_records(tx, "memories"):
        add_by_source(memory, gone)
    for table in TABLES:
        tests = [TESTS[way] for way in table.named_by if way in TESTS]
        if tests and table.name != "runs":
            add_rows(table, tests, gone, tx)
    gone.scopes |= {scope for scope, _ in gone.memories}
    gone.memory_ids = frozenset(id for _, id in gone.memories)


def slices(gone: Deletion) -> Iterator[Change]:
    """Yield the changes that delete everything, each to be committed before the next is made.

    Derived rows come first: those left by an interruption can be found as long as their sources
    are known.
    """
    yield partial(_delete, Slice(gone, first=True))
    for rows in _batches(gone.rows, ROWS):
        yield partial(_delete, Slice(gone, rows=rows, subjects=_subjects(rows)))
    chunks = {(scope, chunk_id(id)) for id, (scope, _) in gone.turns.items()}
    for memories in _batches(sorted(gone.memories - chunks), ROWS):
        yield partial(_delete, Slice(gone, memories=memories, subjects=memories))
    for subjects in _batches(sorted(gone.subjects - gone.memories - chunks), ROWS):
        yield partial(_delete, Slice(gone, subjects=subjects))
    for part in _by_session(gone):
        yield partial(_delete, part)
    yield partial(_delete, Slice(gone, last=True))


def _subjects(rows: Iterable[tuple[str, bytes]]) -> list[Subject]:
    """Return the memories and index keys whose vectors go with their rows, in one transaction."""
    parts = (keys.split_scope(key) for table, key in rows if table in SUBJECT_TABLES)
    return [(scope, id.decode()) for scope, id in parts]


def _batches(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    waiting = iter(items)
    while batch := tuple(islice(waiting, size)):
        yield batch


def _by_session(gone: Deletion) -> Iterator[Slice]:
    """Yield slices of events; a session's row is written behind the last of its events."""
    events = gone.events()
    by_session: defaultdict[str, list[int]] = defaultdict(list)
    for id, (_, session) in events.items():
        by_session[session].append(id)
    sessions = dict.fromkeys((*by_session, *gone.sessions))
    steps = (step for session in sessions for step in (*by_session[session], session))
    for batch in _batches(steps, EVENTS):
        part = {step: events[step] for step in batch if isinstance(step, int)}
        ended = tuple(step for step in batch if isinstance(step, str))
        yield Slice(gone, events=part, sessions=ended)


def _delete(part: Slice, tx: Transaction) -> None:
    part.blocks = {block_of(keys.id_key(id), tx) for id in part.events} - {0}
    for table in TABLES:
        drop_rows(table, part, tx)
        for way in table.named_by:
            if way in RULES:
                RULES[way](table, part, tx)
    _bury(part, tx)
    if part.last:
        _finish(part.gone, tx)


def _bury(part: Slice, tx: Transaction) -> None:
    """Write tombstones for turns and for memories that requests name.

    The other memories may be made again, differently. Those deleted by scope or time get an epoch
    mark instead, so that a backup cannot restore them (see ``care.restore``).
    """
    gone = part.gone
    tombstones = [keys.turn_tombstone(id) for id in part.events if id in gone.turns]
    memories = (*part.memories, *part.chunks())
    tombstones += [keys.memory_tombstone(s, m) for s, m in memories if gone.is_named(s, m)]
    for key in tombstones:
        tx.put("tombstones", key, codec.seal(key))
    for scope, memory in gone.unnamed.intersection(part.memories):
        tx.write_record("tombstones", keys.epoch_mark(scope, memory), tx.meta(EPOCH, 0))


def _finish(gone: Deletion, tx: Transaction) -> None:
    """Delete damaged rows, and record that no row is left to delete."""
    for name, key in gone.damaged:
        tx.drop(name, key)
    if pending := read_pending(tx):
        scopes = tuple(sorted(gone.scopes.union(pending.scopes)))
        requests = pending.requests if pending.keep_backups else ()  # they may name memories
        left = replace(pending, turns=b"", memories=b"", scopes=scopes, requests=requests)
        tx.set_meta(PENDING, left)
