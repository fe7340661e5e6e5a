"""Reading: one consistent view of every table, for as long as its block lasts."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import (
    Cursor,
    Event,
    LedgerEntry,
    Manifest,
    Memory,
    Session,
    Turn,
    Vector,
)
from slowcat_memory.store import codec, keys
from slowcat_memory.store.environment import Handles, Txn
from slowcat_memory.store.schema import EPOCH

T = TypeVar("T")
OnBad = Callable[[str, bytes], None]


class Snapshot:
    """What was committed when it was taken. Never held across an ``await``.

    A damaged record is left out as if it were not there, and told to the store's ``quarantined``.
    """

    def __init__(self, txn: Txn, handles: Handles, on_bad: OnBad) -> None:
        """Wrap a read transaction.

        Args:
            txn: The transaction.
            handles: The tables.
            on_bad: Told table and key of a damaged record.
        """
        self._txn = txn
        self._handles = handles
        self._on_bad = on_bad

    # ------------------------------------------------------------------- the log

    def turn(self, id: int) -> Turn | None:
        """Return a turn.

        Args:
            id: Its log id.

        Returns:
            The turn, None when there is none.
        """
        event = self._get(Event, "log", keys.id_key(id))
        return event if isinstance(event, Turn) else None

    def events(self, scope: str = "", after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """Walk the log in order.

        Args:
            scope: Only of this namespace; "" for every one.
            after: Begin behind this id.
            upto: End with this id.

        Yields:
            Turns and session edges.
        """
        for key in self._ids(scope, after):
            if upto is not None and keys.id_of(key) > upto:
                return
            event = self._get(Event, "log", key)
            if event is not None:
                yield event

    def turns(self, scope: str = "", after: int = 0, upto: int | None = None) -> Iterator[Turn]:
        """Walk the turns in order.

        Args:
            scope: Only of this namespace; "" for every one.
            after: Begin behind this id.
            upto: End with this id.

        Yields:
            Turns.
        """
        return (event for event in self.events(scope, after, upto) if isinstance(event, Turn))

    def _ids(self, scope: str, after: int) -> Iterator[bytes]:
        if not scope:
            yield from self._keys("log", b"", keys.id_key(after + 1))
            return
        prefix = keys.scope_prefix(scope)
        for key in self._keys("log_by_scope", prefix, prefix + keys.id_key(after + 1)):
            yield key[len(prefix) :]

    def last_id(self) -> int:
        """Return the id of the log's last event.

        Returns:
            The id, 0 when the log is empty.
        """
        cursor = self._txn.cursor(self._handles["log"])
        return keys.id_of(cursor.key()) if cursor.last() else 0

    # ------------------------------------------------------------------- sessions

    def session(self, id: str) -> Session | None:
        """Return a session.

        Args:
            id: The session.

        Returns:
            Its row, None when there is none.
        """
        return self._get(Session, "sessions", keys.name_key(id))

    def sessions(self, scope: str = "") -> list[Session]:
        """Return sessions.

        Args:
            scope: Only of this namespace; "" for every one.

        Returns:
            Rows by start, earliest first.
        """
        rows = [row for row in self._scan(Session, "sessions") if scope in ("", row.scope)]
        return sorted(rows, key=lambda row: (row.started, row.id))

    # ------------------------------------------------------------------- derived

    def memory(self, scope: str, id: str) -> Memory | None:
        """Return a memory.

        Args:
            scope: Its namespace.
            id: Its id.

        Returns:
            The memory, None when there is none.
        """
        return self._get(Memory, "memories", keys.scoped_key(scope, id))

    def memories(self, scope: str) -> Iterator[Memory]:
        """Walk a namespace's memories.

        Args:
            scope: The namespace.

        Yields:
            Memories by id.
        """
        return self._scan(Memory, "memories", keys.scope_prefix(scope))

    def vector(self, embedder: str, scope: str, id: str) -> Vector | None:
        """Return a memory's vector.

        Args:
            embedder: Key of the embedder that made it.
            scope: The memory's namespace.
            id: The memory's id.

        Returns:
            The vector, None when there is none.
        """
        key = keys.vector_key(embedder, scope, id)
        value = self._txn.get(key, db=self._handles["vectors"])
        return None if value is None else self._vector(key, value)

    def vectors(self, embedder: str, scope: str) -> Iterator[Vector]:
        """Walk a namespace's vectors by one embedder.

        Args:
            embedder: Its key.
            scope: The namespace.

        Yields:
            Vectors by memory id.
        """
        prefix = keys.embedder_hash(embedder) + keys.scope_prefix(scope)
        for key, value in self._rows("vectors", prefix):
            vector = self._vector(key, value)
            if vector is not None:
                yield vector

    def missing_vectors(self, embedder: str, scope: str, ids: Iterable[str]) -> list[str]:
        """Tell which memories still want their vector.

        Args:
            embedder: Key of the document embedder.
            scope: The namespace.
            ids: Memories to look at.

        Returns:
            Those without a vector, or with a draft only, in the order given.
        """
        found = ((id, self.vector(embedder, scope, id)) for id in ids)
        return [id for id, vector in found if vector is None or vector.draft]

    def scopes(self) -> list[str]:
        """Return every namespace that holds an event or a memory.

        Returns:
            Scopes, sorted.
        """
        return sorted({*self._scopes("log_by_scope"), *self._scopes("memories")})

    def _scopes(self, table: str) -> Iterator[str]:
        cursor = self._txn.cursor(self._handles[table])
        found = cursor.first()
        while found:
            scope, _ = keys.split_scope(cursor.key())
            yield scope
            found = cursor.set_range(scope.encode() + b"\1")

    # ------------------------------------------------------------------- bookkeeping

    def ledger(self, turn: int) -> LedgerEntry | None:
        """Return what recall did for a turn.

        Args:
            turn: Log id of the user's turn.

        Returns:
            The row, None when there is none, or no longer.
        """
        return self._get(LedgerEntry, "ledger", keys.id_key(turn))

    def ledger_tail(self, n: int) -> list[LedgerEntry]:
        """Return what recall did lately.

        Args:
            n: How many turns.

        Returns:
            Rows, the latest first.
        """
        rows = self._txn.cursor(self._handles["ledger"]).iterprev()
        entries = (self._decode(LedgerEntry, "ledger", *row) for row in islice(rows, n))
        return [entry for entry in entries if entry is not None]

    def cursor(self, name: str) -> Cursor | None:
        """Return how far a reader has come.

        Args:
            name: Whose cursor.

        Returns:
            The cursor, None before its first move.
        """
        return self._get(Cursor, "cursors", keys.name_key(name))

    def manifest(self, scope: str) -> Manifest | None:
        """Return what vouches for a namespace's index.

        Args:
            scope: The namespace.

        Returns:
            The manifest, None when no index is published.
        """
        return self._get(Manifest, "manifest", keys.name_key(scope))

    def counts(self) -> dict[str, int]:
        """Return how many rows each table has.

        Returns:
            Rows by table.
        """
        return {name: self._txn.stat(db)["entries"] for name, db in self._handles.items()}

    def forget_epoch(self) -> int:
        """Return how often something was forgotten.

        Returns:
            The epoch, from 0.
        """
        return int(self.meta(EPOCH, 0))

    def meta(self, name: str, default: Any = None) -> Any:
        """Return a row of ``meta``.

        Args:
            name: The row.
            default: Its value when there is none.

        Returns:
            Plain JSON values.
        """
        key = keys.name_key(name)
        value = self._txn.get(key, db=self._handles["meta"])
        return default if value is None else codec.decode_meta(key, value)

    # ------------------------------------------------------------------- rows

    def _get(self, kind: Any, table: str, key: bytes) -> Any:
        value = self._txn.get(key, db=self._handles[table])
        return None if value is None else self._decode(kind, table, key, value)

    def _decode(self, kind: Any, table: str, key: bytes, value: bytes) -> Any:
        try:
            return codec.decode(kind, key, value)
        except StoreDamagedError:
            self._on_bad(table, key)
            return None

    def _vector(self, key: bytes, value: bytes) -> Vector | None:
        try:
            return codec.decode_vector(key, value)
        except StoreDamagedError:
            self._on_bad("vectors", key)
            return None

    def _rows(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        cursor = self._txn.cursor(self._handles[table])
        if not cursor.set_range(prefix):
            return
        for key, value in cursor:
            if not key.startswith(prefix):
                return
            yield key, value

    def _keys(self, table: str, prefix: bytes, start: bytes) -> Iterator[bytes]:
        cursor = self._txn.cursor(self._handles[table])
        if not cursor.set_range(start):
            return
        for key in cursor.iternext(values=False):
            if not key.startswith(prefix):
                return
            yield key

    def _scan(self, kind: Any, table: str, prefix: bytes = b"") -> Iterator[Any]:
        for key, value in self._rows(table, prefix):
            record = self._decode(kind, table, key, value)
            if record is not None:
                yield record
