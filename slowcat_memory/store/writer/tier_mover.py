"""Moves events from tier to tier, in small steps.

Theory of operation. ``core.retention.tiering`` decides the tier of each event. Here a background
thread reads a slice of the log, packs blocks, and passes them to the writer a few at a time,
between two of the conversation's own writes. A write checks that every row is unchanged since it
was packed, and then puts the blocks, deletes the rows and writes the events' locations, all in one
transaction: so at every moment each event is in exactly one place. If anything was forgotten
meanwhile, the check fails, and the round ends.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from slowcat_memory.core.retention import tiering as policy
from slowcat_memory.core.retention.tiering import Row, TierOptions
from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.records import Aged
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks.block import COLD, WARM, ZstdPacker
from slowcat_memory.store.blocks.reader import PLACES, BlockCache, encode_location
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows.bookkeeping import move_cursor
from slowcat_memory.store.writer.tier_view import TierView
from slowcat_memory.store.writer.write_queue import Ack, Change

SLICE = 2048  # events examined in one snapshot
EVENTS = 256  # moved in one transaction: about a millisecond of the writer's time
BLOCKS = 8  # repacked in one transaction: some 4 ms of this thread's time, between two stops

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
            with self._env.reading() as txn:
                view = TierView(*txn, self._cache)
                at = view.cursor(scope)
                rows, upto, last = view.slice(scope, max(upto, at.position), hot, SLICE)
                values = {id: view.value("log", keys.id_key(id)) for id in waiting | rows}
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
        with self._env.reading() as txn:
            view = TierView(*txn, self._cache)
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
        with self._env.reading() as txn:
            view = TierView(*txn, self._cache)
            value = view.value(WARM, key)
            if not value:
                raise OvertakenError("a block was forgotten before it was packed")
            try:
                block = view.reader.unpack(key, value)
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
