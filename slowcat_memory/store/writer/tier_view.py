"""What ageing looks at: events with rows of their own, warm and cold blocks, pins and use."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from slowcat_memory.core.memory.chunk import turn_of
from slowcat_memory.core.retention.importance import use_score
from slowcat_memory.core.retention.tiering import Aging, Row, TierOptions
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Cursor, LedgerEntry, Memory, Session, Turn
from slowcat_memory.store.blocks import block
from slowcat_memory.store.blocks.block import COLD, WARM, Head
from slowcat_memory.store.blocks.dictionary import SAMPLE_BYTES, Dictionary
from slowcat_memory.store.blocks.reader import BlockReader, Shelf
from slowcat_memory.store.blocks.removal import block_of, read
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.environment import Handles, Txn
from slowcat_memory.store.disk.tables import EPOCH
from slowcat_memory.store.disk.transaction import Edit

T = TypeVar("T")

CURSOR = "tiers/"  # and the namespace


class Inventory:
    """A view of a namespace's tiers through one read transaction."""

    def __init__(self, txn: Txn, handles: Handles, shelf: Shelf) -> None:
        """Wrap a transaction.

        Args:
            txn: The transaction.
            handles: The tables.
            shelf: Keeps blocks unpacked.
        """
        self._txn, self._handles = txn, handles
        self._edit = Edit(txn, handles)
        self.reader = BlockReader(self._edit.get, shelf)

    def value(self, table: str, key: bytes) -> bytes:
        """Read a row that is there.

        Args:
            table: The table.
            key: The key.

        Returns:
            The envelope; none when it is gone.
        """
        return self._edit.get(table, key) or b""

    def record(self, kind: type[T], table: str, key: bytes) -> T | None:
        """Read a record.

        Args:
            kind: Its type.
            table: The table.
            key: The key.

        Returns:
            The record, None when there is none or it is damaged.
        """
        return self._edit.read(kind, table, key)

    def cursor(self, scope: str) -> Cursor:
        """Return how far a namespace is aged.

        Args:
            scope: The namespace.

        Returns:
            Up to which log id nothing has a row of its own, but what is damaged; the note says
            under which circumstances all its blocks are where they belong.
        """
        name = f"{CURSOR}{scope}"
        found = self.record(Cursor, "cursors", keys.name_key(name))
        return found or Cursor(name=name, position=0)

    def circumstances(self, options: TierOptions) -> str:
        """Say what decides where blocks belong, besides new ones.

        Args:
            options: The tiers.

        Returns:
            Another text when any of it has changed.
        """
        epoch = self._edit.meta(EPOCH, 0)
        return f"{epoch} {options.warm} {options.dictionary_from}"

    # ------------------------------------------------------------------- hot

    def slice(
        self, scope: str, after: int, hot: int, size: int
    ) -> tuple[dict[int, Row], int, bool]:
        """Read the next events that have rows of their own and are no longer hot.

        Args:
            scope: The namespace.
            after: Begin behind this log id.
            hot: How many of its latest turns are.
            size: How many events to look at.

        Returns:
            Rows by log id, the log id up to which was looked, and whether there are no more.
        """
        prefix = keys.scope_prefix(scope)
        end = self._hot_from(prefix, hot)
        rows: dict[int, Row] = {}
        seen, upto = 0, max(after, end - 1)
        for id in self._ids(prefix, after + 1):
            if id >= end:
                return rows, upto, True
            if seen == size:
                return rows, id - 1, False
            seen += 1
            if (row := self._row(id)) is not None:
                rows[id] = row
        return rows, upto, True

    def unfinished(self, sessions: Iterable[str], upto: int) -> set[str]:
        """Tell which sessions go on behind a log id.

        Args:
            sessions: Their ids.
            upto: The log id.

        Returns:
            Those with a later turn.
        """
        rows = (self.record(Session, "sessions", keys.name_key(name)) for name in sessions)
        return {row.id for row in rows if row is not None and row.last_turn > upto}

    def _hot_from(self, prefix: bytes, hot: int) -> int:
        """Find what the latest turns begin behind; 0 when there are not more than those."""
        cursor = self._txn.cursor(self._handles["log_by_scope"])
        past = prefix + b"\xff" * 8
        found = cursor.prev() if cursor.set_range(past) else cursor.last()
        turns = 0
        while found and cursor.key().startswith(prefix):
            id = keys.id_of(cursor.key())
            turns += self._is_turn(id)
            if turns > hot:
                return id + 1
            found = cursor.prev()
        return 0

    def _is_turn(self, id: int) -> bool:
        try:
            return isinstance(self.reader.event(keys.id_key(id)), Turn)
        except StoreDamagedError:
            return False

    def _ids(self, prefix: bytes, first: int) -> Iterator[int]:
        cursor = self._txn.cursor(self._handles["log_by_scope"])
        if not cursor.set_range(prefix + keys.id_key(first)):
            return
        for key in cursor.iternext(values=False):
            if not key.startswith(prefix):
                return
            yield keys.id_of(key)

    def _row(self, id: int) -> Row | None:
        """Read an event; None when it lies in a block, or is damaged and stays where it is."""
        key = keys.id_key(id)
        try:
            value = self._edit.get("log", key)
            body = b"" if value is None else codec.unseal(key, value)
            return Row(id, read(body).session, len(body)) if body else None
        except StoreDamagedError:
            return None

    # ------------------------------------------------------------------- warm

    def warm(self, scope: str, now: datetime) -> list[Aging]:
        """Say what speaks for and against each warm block.

        Args:
            scope: The namespace.
            now: The time.

        Returns:
            One for each.
        """
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
            for number, head in self._heads(WARM, scope).items()
        ]

    def _pins(self, scope: str) -> set[int]:
        """Find the blocks in which something is pinned."""
        prefix, pinned = keys.scope_prefix(scope), set()
        cursor = self._txn.cursor(self._handles["memories"])
        if cursor.set_range(prefix):
            for key, value in cursor:
                if not key.startswith(prefix):
                    break
                memory = _decoded(Memory, key, value)
                if memory is not None and memory.pinned:
                    pinned |= {self._block(turn) for turn in (*memory.sources, turn_of(memory.id))}
        return pinned - {0}

    def _uses(self, scope: str) -> dict[int, list[float]]:
        """Find when what lies in a block was put before the LLM, by block."""
        found: defaultdict[int, list[float]] = defaultdict(list)
        for key, value in self._txn.cursor(self._handles["ledger"]):
            entry = _decoded(LedgerEntry, key, value)
            if entry is not None and entry.scope == scope:
                for offer in entry.offers:
                    found[self._block(turn_of(offer.memory))].append(entry.at.timestamp())
        return found

    def _block(self, turn: int) -> int:
        return block_of(keys.id_key(turn), self._edit) if turn else 0

    def _heads(self, table: str, scope: str) -> dict[int, Head]:
        found = {}
        for key, value in self._txn.cursor(self._handles[table]):
            try:
                head = block.glance(value)
            except StoreDamagedError:
                continue
            if head.scope == scope:
                found[block.number_of(key)] = head
        return found

    # ------------------------------------------------------------------- cold

    def cold(self, scope: str) -> dict[int, Head]:
        """Return what is known of each cold block.

        Args:
            scope: The namespace.

        Returns:
            Heads by number.
        """
        return self._heads(COLD, scope)

    def dictionaries(self, scope: str) -> list[int]:
        """Return a namespace's dictionaries.

        Args:
            scope: The namespace.

        Returns:
            Their numbers, the newest last.
        """
        rows = self._txn.cursor(self._handles["dictionaries"])
        every = (_decoded(Dictionary, key, value) for key, value in rows)
        return [d.number for d in every if d is not None and d.scope == scope]

    def dictionary(self, scope: str) -> Dictionary | None:
        """Return a namespace's newest dictionary.

        Args:
            scope: The namespace.

        Returns:
            The dictionary, None when none was trained.
        """
        numbers = self.dictionaries(scope)
        return (
            self.record(Dictionary, "dictionaries", keys.id_key(numbers[-1])) if numbers else None
        )

    def samples(self, numbers: Sequence[int], most: int) -> dict[int, bytes]:
        """Read events to train a dictionary on, the latest first.

        Args:
            numbers: The blocks to take them from.
            most: How many.

        Returns:
            Bytes by log id.
        """
        found: dict[int, bytes] = {}
        size = 0
        for number in sorted(numbers, reverse=True):
            try:
                bodies = dict(self.reader.block(number).bodies())
            except StoreDamagedError:
                continue
            found |= bodies
            size += sum(map(len, bodies.values()))
            if len(found) >= most or size >= SAMPLE_BYTES:
                break
        return found


def _decoded(kind: type[T], key: bytes, value: bytes) -> T | None:
    try:
        return codec.decode(kind, key, value)
    except StoreDamagedError:
        return None
