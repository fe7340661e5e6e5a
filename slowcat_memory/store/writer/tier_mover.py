"""Moves events from tier to tier, in small steps.

Theory of operation. ``core.retention.tiering`` decides the tier of each event. Here a background
thread reads a slice of the log, packs blocks, and passes them to the writer a few at a time,
between two of the conversation's own writes. A write checks that every row is unchanged since it
was packed, and then puts the blocks, deletes the rows and writes the events' locations, all in one
transaction: so at every moment each event is in exactly one place. If anything was forgotten
meanwhile, the check fails, and the round ends.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from slowcat_memory.core.memory import turn_of
from slowcat_memory.core.retention import tiering as policy
from slowcat_memory.core.retention.importance import use_score
from slowcat_memory.core.retention.tiering import Aging, Row, TierOptions
from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.records import Aged, Cursor, Held, LedgerEntry, Memory, Session, Turn
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks.block import COLD, WARM, Head, ZstdPacker
from slowcat_memory.store.blocks.reader import (
    PLACES,
    BlockCache,
    BlockReader,
    block_of,
    encode_location,
)
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.envelope import HEADER
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.tables import EPOCH
from slowcat_memory.store.disk.transaction import Transaction, reading
from slowcat_memory.store.rows.bookkeeping import move_cursor
from slowcat_memory.store.writer.write_queue import Ack, Change

SLICE = 2048  # events examined in one snapshot
EVENTS = 256  # moved in one transaction: about a millisecond of the writer's time
BLOCKS = 8  # repacked in one transaction: some 4 ms of this thread's time, between two stops

CURSOR = "tiers/"  # followed by the namespace
KEY_BYTES = 8
LOCATION_BYTES = 2 * KEY_BYTES + HEADER.size  # size of a location row in ``places``

Submit = Callable[[Change], Ack]
Stop = Callable[[], bool]


class OvertakenError(StoreError):
    """Packed rows have changed meanwhile, because of a forget."""


@dataclass(frozen=True, slots=True)
class BlockMove:
    """A block to be written, and the rows that it replaces.

    Attributes:
        to: Its table.
        value: Its row.
        events: Number of events.
        rows: Keys and rows of the log that it replaces; none when a block is repacked.
        before: For a repacked block: its warm row.
    """

    number: int
    to: str
    value: bytes
    events: int
    rows: tuple[tuple[bytes, bytes], ...] = ()
    before: bytes | None = None


class TierMover:
    """Moves the events of a store's namespaces; one thread at a time."""

    def __init__(self, env: Environment, submit: Submit, cache: BlockCache) -> None:
        """Read from ``env``; ``submit`` passes a change to the writer."""
        self._env, self._submit, self._cache = env, submit, cache
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
                view = TierView(tx, self._cache)
                at = view.cursor(scope)
                rows, upto, last = view.slice(scope, max(upto, at.position), hot, SLICE)
                values = {id: tx.get("log", keys.id_key(id)) or b"" for id in waiting | rows}
                rows = {id: row for id, row in (waiting | rows).items() if values[id]}
                unfinished = view.unfinished({row.session for row in rows.values()}, upto)
            shares, left = policy.share(list(rows.values()), unfinished, options)
            for batch in _batched(shares):
                if stop():
                    return Aged(warmed=warmed, done=False)
                moves = [_pack_warm(scope, ids, values) for ids in batch]
                self._submit(partial(move_blocks, moves)).wait(None)
                warmed += sum(len(ids) for ids in batch)
            waiting = {id: rows[id] for id in left}
            reached = min(left, default=upto + 1) - 1
            if shares or reached > at.position:
                cursor = replace(at, position=reached, note="" if shares else at.note)
                self._submit(partial(move_cursor, cursor)).wait(None)
        return Aged(warmed=warmed)

    def _cool(
        self, scope: str, options: TierOptions, now: datetime, stop: Stop, aged: Aged
    ) -> Aged:
        with reading(self._env) as tx:
            view = TierView(tx, self._cache)
            at, key = view.cursor(scope), view.cooling_key(options)
            if at.note == key:
                return aged
            due = policy.cooling(view.warm(scope, now), options.warm, now.timestamp())
        packer = ZstdPacker(options.level)
        for first in range(0, len(due), BLOCKS):
            if stop():
                return replace(aged, done=False)
            moves = [self._pack_cold(number, packer) for number in due[first : first + BLOCKS]]
            made = [move for move in moves if move is not None]
            self._submit(partial(move_blocks, made)).wait(None)
            aged = replace(aged, cooled=aged.cooled + sum(move.events for move in made))
        self._submit(partial(move_cursor, replace(at, note=key))).wait(None)
        return aged

    def _pack_cold(self, number: int, packer: ZstdPacker) -> BlockMove | None:
        """Pack a block by zstd; None for a damaged one, which is not moved."""
        key = keys.id_key(number)
        with reading(self._env) as tx:
            value = tx.get(WARM, key)
        if not value:
            raise OvertakenError("a block was forgotten before it was packed")
        try:
            block = BlockReader.unpack(key, value)
        except StoreDamagedError:
            return None
        return BlockMove(
            number=number,
            to=COLD,
            value=packer.row(key, block.head, block.plain),
            events=len(block.ids),
            before=value,
        )


def _batched(shares: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    batch: list[list[int]] = []
    for ids in shares:
        if batch and sum(map(len, batch)) + len(ids) > EVENTS:
            yield batch
            batch = []
        batch.append(ids)
    if batch:
        yield batch


def _pack_warm(scope: str, ids: Sequence[int], values: dict[int, bytes]) -> BlockMove:
    rows = tuple((keys.id_key(id), values[id]) for id in ids)
    bodies = [codec.unseal(key, value) for key, value in rows]
    events = [blocks.decode_event(body) for body in bodies]
    key = keys.id_key(ids[0])
    head = blocks.make_head(scope, events[0].session, events)
    plain = blocks.join_events(list(zip(ids, bodies, strict=True)))
    return BlockMove(
        number=ids[0],
        to=WARM,
        value=blocks.lz4_row(key, head, plain),
        events=len(ids),
        rows=rows,
    )


def move_blocks(moves: Sequence[BlockMove], tx: Transaction) -> None:
    """Write blocks, and delete the rows that they replace.

    Raises:
        OvertakenError: A row has changed since it was packed; nothing is written.
    """
    for move in moves:
        key = keys.id_key(move.number)
        _check_unchanged(move, key, tx)
        if move.before is not None:
            tx.drop(WARM, key)
        tx.put(move.to, key, move.value)
        for at, _ in move.rows:
            tx.drop("log", at)
            tx.put(PLACES, at, encode_location(at, move.number))


def _check_unchanged(move: BlockMove, key: bytes, tx: Transaction) -> None:
    same = [tx.get("log", at) == value for at, value in move.rows]
    if move.before is None:
        same += [tx.get(table, key) is None for table in blocks.TABLES]
    else:
        same.append(tx.get(WARM, key) == move.before)
    if not all(same):
        raise OvertakenError("something was forgotten while it was packed")


# ------------------------------------------------------------------- what the tiers have
# Hot: events with rows of their own in ``log``. Warm and cold: blocks.


class TierView:
    """A namespace's tiers through one read transaction."""

    def __init__(self, tx: Transaction, cache: BlockCache) -> None:
        self._tx = tx
        self._reader = BlockReader(tx.get, cache)

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
        return block_of(keys.id_key(turn), self._tx) if turn else 0

    def _heads(self, scope: str) -> dict[int, Head]:
        found = {}
        for key, value in self._tx.rows(WARM):
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
    return {"hot": _event_rows(rows), WARM: _blocks(rows, WARM), COLD: _blocks(rows, COLD)}


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
