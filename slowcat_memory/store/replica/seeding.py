"""Makes a copy of a store from parts and change sets, before it is opened.

The folder of a new copy is made under another name, flushed once, and renamed: what is there is
whole. A copy that exists gets the change sets that it lacks in one transaction.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb
import msgspec

from slowcat_memory.errors import StoreDamagedError, StoreFormatError
from slowcat_memory.store.disk import codec, keys, outbox
from slowcat_memory.store.disk.envelope import FORMAT_KEY, is_of_another_format
from slowcat_memory.store.disk.environment import Handles, Txn, map_bytes, our_errors
from slowcat_memory.store.disk.folder import DATA, create, data_file, sync_dir
from slowcat_memory.store.disk.outbox import (
    COPY,
    OUTBOX,
    Changes,
    CopyState,
    Unsent,
    decode,
    read_state,
)
from slowcat_memory.store.disk.state import mark_stopped
from slowcat_memory.store.disk.tables import COUNTS, NAMES
from slowcat_memory.store.disk.transaction import open_alone
from slowcat_memory.store.replica.parts import FilePiece, Rows, is_index_path

NEW = ".new"  # ends the name of a folder that is being made


class Seed:
    """A new copy that is being made. One thread."""

    def __init__(self, folder: Path, map_gib: float) -> None:
        """Begin an empty copy, which takes the place ``folder`` at the end.

        ``map_gib`` is the address space to reserve, in GiB.
        """
        self._folder, self._made = folder, folder.with_name(folder.name + NEW)
        shutil.rmtree(self._made, ignore_errors=True)
        self._made.mkdir(mode=0o700, parents=True)
        with our_errors(self._made):
            self._env = open_alone(self._made / DATA, map_bytes(map_gib))
            self._dbs = {name: self._env.open_db(name.encode()) for name in (*NAMES, OUTBOX)}
        self._last: dict[str, bytes] = {}

    def add(self, content: Rows | FilePiece) -> None:
        """Write a part; rows of one table come in the order of their keys.

        Raises:
            StoreDamagedError: It cannot be a part of a store.
            StoreFormatError: It is of a store of another format.
        """
        if isinstance(content, FilePiece):
            return self._add_piece(content)
        if content.table == "meta" and is_of_another_format(dict(content.rows).get(FORMAT_KEY)):
            raise StoreFormatError("the memory has the format of another version of slowcat-memory")
        if content.table not in self._dbs:
            raise StoreDamagedError(f"a snapshot has an unknown table {content.table!r}")
        with our_errors(self._made), self._env.begin(write=True) as txn:
            ordered = content.rows[0][0] > self._last.get(content.table, b"")
            txn.cursor(self._dbs[content.table]).putmulti(content.rows, append=ordered)
        self._last[content.table] = content.rows[-1][0]

    def _add_piece(self, piece: FilePiece) -> None:
        if not is_index_path(piece.path):
            raise StoreDamagedError(f"a snapshot has a file {piece.path!r}")
        path = self._made / piece.path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if piece.offset == 0:
            os.close(create(path))
        fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "wb") as file:
            file.seek(piece.offset)
            file.write(piece.data)

    def apply(self, sets: Iterable[Changes]) -> None:
        """Write later change sets, in their order."""
        with our_errors(self._made), self._env.begin(write=True) as txn:
            _apply(txn, self._dbs, sets)

    def finish(self, state: CopyState | None) -> None:
        """Flush the copy, and give it its name; without a state it is an ordinary store."""
        with our_errors(self._made):
            with self._env.begin(write=True) as txn:
                if state is None:
                    txn.drop(self._dbs.pop(OUTBOX))
                _sign(txn, self._dbs, state)
            self._env.sync(True)
            self._env.close()
        mark_stopped(self._made)
        os.rename(self._made, self._folder)
        sync_dir(self._folder.parent)

    def counts(self) -> dict[str, int]:
        """Return how many rows each table has so far."""
        with self._env.begin() as txn:
            return {name: txn.stat(db)["entries"] for name, db in self._dbs.items()}

    def abandon(self) -> None:
        """Delete what was made; does nothing after ``finish``."""
        self._env.close()
        shutil.rmtree(self._made, ignore_errors=True)


def state_of(folder: Path) -> tuple[CopyState, list[Unsent]] | None:
    """Return whose copy a folder is, and its change sets that may not have been sent.

    None where there is none. It must not be open.

    Raises:
        StoreError: It cannot be read.
    """
    if not data_file(folder).is_file():
        return None
    with our_errors(folder), _opened(folder, readonly=True) as (env, dbs):
        if "meta" not in dbs:
            return None
        with env.begin() as txn:
            state = read_state(txn.get(keys.name_key(COPY), db=dbs["meta"]))
            if state is None or OUTBOX not in dbs:
                return None
            unsent = [decode(key, value) for key, value in txn.cursor(dbs[OUTBOX])]
    return state, unsent


def top_up(folder: Path, sets: Iterable[Changes], state: CopyState) -> None:
    """Write the change sets that a copy lacks, and drop those of its own, which were all sent.

    It must not be open.
    """
    with _changed(folder, state) as (txn, dbs):
        _apply(txn, dbs, sets)
        txn.drop(dbs[OUTBOX], delete=False)


def sign(folder: Path, state: CopyState) -> None:
    """Write a copy's state; it must not be open."""
    with _changed(folder, state):
        pass


@contextmanager
def _changed(folder: Path, state: CopyState) -> Iterator[tuple[Txn, Handles]]:
    with our_errors(folder), _opened(folder) as (env, dbs):
        with env.begin(write=True) as txn:
            yield txn, dbs
            _sign(txn, dbs, state)
        env.sync(True)
    mark_stopped(folder)


@contextmanager
def _opened(folder: Path, *, readonly: bool = False) -> Iterator[tuple[lmdb.Environment, Handles]]:
    with open_alone(data_file(folder), readonly=readonly) as env:
        with env.begin() as txn:
            present = [key for key, _ in txn.cursor()]
        yield env, {name.decode(): env.open_db(name, create=False) for name in present}


def _apply(txn: Txn, dbs: Handles, sets: Iterable[Changes]) -> None:
    for changes in sets:
        if outbox.forgets(changes):
            for table in ("manifest", "changes"):  # of what was built before
                txn.drop(dbs[table], delete=False)
        for table, rows in changes.items():
            for key, value in rows.items():
                if value is None:
                    txn.delete(key, db=dbs[table])
                else:
                    txn.put(key, value, db=dbs[table])


def _sign(txn: Txn, dbs: Handles, state: CopyState | None) -> None:
    counts = {name: txn.stat(db)["entries"] for name, db in dbs.items() if name != "meta"}
    rows = {COUNTS: counts} if state is None else {COUNTS: counts, COPY: msgspec.to_builtins(state)}
    for name, value in rows.items():
        key = keys.name_key(name)
        txn.put(key, codec.encode_meta(key, value), db=dbs["meta"])
