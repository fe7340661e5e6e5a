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
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core import retention as policy
from slowcat_memory.core.memory import turn_of
from slowcat_memory.core.retention import Aging, EventRow, TierOptions, use_score
from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.records import Cursor, LedgerEntry
from slowcat_memory.store import blocks
from slowcat_memory.store.bookkeeping import move_cursor
from slowcat_memory.store.disk import codec
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.transaction import Rows, Transaction
from slowcat_memory.store.snapshot import Snapshot

SLICE = 2048  # events examined in one snapshot
BLOCKS = 8  # packed in one transaction: some 4 ms of this thread's time, between two stops

CURSOR = "tiers/"  # followed by the namespace

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

    def run(self, scope: str, hot: int, options: TierOptions, now: datetime, stop: Stop) -> bool:
        """Move all due events and blocks, oldest first; return whether nothing more is to be moved.

        ``hot`` is how many of its latest turns keep rows of their own. ``stop`` is called between
        two transactions; True ends the round.

        Raises:
            StoreError: The store is closed or full; blocks moved until then remain.
        """
        with self._lock, suppress(OvertakenError):
            return self._warm(scope, hot, options, stop) and self._cool(scope, options, now, stop)
        return False

    @contextmanager
    def _view(self) -> Iterator["TierView"]:
        with self._env.reading() as (txn, handles):
            yield TierView(Rows(txn, handles), self._read)

    def _warm(self, scope: str, hot: int, options: TierOptions, stop: Stop) -> bool:
        upto, last = -1, False
        waiting: dict[int, EventRow] = {}  # too few to fill a block yet
        while not last:
            if stop():
                return False
            with self._view() as view:
                at = view.reached(scope)
                rows, upto, last = view.slice(scope, max(upto, at.position), hot, SLICE)
                rows = waiting | rows
                unfinished = view.unfinished({row.session for row in rows.values()}, upto)
            shares, rest = policy.share(list(rows.values()), unfinished, options)
            if not self._pack(pack_warm, shares, stop):
                return False
            waiting = {id: rows[id] for id in rest}
            reached = min(rest, default=upto + 1) - 1
            if shares or reached > at.position:
                cursor = replace(at, position=reached, note="" if shares else at.note)
                self._commit(partial(move_cursor, cursor))
        return True

    def _cool(self, scope: str, options: TierOptions, now: datetime, stop: Stop) -> bool:
        with self._view() as view:
            # Under another one, blocks may have to move without new ones.
            at, key = view.reached(scope), f"{view.forget_epoch()} {options.warm}"
            if at.note == key:
                return True
            due = policy.cooling(view.warm(scope, now), options.warm, now.timestamp())
        if not self._pack(partial(pack_cold, options.level), due, stop):
            return False
        self._commit(partial(move_cursor, replace(at, note=key)))
        return True

    def _pack(self, pack: Callable[..., None], some: Sequence[Any], stop: Stop) -> bool:
        """Pack blocks, some in each transaction; return whether all were."""
        for first in range(0, len(some), BLOCKS):
            if stop():
                return False
            self._commit(partial(pack, some[first : first + BLOCKS]))
        return True


def pack_warm(shares: Sequence[Sequence[int]], tx: Transaction) -> None:
    """Move events from rows of their own into blocks, one for each share."""
    for ids in shares:
        key, bodies = codec.id_key(ids[0]), dict[int, bytes]()
        for id in ids:
            row = codec.id_key(id)
            if (value := tx.get("log", row)) is None:
                raise OvertakenError("an event was forgotten before it was packed")
            bodies[id] = codec.unseal(row, value)
            tx.drop("log", row)
            tx.put(blocks.PLACES, row, codec.seal(row, key))
        tx.put(blocks.WARM, key, blocks.lz4_row(key, list(bodies.items())))


def pack_cold(level: int, numbers: Sequence[int], tx: Transaction) -> None:
    """Pack warm blocks by zstd. A damaged one is not moved."""
    for number in numbers:
        key = codec.id_key(number)
        if (value := tx.get(blocks.WARM, key)) is None:
            raise OvertakenError("a block was forgotten before it was packed")
        try:
            block = blocks.read_block(key, value)
        except StoreDamagedError:
            continue
        tx.drop(blocks.WARM, key)
        tx.put(blocks.COLD, key, blocks.zstd_row(key, block, level))


# ------------------------------------------------------------------- what the tiers have
# Hot: events with rows of their own in ``log``. Warm and cold: blocks.


class TierView(Snapshot):
    """A namespace's tiers through one read transaction."""

    def reached(self, scope: str) -> Cursor:
        """Return how far a namespace's tiers have moved.

        Up to its position only damaged rows remain in the hot tier; its note is the key under which
        all blocks are in their tier.
        """
        name = f"{CURSOR}{scope}"
        return self.cursor(name) or Cursor(name=name, position=0)

    def slice(
        self, scope: str, after: int, hot: int, size: int
    ) -> tuple[dict[int, EventRow], int, bool]:
        """Return the next events that have rows of their own and are no longer hot.

        ``hot`` is the number of the latest turns that are hot. Returns rows by log id, the last log
        id examined, and whether there are no more.
        """
        old = next(islice(self.latest_turns(scope), hot, None), None)
        end = old.id + 1 if old else 0  # behind the latest turn that is not hot
        rows: dict[int, EventRow] = {}
        seen, upto = 0, max(after, end - 1)
        for key in self._ids(scope, after):
            if (id := codec.id_of(key)) >= end:
                return rows, upto, True
            if seen == size:
                return rows, id - 1, False
            seen += 1
            # One in a block is not moved, nor is a damaged one.
            if (value := self._rows.get("log", key)) and (event := self._event(key)):
                rows[id] = EventRow(id, event.session, len(codec.unseal(key, value)))
        return rows, upto, True

    def unfinished(self, sessions: Iterable[str], upto: int) -> set[str]:
        rows = map(self.session, sessions)
        return {row.id for row in rows if row is not None and row.last_turn > upto}

    def warm(self, scope: str, now: datetime) -> list[Aging]:
        """Return the data that decides how long each warm block stays warm."""
        pins, uses = set[int](), defaultdict[int, list[float]](list)
        for memory in self.memories(scope):
            if memory.pinned:
                pins |= {self._block(turn) for turn in (*memory.sources, turn_of(memory.id))}
        for entry in self._rows.latest(LedgerEntry, "ledger"):
            if entry.scope == scope:
                for offer in entry.offers:
                    uses[self._block(turn_of(offer.memory))].append(entry.at.timestamp())
        return [
            Aging(
                block=number,
                turns=head.turns,
                at=head.last,
                words=head.words,
                use=use_score(uses.get(number, ()), now.timestamp()),
                pinned=number in pins,
            )
            for number, head in self._heads(scope)
        ]

    def _block(self, turn: int) -> int:
        return blocks.block_of(codec.id_key(turn), self._rows) if turn else 0

    def _heads(self, scope: str) -> Iterator[tuple[int, blocks.Head]]:
        for key, value in self._rows.rows(blocks.WARM):
            with suppress(StoreDamagedError):
                if (head := blocks.read_head(value)).scope == scope:
                    yield codec.id_of(key), head
