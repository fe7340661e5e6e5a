"""Copies every whole record of a damaged data file, as a program in a process of its own.

Usage::

    python -m slowcat_memory.store.care.salvage FILE INTO MAP_SIZE

Where a record comes from decides whether it is true:

1. The trees: what they reach is what the store held.
2. Leaves that no tree reaches and that are not free belong to a tree whose pages above them are
   damaged. They are live, too; their records say which table they are of.
3. Free pages hold earlier versions. Of these only a turn is taken, and only if an index of the log
   still has its number: then it is not forgotten, and its own page is the damaged one. If a meta
   page is lost, so may be the last transaction: turns with numbers that were not given before it
   are taken as well.

If the list of free pages is damaged, 2 and 3 cannot be told apart. Then what could be forgotten is
compared with every tombstone in the file, and what can be made again is left out.
"""

import errno
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import lmdb

from slowcat_memory.core.memory import turn_of
from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Event
from slowcat_memory.store import blocks
from slowcat_memory.store.blocks import decode_location
from slowcat_memory.store.disk import codec, folder, page_reader, tables
from slowcat_memory.store.disk.folder import DATA
from slowcat_memory.store.disk.page_reader import HEADER, intact
from slowcat_memory.store.disk.transaction import open_alone

MADE_AGAIN = ("log_by_scope", "sessions", "manifest", "changes")  # from the other tables
SALVAGED = tuple(name for name in tables.NAMES if name not in MADE_AGAIN)
# Taken from pages of which it is not known whether they are free.
WITHOUT_PROOF = ("log", "warm", "cold", "memories", "cursors", "commands")
NUMBERED = tuple(table.name for table in tables.TABLES if table.key.startswith("u64"))
COUNTERS = (tables.EPOCH, tables.NEXT_ID, tables.LAST_CHANGE, tables.LAST_RUN, tables.LAST_CALL)
MOST_TRIES = 20_000  # of a key for a large value without one; about half a millisecond each
BATCH = 2000  # rows in one transaction
DONE, FULL, REFUSED = 0, 3, 4  # exit codes; 1 is Python's own


class TableRow(NamedTuple):
    """A row's table and its record; plain values where the table has no record type."""

    table: str
    record: Any


def salvage(file: Path, into: Path, map_size: int) -> None:
    """Copy what is whole into a new store in the folder ``into``.

    ``map_size`` is in bytes of address space.

    Raises:
        OSError: The file cannot be opened.
        lmdb.Error: The disk refuses the copy.
    """
    with (
        closing(page_reader.PageReader(file)) as reader,
        open_alone(into / DATA, max(map_size, 4 * reader.size)) as out,
    ):
        _Salvage(reader, out, folder.read_unerased(file.parent)).run()
        out.sync(True)


class _Salvage:
    """One file's rows on their way into a new store."""

    def __init__(
        self, reader: page_reader.PageReader, out: lmdb.Environment, forgotten: dict[bytes, bytes]
    ) -> None:
        """Start with nothing copied; ``forgotten`` are tombstones whose rows may be in free pages."""
        self._reader = reader
        self._forgotten = forgotten
        self._out = out
        self._tables = {name: out.open_db(name.encode()) for name in SALVAGED}
        self._pages = page_reader.PageMap(reader)
        self._live: set[int] = set()  # ids of events that an index of the log has
        self._broken: set[str] = set(SALVAGED)  # tables that may lack rows
        self._metas: list[dict[bytes, bytes]] = []  # versions of the table ``meta``

    def run(self) -> None:
        for meta in self._reader.metas[:1]:
            self._pages.read_free_tree(meta)
            self._copy_trees(meta)
        self._put("tombstones", self._forgotten.items())
        # Tombstones may be missing, or the last transaction as a whole.
        unsure = len(self._reader.metas) < 2 or not self._pages.free_known
        if unsure or "tombstones" in self._broken:
            self._copy_tombstones()
        if self._broken or not self._pages.free_known:
            self._copy_unreached()
        self._choose_meta()
        self._copy_large_values()
        self._copy_earlier_turns()
        self._drop_forgotten()

    # ------------------------------------------------------------------- the trees

    def _copy_trees(self, meta: page_reader.MetaPage) -> None:
        trees, whole = page_reader.tables(self._reader, self._pages, meta)
        self._broken = set(trees if whole else SALVAGED)
        for name, tree in trees.items():
            walk = self._pages.walk(tree)
            if self._copy(name, walk) and walk.whole:
                self._broken.discard(name)

    def _copy(self, table: str, rows: Iterable[page_reader.Row]) -> bool:
        """Write the whole rows of a table; return whether all were whole."""
        rows, sound, named = iter(rows), True, table not in NUMBERED
        while batch := list(islice(rows, BATCH)):
            kept = [row for row in batch if intact(*row) and (named or len(row[0]) == 8)]
            sound &= len(kept) == len(batch)
            self._remember(table, kept)
            if table in self._tables:
                self._put(table, kept)
        return sound

    def _remember(self, table: str, rows: list[page_reader.Row]) -> None:
        if table in ("log_by_scope", "places"):
            self._live.update(codec.id_of(key) for key, _ in rows)
        elif table == "meta":
            self._metas.append(dict(rows))

    def _put(self, table: str, rows: Iterable[page_reader.Row]) -> None:
        with self._out.begin(write=True) as txn:
            txn.cursor(self._tables[table]).putmulti(rows, overwrite=False)

    # ------------------------------------------------------------------- beyond the trees

    def _rows(self, state: int) -> Iterator[tuple[page_reader.Row, TableRow]]:
        """Yield the rows of the leaves in a state, with the table that each belongs to."""
        for _, page in self._pages.leaves(state):
            nodes, _ = self._reader.leaf(page)
            for node in nodes:
                if node.value is not None and (known := identify(node.key, node.value)):
                    yield (node.key, node.value), known

    def _copy_unreached(self) -> None:
        """Copy the rows of leaves that no tree reaches."""
        sure = self._pages.free_known
        rows: dict[str, list[page_reader.Row]] = {name: [] for name in SALVAGED}
        for row, known in self._rows(page_reader.UNSEEN):
            if known.table == "log_by_scope" and sure:
                self._live.add(known.record)
            elif known.table in self._broken and (sure or self._may_live(row, known)):
                rows[known.table].append(row)
        if sure:
            self._live.update(codec.id_of(key) for key, _ in rows["places"])
        self._metas += self._meta_leaves(page_reader.UNSEEN)
        rows["meta"].clear()
        for table, content in rows.items():
            self._put(table, content)

    def _may_live(self, row: page_reader.Row, known: TableRow) -> bool:
        """Return whether a row of a page that may be free can be taken for true."""
        if known.table == "tombstones":
            return True
        if known.table not in WITHOUT_PROOF:
            return False
        marks = [codec.turn_tombstone(n) for n in _turns_of(row[0], known)]
        if known.table == "memories":
            scope, id = known.record.scope, known.record.id
            marks += [codec.memory_tombstone(scope, id), codec.epoch_mark(scope, id)]
        return not any(self._has("tombstones", mark) for mark in marks)

    def _copy_tombstones(self) -> None:
        """Copy the tombstones of every version: what was forgotten once stays forgotten."""
        for pages in (page_reader.UNSEEN, page_reader.FREE):
            buried = [row for row, known in self._rows(pages) if known.table == "tombstones"]
            self._put("tombstones", buried)

    def _copy_earlier_turns(self) -> None:
        """Copy turns of free pages if they are provably live, and their own page is not there."""
        first_new, key = sys.maxsize, codec.name_key(tables.NEXT_ID)
        if len(self._reader.metas) < 2 and (value := self._get("meta", key)):
            first_new = int(codec.decode_meta(key, value))
        earlier = [
            row
            for row, known in self._rows(page_reader.FREE)
            if known.table == "log"
            and (known.record.id in self._live or known.record.id >= first_new)
        ]
        self._put("log", [row for row in earlier if not self._has("places", row[0])])

    def _copy_large_values(self) -> None:
        """Copy large records whose leaf is lost: what an index names tells their keys.

        Only turns and blocks; each is proven by its checksum under the key that is missed.
        """
        missed = self._missed()
        tries = MOST_TRIES
        for value, least in self._pages.large_values() if missed else ():
            for key, names in list(missed.items()):
                tries -= 1
                if tries > 0 and (record := _trim_to_record(key, value, least)):
                    known = identify(key, record)
                    if known and known.table in names:
                        self._put(known.table, [(key, record)])
                        del missed[key]
                        break

    def _missed(self) -> dict[bytes, tuple[str, ...]]:
        """Return the keys of turns and blocks that an index names and that are not there."""
        with self._out.begin() as txn:
            places = [identify(*row) for row in txn.cursor(self._tables["places"])]
        missed: dict[bytes, tuple[str, ...]] = {
            key: ("log",)
            for key in map(codec.id_key, self._live)
            if not (self._has("log", key) or self._has("places", key))
        }
        for key in {codec.id_key(row.record) for row in places if row and row.table == "places"}:
            if not (self._has("warm", key) or self._has("cold", key)):
                missed[key] = (*missed.get(key, ()), "warm", "cold")
        return missed

    def _get(self, table: str, key: bytes) -> bytes | None:
        with self._out.begin() as txn:
            return txn.get(key, db=self._tables[table])

    def _has(self, table: str, key: bytes) -> bool:
        return self._get(table, key) is not None

    def _drop_forgotten(self) -> None:
        """Delete the rows of turns that have a tombstone."""
        with self._out.begin(write=True) as txn:
            marks = txn.cursor(self._tables["tombstones"]).iternext(values=False)
            for mark in [key for key in marks if codec.is_turn_tombstone(key)]:
                for table in ("log", "places"):
                    txn.delete(mark[1:], db=self._tables[table])

    # ------------------------------------------------------------------- meta

    def _meta_leaves(self, state: int) -> list[dict[bytes, bytes]]:
        leaves = []
        for _, page in self._pages.leaves(state):
            nodes, _ = self._reader.leaf(page)
            rows = {node.key: node.value for node in nodes if node.value is not None}
            known = [identify(key, value) for key, value in rows.items()]
            if any(known) and all(row is None or row.table == "meta" for row in known):
                leaves.append({k: v for k, v in rows.items() if intact(k, v)})
        return leaves

    def _choose_meta(self) -> None:
        """Complete the table ``meta`` by its newest version outside of the trees."""
        if "meta" not in self._broken:
            return
        if not self._metas:
            self._metas += self._meta_leaves(page_reader.FREE)
        for version in sorted(self._metas, key=_age, reverse=True)[:1]:
            self._put("meta", version.items())


def _trim_to_record(key: bytes, value: bytes, least: int) -> bytes | None:
    """Return the envelope under a key that a value of unknown length begins with.

    It is at least ``least`` bytes long. None when there is none.
    """
    if len(value) < HEADER.size:
        return None
    crc = HEADER.unpack_from(value)[3]
    end = max(least, HEADER.size)
    crc_here = zlib.crc32(memoryview(value)[HEADER.size : end], zlib.crc32(key))
    while crc_here != crc and end < len(value):
        crc_here = zlib.crc32(value[end : end + 1], crc_here)
        end += 1
    return value[:end] if intact(key, value[:end]) else None


def _turns_of(key: bytes, known: TableRow) -> tuple[int, ...]:
    """Return the turns that a row holds or was made from."""
    if known.table == "log":
        return (codec.id_of(key),)
    if known.table == "memories":
        turn = turn_of(known.record.id)
        return (*known.record.sources, turn) if turn else known.record.sources
    return ()


def _age(version: dict[bytes, bytes]) -> tuple[int, ...]:
    """Return what sorts versions of ``meta`` by time.

    Of two versions after the same forget, the one whose erasure is done is the later one.
    """
    rows = {name: _value(version, name) for name in (*COUNTERS, tables.ERASE_DUE)}
    return (*(int(rows[name] or 0) for name in COUNTERS), not rows[tables.ERASE_DUE])


def _value(version: dict[bytes, bytes], name: str) -> Any:
    key = codec.name_key(name)
    return codec.decode_meta(key, version[key]) if key in version else None


# ------------------------------------------------------------------- rows without a tree
# Most records name their own key (a turn its id, a memory its scope and id). A record that does so
# under the key that its checksum covers belongs to the table of such records.


Test = Callable[[bytes, bytes], TableRow | None]


def identify(key: bytes, value: bytes) -> TableRow | None:
    """Return the table and the record of a row; None when it is damaged, or not unmistakable.

    Rows of tables that are derived as a whole (sessions, manifests, changes) are None, too.
    """
    if not intact(key, value):
        return None
    for test in _NUMBERED if len(key) == 8 else _NAMED:
        try:
            if known := test(key, value):
                return known
        except (StoreDamagedError, ValueError):  # ValueError: a key that is no text, or no key
            continue
    return None


def _record(table: str, key_of: Callable[[Any], bytes]) -> Test:
    kind: Any = tables.RECORDS[table] or Event

    def test(key: bytes, value: bytes) -> TableRow | None:
        record = codec.decode(kind, key, value)
        return TableRow(table, record) if key_of(record) == key else None

    return test


def _place(key: bytes, value: bytes) -> TableRow | None:
    return TableRow("places", decode_location(key, value))


def _block(key: bytes, value: bytes) -> TableRow | None:
    head, _ = blocks.split_row(key, value)
    return TableRow(blocks.WARM if head.codec == blocks.LZ4 else blocks.COLD, head)


def _empty(key: bytes, value: bytes) -> TableRow | None:
    """Recognise rows without a body: the log's index by scope, and most tombstones."""
    if len(value) != HEADER.size:
        return None
    if codec.is_turn_tombstone(key):
        return TableRow("tombstones", None)
    scope, _, rest = key.partition(b"\0")
    if len(rest) == 8 and b"\0" in rest and scope.isascii():  # a number: a name has no NUL
        return TableRow("log_by_scope", codec.id_of(rest))
    return TableRow("tombstones", None) if codec.is_hashed(key, b"n") else None


def _epoch_mark(key: bytes, value: bytes) -> TableRow | None:
    if not codec.is_hashed(key, b"g"):
        return None
    return TableRow("tombstones", codec.decode(int, key, value))


def _meta(key: bytes, value: bytes) -> TableRow | None:
    if not key.isascii() or b"\0" in key:
        return None
    return TableRow("meta", codec.decode_meta(key, value))


def _vector(key: bytes, value: bytes) -> TableRow | None:
    """Recognise a vector by its key's hash and scope; its body has no name."""
    space, scope, id = codec.split_vector_key(key)
    if not scope or not id or len(value) <= HEADER.size:
        return None
    return TableRow("vectors", space)


_NUMBERED: tuple[Test, ...] = (
    _record("log", lambda event: codec.id_key(event.id)),
    _place,
    _record("ledger", lambda entry: codec.id_key(entry.turn)),
    _record("calls", lambda call: codec.id_key(call.id)),
    _record("runs", lambda run: codec.id_key(run.id)),
    _record("commands", lambda command: codec.id_key(command.id)),
    _block,
    _meta,  # a name of eight letters
)
_NAMED: tuple[Test, ...] = (
    _empty,
    _epoch_mark,
    _record("memories", lambda memory: codec.scoped_key(memory.scope, memory.id)),
    _record("keys", lambda key: codec.scoped_key(key.scope, key.id)),
    _record("contexts", lambda context: codec.scoped_key(context.scope, context.memory)),
    _record("tasks", lambda task: codec.name_key(task.id)),
    _record("cursors", lambda cursor: codec.name_key(cursor.name)),
    _meta,
    _vector,
)


def main(args: list[str]) -> int:
    """Salvage; return an exit code."""
    file, into, map_size = args
    try:
        salvage(Path(file), Path(into), int(map_size))
    except (lmdb.Error, OSError) as error:
        full = isinstance(error, lmdb.DiskError) or getattr(error, "errno", 0) == errno.ENOSPC
        return FULL if full else REFUSED
    return DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
