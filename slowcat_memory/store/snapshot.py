"""Reading: one consistent view of every table, for as long as its block lasts."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import chunk, turn_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import (
    CommandEntry,
    Context,
    Cursor,
    Event,
    Held,
    Key,
    LedgerEntry,
    Manifest,
    Memory,
    Run,
    Session,
    Task,
    TaskState,
    Turn,
    Vector,
)
from slowcat_memory.store.blocks import locations
from slowcat_memory.store.blocks.census import census
from slowcat_memory.store.blocks.reader import BlockCache, BlockReader, DamagedRow
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.environment import Handles, Txn
from slowcat_memory.store.disk.tables import EPOCH, LAST_CHANGE, UNENDED

if TYPE_CHECKING:
    import lmdb

T = TypeVar("T")
OnBad = Callable[[str, bytes], None]


class Snapshot:
    """What was committed when it was taken. Never held across an ``await``.

    A damaged record is left out as if it were not there, and told to the store's ``quarantined``.
    """

    def __init__(
        self, txn: Txn, handles: Handles, on_bad: OnBad, cache: BlockCache | None = None
    ) -> None:
        """Wrap a read transaction.

        Args:
            txn: The transaction.
            handles: The tables.
            on_bad: Told table and key of a damaged record.
            cache: Keeps blocks unpacked from one snapshot to the next; None for this one only.
        """
        self._txn = txn
        self._handles = handles
        self._on_bad = on_bad
        # No reference to itself: LMDB's reader slot is free when the transaction is collected, and
        # in a cycle that would wait for the garbage collector while slots run out.
        self._row = partial(_row, txn, handles)
        self._blocks = BlockReader(self._row, cache or BlockCache())

    # ------------------------------------------------------------------- the log

    def turn(self, id: int) -> Turn | None:
        """Return a turn.

        Args:
            id: Its log id.

        Returns:
            The turn, None when there is none.
        """
        event = self._event(keys.id_key(id))
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
            event = self._event(key)
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

    def turn_before(self, scope: str, session: str, id: int) -> int:
        """Find the turn that was said before another in its session.

        Args:
            scope: The session's namespace.
            session: The session.
            id: The later turn.

        Returns:
            The earlier one's log id, 0 when there is none.
        """
        row = self.session(session)
        if row is None or not row.first_turn or row.first_turn >= id:
            return 0
        if row.last_turn < id:
            return row.last_turn
        prefix = keys.scope_prefix(scope)
        cursor = self._txn.cursor(self._handles["log_by_scope"])
        found = cursor.set_range(prefix + keys.id_key(id))
        while cursor.prev() if found else cursor.last():
            found, key = True, cursor.key()
            if not key.startswith(prefix) or keys.id_of(key) < row.first_turn:
                return 0
            turn = self.turn(keys.id_of(key))
            if turn is not None and turn.session == session:
                return turn.id
        return 0

    def _event(self, key: bytes) -> Event | None:
        try:
            return self._blocks.event(key)
        except DamagedRow as error:
            self._on_bad(error.table, error.key)
            return None

    def _ids(self, scope: str, after: int) -> Iterator[bytes]:
        if not scope:
            yield from locations.event_keys(self._txn, self._handles, keys.id_key(after + 1))
            return
        prefix = keys.scope_prefix(scope)
        for key in self._keys("log_by_scope", prefix, prefix + keys.id_key(after + 1)):
            yield key[len(prefix) :]

    def last_id(self) -> int:
        """Return the id of the log's last event.

        Returns:
            The id, 0 when the log is empty.
        """
        last = locations.last_key(self._txn, self._handles)
        return keys.id_of(last) if last else 0

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

    def unended(self) -> list[Session]:
        """Return the sessions that have not ended.

        Returns:
            Rows by start, earliest first.
        """
        known = self.meta(UNENDED)
        rows = self.sessions() if known is None else [self.session(id) for id in known]
        found = [row for row in rows if row is not None and row.ended is None]
        return sorted(found, key=lambda row: (row.started, row.id))

    # ------------------------------------------------------------------- derived

    def read(self, scope: str, id: str) -> Memory | None:
        """Return a memory as it is to be shown and found: its context included.

        Args:
            scope: Its namespace.
            id: Its id.

        Returns:
            The memory, or the chunk that its turn makes; None when neither is there.
        """
        memory = self.memory(scope, id)
        if memory is None:
            turn = self.turn(turn_of(id)) if turn_of(id) else None
            memory = chunk(turn) if turn is not None and turn.scope == scope else None
        return None if memory is None else self.in_context(memory)

    def in_context(self, memory: Memory) -> Memory:
        """Join a memory with what places it.

        Args:
            memory: A memory as it is kept, or a chunk.

        Returns:
            The memory with its context, when it has one.
        """
        context = self.context(memory.scope, memory.id)
        return replace(memory, context=context.text) if context else memory

    def memory(self, scope: str, id: str) -> Memory | None:
        """Return a memory as it is kept: without what places it (see ``read``).

        Args:
            scope: Its namespace.
            id: Its id.

        Returns:
            The memory, None when there is none.
        """
        return self._get(Memory, "memories", keys.scoped_key(scope, id))

    def memories(self, scope: str, beginning: str = "") -> Iterator[Memory]:
        """Walk a namespace's memories.

        Args:
            scope: The namespace.
            beginning: Only those whose ids begin so.

        Yields:
            Memories by id.
        """
        return self._scan(Memory, "memories", keys.scope_prefix(scope) + beginning.encode())

    def context(self, scope: str, id: str) -> Context | None:
        """Return what places a memory.

        Args:
            scope: Its namespace.
            id: The memory's id.

        Returns:
            The context, None when there is none.
        """
        return self._get(Context, "contexts", keys.scoped_key(scope, id))

    def contexts(self, scope: str) -> Iterator[Context]:
        """Walk what places a namespace's memories.

        Args:
            scope: The namespace.

        Yields:
            Contexts by memory id.
        """
        return self._scan(Context, "contexts", keys.scope_prefix(scope))

    def keys(self, scope: str, memory: str = "") -> Iterator[Key]:
        """Walk the keys that point back to memories.

        Args:
            scope: The memories' namespace.
            memory: Only those of this one; "" for all.

        Yields:
            Keys by id, so that those of one memory come together.
        """
        beginning = f"{memory}?".encode() if memory else b""
        found: Iterator[Key] = self._scan(Key, "keys", keys.scope_prefix(scope) + beginning)
        return (key for key in found if memory in ("", key.memory))

    def vector(self, embedder: str, scope: str, id: str) -> Vector | None:
        """Return a memory's vector, or a key's.

        Args:
            embedder: Key of the embedder that made it.
            scope: The memory's namespace.
            id: The memory's id, or the key's.

        Returns:
            The vector, None when there is none.
        """
        key = keys.vector_key(embedder, scope, id)
        value = self._txn.get(key, db=self._handles["vectors"])
        return None if value is None else self._vector(key, value)

    def vectors(self, embedder: str, scope: str) -> Iterator[Vector]:
        """Walk a namespace's vectors by one embedder: those of memories, and of keys.

        Args:
            embedder: Its key.
            scope: The namespace.

        Yields:
            Vectors by the id of their memory or key.
        """
        prefix = keys.embedder_hash(embedder) + keys.scope_prefix(scope)
        for key, value in self._rows("vectors", prefix):
            vector = self._vector(key, value)
            if vector is not None:
                yield vector

    def tokens(self, token_key: str, scope: str, ids: Iterable[str]) -> list[np.ndarray | None]:
        """Return the vectors of memories' tokens: 0.1 ms for 50 memories.

        Args:
            token_key: Key of their space.
            scope: The memories' namespace.
            ids: The memories.

        Returns:
            In the order given shape (n, token_dim), int8, read-only; None where there are none.
        """
        get, table = self._txn.get, self._handles["vectors"]
        prefix = keys.embedder_hash(token_key) + keys.scope_prefix(scope)
        found: list[np.ndarray | None] = []
        for key in [prefix + id.encode() for id in ids]:
            value = get(key, db=table)
            row = None if value is None else self._tokens(key, value)
            found.append(row[0] if row else None)
        return found

    def has_tokens(self, token_key: str, scope: str, *, drafts: bool) -> set[str]:
        """Tell which memories have vectors of their tokens.

        Args:
            token_key: Key of their space.
            scope: The namespace.
            drafts: Whether drafts count.

        Returns:
            Their ids.
        """
        prefix = keys.embedder_hash(token_key) + keys.scope_prefix(scope)
        rows = ((key, self._tokens(key, value)) for key, value in self._rows("vectors", prefix))
        return {key[len(prefix) :].decode() for key, row in rows if row and (drafts or not row[1])}

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

    def commands(self, scope: str = "", n: int | None = None) -> list[CommandEntry]:
        """Return what people ordered the memory to do.

        Args:
            scope: Only what changed this namespace; "" for every one.
            n: How many; None for all.

        Returns:
            Rows, the latest first.
        """
        entries = (self._decode(CommandEntry, "commands", *row) for row in self._latest("commands"))
        return list(islice((e for e in entries if e and scope in ("", e.scope)), n))

    def task(self, id: str) -> Task | None:
        """Return a piece of idle work.

        Args:
            id: Its id.

        Returns:
            The task, None when there is none, or it is done.
        """
        return self._get(Task, "tasks", keys.name_key(id))

    def tasks(self, job: str = "", state: TaskState | Literal[""] = "") -> list[Task]:
        """Return the idle work that is due, or given up.

        Args:
            job: Only this job's; "" for every one's.
            state: Only what is in this state; "" for all.

        Returns:
            Tasks by rank; within one rank the newest first.
        """
        beginning = f"{job}/".encode() if job else b""
        every: Iterator[Task] = self._scan(Task, "tasks", beginning)
        found = [task for task in every if job in ("", task.job) and state in ("", task.state)]
        return sorted(found, key=lambda task: (task.rank, -task.created.timestamp(), task.id))

    def runs(self, n: int | None = None) -> list[Run]:
        """Return what idle jobs did lately.

        Args:
            n: How many steps; None for all that are kept.

        Returns:
            Rows, the latest first.
        """
        entries = (self._decode(Run, "runs", *row) for row in self._latest("runs"))
        return list(islice((entry for entry in entries if entry), n))

    def cursor(self, name: str) -> Cursor | None:
        """Return how far a reader has come.

        Args:
            name: Whose cursor.

        Returns:
            The cursor, None before its first move.
        """
        return self._get(Cursor, "cursors", keys.name_key(name))

    def cursors(self) -> Iterator[Cursor]:
        """Walk how far every reader has come.

        Yields:
            Cursors by name.
        """
        return self._scan(Cursor, "cursors")

    def manifest(self, scope: str) -> Manifest | None:
        """Return what vouches for a namespace's index.

        Args:
            scope: The namespace.

        Returns:
            The manifest, None when no index is published.
        """
        return self._get(Manifest, "manifest", keys.name_key(scope))

    def last_change(self) -> int:
        """Return the number of the last change of memories or vectors.

        Returns:
            The number, 0 before the first.
        """
        return int(self.meta(LAST_CHANGE, 0))

    def changed(self, scope: str, after: int) -> list[str]:
        """Return which memories, or their vectors, changed.

        Args:
            scope: The namespace.
            after: Only by changes behind this number, which an index was published with.

        Returns:
            Ids of memories, each once; some may be gone.
        """
        prefix, found = keys.scope_prefix(scope), dict[str, None]()
        start = prefix + keys.id_key(after + 1)
        for key in self._keys("changes", prefix, start):
            found |= dict.fromkeys(self._get(list[str], "changes", key) or ())
        return list(found)

    def counts(self) -> dict[str, int]:
        """Return how many rows each table has.

        Returns:
            Rows by table.
        """
        return {name: self._txn.stat(db)["entries"] for name, db in self._handles.items()}

    def table_bytes(self) -> dict[str, int]:
        """Return how much of the file each table takes.

        Returns:
            Bytes of its pages, by table.
        """
        stats = {name: self._txn.stat(db) for name, db in self._handles.items()}
        return {
            name: s["psize"] * (s["branch_pages"] + s["leaf_pages"] + s["overflow_pages"])
            for name, s in stats.items()
        }

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

    def tiers(self) -> dict[str, Held]:
        """Tell what each tier holds.

        Returns:
            By name, near to far.
        """
        return census(self._txn, self._handles)

    # ------------------------------------------------------------------- rows

    def _get(self, kind: Any, table: str, key: bytes) -> Any:
        value = self._row(table, key)
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

    def _tokens(self, key: bytes, value: bytes) -> tuple[np.ndarray, bool] | None:
        try:
            return codec.decode_tokens(key, value)
        except StoreDamagedError:
            self._on_bad("vectors", key)
            return None

    def _cursor(self, table: str) -> "lmdb.Cursor[bytes] | None":
        db = self._handles.get(table)
        return None if db is None else self._txn.cursor(db)

    def _latest(self, table: str) -> Iterator[tuple[bytes, bytes]]:
        cursor = self._cursor(table)
        return iter(()) if cursor is None else cursor.iterprev()

    def _rows(self, table: str, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        cursor = self._cursor(table)
        if cursor is None or not cursor.set_range(prefix):
            return
        for key, value in cursor:
            if not key.startswith(prefix):
                return
            yield key, value

    def _keys(self, table: str, prefix: bytes, start: bytes) -> Iterator[bytes]:
        cursor = self._cursor(table)
        if cursor is None or not cursor.set_range(start):
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


def _row(txn: Txn, handles: Handles, table: str, key: bytes) -> bytes | None:
    db = handles.get(table)  # an older store, open for reading, lacks tables
    return None if db is None else txn.get(key, db=db)
