"""Moves events from tier to tier, in small steps.

Theory of operation. ``core.retention`` decides the tier of each event. Here a background
thread reads a slice of the log, and moves a few blocks at a time: a step packs them beside the
writers, puts the blocks, deletes the rows and writes the events' locations, all in one transaction:
so at every moment each event is in exactly one place. If what a step is to move was forgotten
meanwhile, the round ends.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core import retention as policy
from slowcat_memory.core.memory import turn_of
from slowcat_memory.core.retention import Aging, Row, TierOptions, use_score
from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.records import Aged, Cursor, Held, LedgerEntry, Memory, Session, Turn
from slowcat_memory.store import blocks
from slowcat_memory.store.bookkeeping import move_cursor
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.envelope import HEADER
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.tables import EPOCH
from slowcat_memory.store.disk.transaction import Transaction, reading

SLICE = 2048  # events examined in one snapshot
EVENTS = 256  # moved in one transaction: about a millisecond of the writer's time
BLOCKS = 8  # repacked in one transaction: some 4 ms of this thread's time, between two stops

CURSOR = "tiers/"  # followed by the namespace
KEY_BYTES = 8
LOCATION_BYTES = 2 * KEY_BYTES + HEADER.size  # size of a location row in ``places``

Stop = Callable[[], bool]
Commit = Callable[[Callable[[Transaction], Any]], Any]
"""Makes a change beside the writers and commits it (``transaction.change_beside``)."""


class OvertakenError(StoreError):
    """What is to be moved is not there any more, because of a forget."""


class TierMover:
    """Moves the events of a store's namespaces; one thread at a time."""

    def __init__(self, env: Environment, commit: Commit, read: blocks.ReadBlock) -> None:
        """Read from ``env``, blocks by ``read``; write by ``commit``."""
        self._env, self._commit, self._read = env, commit, read
        self._lock = threading.Lock()

    def run(self, scope: str, hot: int, options: TierOptions, now: datetime, stop: Stop) -> Aged:
        """Move all due events and blocks, oldest first.

        ``hot`` is how many of its latest turns keep rows of their own. ``stop`` is called between
        two transactions; True ends the round.

        Raises:
            StoreError: The store is closed or full; blocks moved until then remain.
        """
        with self._lock:
            try:
                aged = self._warm(scope, hot, options, stop)
                return self._cool(scope, options, now, stop, aged) if aged.done else aged
            except OvertakenError:
                return Aged(done=False)

    def _warm(self, scope: str, hot: int, options: TierOptions, stop: Stop) -> Aged:
        warmed, upto, last = 0, -1, False
        waiting: dict[int, Row] = {}  # too few to fill a block yet
        while not last:
            if stop():
                return Aged(warmed=warmed, done=False)
            with reading(self._env) as tx:
                view = TierView(tx, self._read)
                at = view.cursor(scope)
                rows, upto, last = view.slice(scope, max(upto, at.position), hot, SLICE)
                rows = waiting | rows
                unfinished = view.unfinished({row.session for row in rows.values()}, upto)
            shares, left = policy.share(list(rows.values()), unfinished, options)
            for batch in _batched(shares):
                if stop():
                    return Aged(warmed=warmed, done=False)
                warmed += self._commit(partial(pack_warm, scope, batch))
            waiting = {id: rows[id] for id in left}
            reached = min(left, default=upto + 1) - 1
            if shares or reached > at.position:
                cursor = replace(at, position=reached, note="" if shares else at.note)
                self._commit(partial(move_cursor, cursor))
        return Aged(warmed=warmed)

    def _cool(
        self, scope: str, options: TierOptions, now: datetime, stop: Stop, aged: Aged
    ) -> Aged:
        with reading(self._env) as tx:
            view = TierView(tx, self._read)
            at, key = view.cursor(scope), view.cooling_key(options)
            if at.note == key:
                return aged
            due = policy.cooling(view.warm(scope, now), options.warm, now.timestamp())
        for first in range(0, len(due), BLOCKS):
            if stop():
                return replace(aged, done=False)
            cooled = self._commit(partial(pack_cold, due[first : first + BLOCKS], options.level))
            aged = replace(aged, cooled=aged.cooled + cooled)
        self._commit(partial(move_cursor, replace(at, note=key)))
        return aged


def _batched(shares: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    batch: list[list[int]] = []
    for ids in shares:
        if batch and sum(map(len, batch)) + len(ids) > EVENTS:
            yield batch
            batch = []
        batch.append(ids)
    if batch:
        yield batch


def pack_warm(scope: str, shares: Sequence[Sequence[int]], tx: Transaction) -> int:
    """Move events from rows of their own into blocks, one for each share; return how many."""
    for ids in shares:
        key, bodies = keys.id_key(ids[0]), dict[int, bytes]()
        for id in ids:
            row = keys.id_key(id)
            if (value := tx.get("log", row)) is None:
                raise OvertakenError("an event was forgotten before it was packed")
            bodies[id] = codec.unseal(row, value)
            tx.drop("log", row)
            tx.put(blocks.PLACES, row, blocks.encode_location(row, ids[0]))
        events = [blocks.decode_event(body) for body in bodies.values()]
        head = blocks.make_head(scope, events[0].session, events)
        tx.put(
            blocks.WARM, key, blocks.lz4_row(key, head, blocks.join_events(list(bodies.items())))
        )
    return sum(map(len, shares))


def pack_cold(numbers: Sequence[int], level: int, tx: Transaction) -> int:
    """Pack warm blocks by zstd; return how many events they hold. A damaged one is not moved."""
    events = 0
    for number in numbers:
        key = keys.id_key(number)
        if (value := tx.get(blocks.WARM, key)) is None:
            raise OvertakenError("a block was forgotten before it was packed")
        try:
            block = blocks.read_block(key, value)
        except StoreDamagedError:
            continue
        tx.drop(blocks.WARM, key)
        tx.put(blocks.COLD, key, blocks.zstd_row(key, block.head, block.plain, level))
        events += len(block.ids)
    return events


# ------------------------------------------------------------------- what the tiers have
# Hot: events with rows of their own in ``log``. Warm and cold: blocks.


class TierView:
    """A namespace's tiers through one read transaction."""

    def __init__(self, tx: Transaction, read: blocks.ReadBlock) -> None:
        self._tx = tx
        self._reader = blocks.BlockReader(tx.get, read)

    def cursor(self, scope: str) -> Cursor:
        """Return how far a namespace's tiers have moved.

        Up to its position only damaged rows remain in the hot tier; its note is the ``cooling_key``
        under which all blocks are in their tier.
        """
        name = f"{CURSOR}{scope}"
        found = self._tx.read(Cursor, "cursors", keys.name_key(name))
        return found or Cursor(name=name, position=0)

    def cooling_key(self, options: TierOptions) -> str:
        """Return a text that changes when blocks may have to move without new ones."""
        return f"{self._tx.meta(EPOCH, 0)} {options.warm}"

    def slice(
        self, scope: str, after: int, hot: int, size: int
    ) -> tuple[dict[int, Row], int, bool]:
        """Return the next events that have rows of their own and are no longer hot.

        ``hot`` is the number of the latest turns that are hot. Returns rows by log id, the last log
        id examined, and whether there are no more.
        """
        prefix = keys.scope_prefix(scope)
        end = self._first_hot(prefix, hot)
        rows: dict[int, Row] = {}
        seen, upto = 0, max(after, end - 1)
        for key, _ in keys.rows_with(
            self._tx.cursor("log_by_scope"), prefix, keys.id_key(after + 1)
        ):
            if (id := keys.id_of(key)) >= end:
                return rows, upto, True
            if seen == size:
                return rows, id - 1, False
            seen += 1
            if (row := self._row(id)) is not None:
                rows[id] = row
        return rows, upto, True

    def unfinished(self, sessions: Iterable[str], upto: int) -> set[str]:
        read = self._tx.read
        rows = (read(Session, "sessions", keys.name_key(name)) for name in sessions)
        return {row.id for row in rows if row is not None and row.last_turn > upto}

    def _first_hot(self, prefix: bytes, hot: int) -> int:
        """Return the id after the latest turn that is not hot; 0 when all are."""
        turns = 0
        for key, _ in keys.rows_before(self._tx.cursor("log_by_scope"), prefix):
            id = keys.id_of(key)
            turns += self._is_turn(id)
            if turns > hot:
                return id + 1
        return 0

    def _is_turn(self, id: int) -> bool:
        try:
            return isinstance(self._reader.event(keys.id_key(id)), Turn)
        except StoreDamagedError:
            return False

    def _row(self, id: int) -> Row | None:
        """Return an event's row; None if it is in a block, or damaged and not to be moved."""
        key = keys.id_key(id)
        try:
            value = self._tx.get("log", key)
            body = b"" if value is None else codec.unseal(key, value)
            return Row(id, blocks.decode_event(body).session, len(body)) if body else None
        except StoreDamagedError:
            return None

    def warm(self, scope: str, now: datetime) -> list[Aging]:
        """Return the data that decides how long each warm block stays warm."""
        pins, uses = self._pins(scope), self._uses(scope)
        return [
            Aging(
                block=number,
                turns=head.turns,
                at=head.last,
                words=head.words,
                use=use_score(uses.get(number, ()), now.timestamp()),
                pinned=number in pins,
            )
            for number, head in self._heads(scope).items()
        ]

    def _pins(self, scope: str) -> set[int]:
        prefix, pinned = keys.scope_prefix(scope), set()
        for key in self._tx.keys_with("memories", prefix):
            memory = self._tx.read(Memory, "memories", key)
            if memory is not None and memory.pinned:
                pinned |= {self._block(turn) for turn in (*memory.sources, turn_of(memory.id))}
        return pinned - {0}

    def _uses(self, scope: str) -> dict[int, list[float]]:
        found: defaultdict[int, list[float]] = defaultdict(list)
        for entry in self._tx.records(LedgerEntry, "ledger"):
            if entry.scope == scope:
                for offer in entry.offers:
                    found[self._block(turn_of(offer.memory))].append(entry.at.timestamp())
        return found

    def _block(self, turn: int) -> int:
        return blocks.block_of(keys.id_key(turn), self._tx) if turn else 0

    def _heads(self, scope: str) -> dict[int, blocks.Head]:
        found = {}
        for key, value in self._tx.rows(blocks.WARM):
            try:
                head = blocks.read_head(value)
            except StoreDamagedError:
                continue
            if head.scope == scope:
                found[keys.id_of(key)] = head
        return found


Rows = Callable[[str], Iterable[tuple[bytes, bytes]]]


def tier_sizes(rows: Rows) -> dict[str, Held]:
    """Return the contents of each tier, by its name, hot first; nothing is unpacked.

    ``rows`` yields the keys and envelopes of a table.
    """
    return {
        "hot": _event_rows(rows),
        blocks.WARM: _blocks(rows, blocks.WARM),
        blocks.COLD: _blocks(rows, blocks.COLD),
    }


def _blocks(rows: Rows, table: str) -> Held:
    number = turns = raw = stored = 0
    for key, value in rows(table):
        try:
            head = blocks.read_head(value)
        except StoreDamagedError:
            continue
        number += 1
        turns += head.turns
        raw += head.unpacked + head.events * (KEY_BYTES + HEADER.size)
        stored += len(key) + len(value) + head.events * LOCATION_BYTES
    return Held(memories=turns, blocks=number, raw_bytes=raw, stored_bytes=stored)


def _event_rows(rows: Rows) -> Held:
    turns = raw = stored = 0
    for key, value in rows("log"):
        try:
            body = codec.unseal(key, value)
            turns += isinstance(blocks.decode_event(body), Turn)
        except StoreDamagedError:
            continue
        raw += KEY_BYTES + HEADER.size + len(body)
        stored += len(key) + len(value)
    return Held(memories=turns, raw_bytes=raw, stored_bytes=stored)
