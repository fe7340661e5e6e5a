"""A whole store as a sequence of parts, and an open copy: what is to be sent of it, and all of it.

The parts are its rows, then the files of its sealed indexes.

A part is compressed and checked by itself, so that it can be stored and read alone. Rows come in
the order of their tables and keys, which is how they are written fastest.
"""

import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec
import zstandard
from msgspec import Struct

from slowcat_memory.errors import StoreDamagedError, StoreError, StoreUnsafeError
from slowcat_memory.records import Manifest
from slowcat_memory.store.care import copy
from slowcat_memory.store.care import open as opening
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import INDEX, index_folder
from slowcat_memory.store.disk.outbox import (
    COPY,
    LOCAL_META,
    LOCAL_TABLES,
    OUTBOX,
    Outbox,
    Unsent,
    decode,
    read_state,
)
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import Run, Transaction, reading, transact
from slowcat_memory.store.options import StoreOptions

PART_BYTES = 2 << 20  # of a part before compression
LEVEL = 1  # of zstd: 400 MB/s, and vectors do not shrink further


class Rows(Struct, frozen=True, tag="rows", array_like=True):
    """Rows of a table in the order of their keys."""

    table: str
    rows: list[tuple[bytes, bytes]]


class FilePiece(Struct, frozen=True, tag="file", array_like=True):
    """A piece of a file of a sealed index; ``path`` is relative to the store's folder."""

    path: str
    offset: int
    data: bytes


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Rows | FilePiece).decode


class Part(Struct, frozen=True):
    """A part as it is stored.

    Attributes:
        body: Compressed.
        crc: CRC-32 of ``body``.
    """

    body: bytes
    crc: int


def seal(content: Rows | FilePiece) -> Part:
    body = zstandard.compress(_pack(content), LEVEL)
    return Part(body, zlib.crc32(body))


def unseal(part: Part) -> Rows | FilePiece:
    """Return the content of a part.

    Raises:
        StoreDamagedError: It is not as it was sealed.
    """
    if zlib.crc32(part.body) != part.crc:
        raise StoreDamagedError("a part of a snapshot does not match its checksum")
    try:
        return _unpack(zstandard.decompress(part.body))
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise StoreDamagedError("a part of a snapshot does not unpack") from error


def of_store(tx: Transaction, folder: Path) -> Iterator[Rows | FilePiece]:
    """Yield a store's rows, and the sealed indexes whose files can be read.

    ``folder`` is the store's. An index that is being replaced is left out: it is built again.
    """
    for table in tx.tables():
        if table not in LOCAL_TABLES:
            yield from _rows(table, tx.rows(table))
    for key in tx.keys("manifest"):
        manifest, row = tx.read(Manifest, "manifest", key), tx.get("manifest", key)
        if manifest is not None and row is not None:
            try:
                yield from list(_pieces(manifest, folder))
            except OSError:
                continue
            yield Rows("manifest", [(key, row)])


def _rows(table: str, cursor: Iterable[tuple[bytes, bytes]]) -> Iterator[Rows]:
    kept = list[tuple[bytes, bytes]]()
    size = 0
    for key, value in cursor:
        if table == "meta" and key in LOCAL_META:
            continue
        kept.append((key, value))
        size += len(key) + len(value)
        if size >= PART_BYTES:
            yield Rows(table, kept)
            kept, size = [], 0
    if kept:
        yield Rows(table, kept)


def _pieces(manifest: Manifest, folder: Path) -> Iterator[FilePiece]:
    root = index_folder(folder, manifest.scope) / manifest.generation
    for file in manifest.files:
        data = (root / file.name).read_bytes()
        path = str((root / file.name).relative_to(folder))
        for offset in range(0, max(1, len(data)), PART_BYTES):
            yield FilePiece(path, offset, data[offset : offset + PART_BYTES])


def is_index_path(path: str) -> bool:
    """Return whether a piece's path lies below the folder of indexes."""
    parts = Path(path).parts
    return len(parts) > 1 and parts[0] == INDEX and ".." not in parts


# ------------------------------------------------------------------- an open copy


class Whole(Struct, frozen=True):
    """A store at one moment.

    Attributes:
        seq: Number of the last change set in it.
        generations: Names of the sealed indexes in it.
        parts: See ``of_store``.
    """

    seq: int
    generations: tuple[str, ...]
    parts: list[Part]


class ForgettingState(Struct, frozen=True):
    """How far forgetting has come here.

    Attributes:
        epoch: How many deletions there were.
        under_way: Whether rows or bytes of the last one are still there.
    """

    epoch: int
    under_way: bool


class Replica:
    """The replicated side of an open store. Safe to use from any thread but the writer's.

    Attributes:
        on_closing: Called when the last write is saved, while the store can still be read.
    """

    def __init__(self, env: Environment, outbox: Outbox, run: Run) -> None:
        self._env, self._outbox, self._run = env, outbox, run
        self.on_closing: Callable[[], object] = lambda: None

    @property
    def seq(self) -> int:
        """Number of the last change set that is on disk here."""
        return self._outbox.seq

    def unsent(self, after: int, most_bytes: int) -> list[Unsent]:
        """Return change sets after a number, in order; at least one if there is any."""
        found, size = list[Unsent](), 0
        with reading(self._env) as tx:
            for key, value in keys.rows_with(tx.cursor(OUTBOX), b"", keys.id_key(after + 1)):
                size += len(value)
                if found and size > most_bytes:
                    break
                found.append(decode(key, value))
        return found

    def note_sent(self, upto: int) -> None:
        """Record that change sets were sent; the next transaction deletes them here."""
        self._outbox.note_sent(upto)

    def trim(self) -> None:
        """Delete now what was sent. Blocks."""
        self._run(partial(transact, self._env, self._outbox.trim))

    def scrub(self) -> bool:
        """Erase the bytes of what was sent before the last forgetting; return whether that is done.

        Blocks; mostly for nothing, since erasing rewrote the file without them. It cannot be done
        while somebody reads.
        """
        return self._outbox.is_scrubbed or copy.rewrite(self._env, self._run)

    def erased(self) -> ForgettingState:
        with reading(self._env) as tx:
            return ForgettingState(tx.meta(EPOCH, 0), bool(tx.meta(ERASE_DUE, False)))

    def generations(self) -> tuple[str, ...]:
        """Return the names of the sealed indexes."""
        with reading(self._env) as tx:
            return _generations(tx)

    def whole(self) -> Whole:
        """Return everything, compressed. Blocks, about 0.1 s for 10,000 memories.

        Raises:
            StoreError: It cannot be read.
        """
        with reading(self._env) as tx:
            state = read_state(tx.get("meta", keys.name_key(COPY)))
            if state is None:
                raise StoreDamagedError("this folder is not the copy of a memory in a database")
            made = [seal(one) for one in of_store(tx, self._env.path)]
            return Whole(state.seq, _generations(tx), made)


def _generations(tx: Transaction) -> tuple[str, ...]:
    return tuple(sorted(one.generation for one in tx.records(Manifest, "manifest")))


# ------------------------------------------------------------------- an ordinary store
# An ordinary store to parts, and back: one that is nobody's copy, with nothing to send.


class Ordinary(Struct, frozen=True):
    """A store at one moment.

    Attributes:
        parts: See ``of_store``.
        rows: How many rows of each table are in them.
        forget_epoch: How many deletions there were.
        erasing: Whether rows or bytes of the last one are still there.
    """

    parts: list[Part]
    rows: dict[str, int]
    forget_epoch: int
    erasing: bool


def read(folder: Path, options: StoreOptions) -> Ordinary:
    """Read a store, also beside the process that writes to it; changes nothing. Blocks.

    Raises:
        StoreUnsafeError: It is the copy of a memory in a database.
        StoreError: It cannot be read.
    """
    with closing(opening.to_read(folder.absolute(), options).env) as env:
        with reading(env) as tx:
            if tx.get("meta", keys.name_key(COPY)) is not None:
                raise StoreUnsafeError(f"{folder} is a worker's copy of a memory in a database")
            erasing = bool(tx.meta(ERASE_DUE, False))
            epoch = tx.meta(EPOCH, 0)
            contents = list(of_store(tx, env.path))
    rows = Counter(one.table for one in contents if isinstance(one, Rows) for _ in one.rows)
    return Ordinary([seal(one) for one in contents], dict(rows), epoch, erasing)


def count_rows(stored: Iterable[Part]) -> dict[str, int]:
    """Return how many rows of each table are in some parts.

    Raises:
        StoreDamagedError: A part is not as it was sealed.
    """
    rows = Counter[str]()
    for part in stored:
        if isinstance(content := unseal(part), Rows):
            rows[content.table] += len(content.rows)
    return dict(rows)


def check_vacant(folder: Path) -> None:
    """Check that a new store may be made in a folder.

    Raises:
        StoreError: Something is there.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise StoreError(f"{folder} is not a folder", hint="Choose another")
    if folder.is_dir() and os.listdir(folder):
        raise StoreError(f"{folder} is not empty", hint="Choose a new folder")


def check_rows(expected: dict[str, int], found: dict[str, int], where: str) -> None:
    """Compare numbers of rows by table.

    Raises:
        StoreDamagedError: They differ.
    """
    lacking = [
        name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)
    ]
    if lacking:
        raise StoreDamagedError(f"{where} has other rows of {', '.join(sorted(lacking))}")
