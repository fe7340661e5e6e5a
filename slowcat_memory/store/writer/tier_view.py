"""Read-only view of the tiers: their contents, and the events and blocks that may move.

Hot: events with rows of their own in ``log``. Warm and cold: blocks.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime

from slowcat_memory.core.memory import turn_of
from slowcat_memory.core.retention.importance import use_score
from slowcat_memory.core.retention.tiering import Aging, Row, TierOptions
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Cursor, Held, LedgerEntry, Memory, Session, Turn
from slowcat_memory.store.blocks import block
from slowcat_memory.store.blocks.block import COLD, WARM, Head, decode_event
from slowcat_memory.store.blocks.reader import BlockCache, BlockReader, block_of
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.envelope import HEADER
from slowcat_memory.store.disk.environment import Handles, Txn
from slowcat_memory.store.disk.tables import EPOCH
from slowcat_memory.store.disk.transaction import Transaction

CURSOR = "tiers/"  # followed by the namespace
KEY_BYTES = 8
LOCATION_BYTES = 2 * KEY_BYTES + HEADER.size  # size of a location row in ``places``


class TierView:
    """A namespace's tiers through one read transaction."""

    def __init__(self, txn: Txn, handles: Handles, cache: BlockCache) -> None:
        self._tx = Transaction(txn, handles)
        self.reader = BlockReader(self._tx.get, cache)

    def value(self, table: str, key: bytes) -> bytes:
        """Return a row's envelope, b"" when it is deleted."""
        return self._tx.get(table, key) or b""

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
            return isinstance(self.reader.event(keys.id_key(id)), Turn)
        except StoreDamagedError:
            return False

    def _row(self, id: int) -> Row | None:
        """Return an event's row; None if it is in a block, or damaged and not to be moved."""
        key = keys.id_key(id)
        try:
            value = self._tx.get("log", key)
            body = b"" if value is None else codec.unseal(key, value)
            return Row(id, decode_event(body).session, len(body)) if body else None
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
        for key in self._tx.keys("ledger"):
            entry = self._tx.read(LedgerEntry, "ledger", key)
            if entry is not None and entry.scope == scope:
                for offer in entry.offers:
                    found[self._block(turn_of(offer.memory))].append(entry.at.timestamp())
        return found

    def _block(self, turn: int) -> int:
        return block_of(keys.id_key(turn), self._tx) if turn else 0

    def _heads(self, scope: str) -> dict[int, Head]:
        found = {}
        for key, value in self._tx.rows(WARM):
            try:
                head = block.read_head(value)
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
            head = block.read_head(value)
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
            turns += isinstance(decode_event(body), Turn)
        except StoreDamagedError:
            continue
        raw += KEY_BYTES + HEADER.size + len(body)
        stored += len(key) + len(value)
    return Held(memories=turns, raw_bytes=raw, stored_bytes=stored)
