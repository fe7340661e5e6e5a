"""A copy of a memory that a database shares: what an open one has to send, and how one is made.

A whole store is sent as pieces of its files: a compact copy of its data file, and its sealed
indexes. A piece is compressed and checked by itself, so that it can be stored and read alone. The
folder of a new copy is made under another name, flushed once, and renamed: what is there is whole. A
copy that exists gets the change sets that it lacks in one transaction.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from slowcat_memory.errors import StoreDamagedError, StoreError, StoreUnsafeError
from slowcat_memory.records import Manifest
from slowcat_memory.store.care import copies
from slowcat_memory.store.care import open as opening
from slowcat_memory.store.disk import codec, folder, outbox
from slowcat_memory.store.disk.environment import Environment, map_bytes, our_errors
from slowcat_memory.store.disk.folder import mark_stopped
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import (
    Transaction,
    drop_sent,
    reading,
    transact,
    write_copy,
)
from slowcat_memory.store.options import StoreOptions

PART_BYTES = 2 << 20  # of a part before compression
NEW = ".new"  # ends the name of a folder that is being made


class FilePiece(Struct, frozen=True, array_like=True):
    """A piece of a file; ``path`` is relative to the store's folder."""

    path: str
    offset: int
    data: bytes


_unpack = msgspec.msgpack.Decoder(FilePiece).decode


def unseal(part: bytes) -> FilePiece:
    """Return the content of a part.

    Raises:
        StoreDamagedError: It is none.
    """
    return outbox.unpack(_unpack, part, "a part of a snapshot")


def of_store(tx: Transaction, env: Environment) -> list[bytes]:
    """Return a store's rows, without what is still to be sent, and the sealed indexes.

    An index that is being replaced is left out: it is built again.
    """
    path = env.path
    parts = list[bytes]()
    while not parts:
        with suppress(FileNotFoundError), folder.fresh_folder(path) as fresh:  # erasures remove it
            write_copy(tx, fresh / folder.DATA, env.map_size, (outbox.OUTBOX,))
            parts = [outbox.pack(piece) for piece in _pieces(fresh / folder.DATA, fresh)]
    for manifest in tx.records(Manifest, "manifest"):
        root = folder.index_folder(path, manifest.scope) / manifest.generation
        try:
            files = [_pieces(root / file.name, path) for file in manifest.files]
            parts += [outbox.pack(piece) for pieces in files for piece in pieces]
        except OSError:
            continue
    return parts


def _pieces(file: Path, root: Path) -> Iterator[FilePiece]:
    data, path = file.read_bytes(), str(file.relative_to(root))
    for offset in range(0, max(1, len(data)), PART_BYTES):
        yield FilePiece(path, offset, data[offset : offset + PART_BYTES])


# ------------------------------------------------------------------- an open copy


class Whole(Struct, frozen=True):
    """A store at one moment.

    Attributes:
        parts: See ``of_store``.
        seq: Number of the last change set in a copy.
        rows: How many rows each table of an ordinary store has.
        forget_epoch: How many deletions there were in it; 0 while bytes of the last one are there.
    """

    parts: list[bytes]
    seq: int = 0
    rows: dict[str, int] = {}
    forget_epoch: int = 0


class Replica:
    """The replicated side of an open store. Safe to use from any thread but the writer's.

    Attributes:
        outbox: Numbers what is written, and keeps what is to be sent.
        on_closing: Called when the last write is saved, while the store can still be read.
    """

    def __init__(self, env: Environment, unsent: outbox.Outbox) -> None:
        self._env, self.outbox = env, unsent
        self.on_closing: Callable[[], object] = lambda: None

    def unsent(self, after: int, most_bytes: int) -> list[outbox.Unsent]:
        """Return change sets after a number, in order; at least one if there is any."""
        sets, size = list[outbox.Unsent](), 0
        with reading(self._env) as tx:
            for key, value in tx.rows(outbox.OUTBOX, start=codec.id_key(after + 1)):
                size += len(value)
                if sets and size > most_bytes:
                    break
                sets.append(outbox.decode(key, value))
        return sets

    def trim(self) -> None:
        """Delete now what was sent. Blocks."""
        self._env.run(partial(transact, self._env, partial(drop_sent, self.outbox.sent)))

    def scrub(self) -> bool:
        """Erase the bytes of what was sent before the last forgetting; return whether that is done.

        Blocks; it cannot be done while somebody reads.
        """
        return copies.rewrite(self._env)

    def erased(self) -> int | None:
        """Return how many deletions there were; None while bytes of the last one are here."""
        with reading(self._env) as tx:
            return None if tx.meta(ERASE_DUE) else int(tx.meta(EPOCH, 0))

    def generations(self) -> tuple[str, ...]:
        """Return the names of the sealed indexes."""
        with reading(self._env) as tx:
            manifests = tx.records(Manifest, "manifest")
            return tuple(sorted(manifest.generation for manifest in manifests))

    def whole(self) -> Whole:
        """Return everything, compressed. Blocks, about 0.1 s for 10,000 memories.

        Raises:
            StoreError: It cannot be read.
        """
        with reading(self._env) as tx:
            seq = tx.meta(outbox.COPY)["seq"]
            return Whole(of_store(tx, self._env), seq)


# ------------------------------------------------------------------- an ordinary store
# An ordinary store to parts: one that is nobody's copy, with nothing to send.


def read(path: Path, options: StoreOptions) -> Whole:
    """Read a store, also beside the process that writes to it; changes nothing. Blocks.

    Raises:
        StoreUnsafeError: It is the copy of a memory in a database.
        StoreError: It cannot be read.
    """
    with closing(opening.to_read(path.absolute(), options).env) as env, reading(env) as tx:
        if tx.meta(outbox.COPY) is not None:
            raise StoreUnsafeError(f"{path} is a worker's copy of a memory in a database")
        epoch = 0 if tx.meta(ERASE_DUE) else tx.meta(EPOCH, 0)
        return Whole(of_store(tx, env), rows=tx.counts(), forget_epoch=epoch)


# ------------------------------------------------------------------- a copy that is not open


@contextmanager
def new_store(path: Path) -> Iterator[Path]:
    """Make a folder for a store, which takes the place ``path`` if the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name = f"{path.name}-"
    with TemporaryDirectory(NEW, name, path.parent, ignore_cleanup_errors=True) as draft:
        yield Path(draft)
        os.rename(draft, path)
        folder.sync_dir(path.parent)


def add(part: bytes, draft: Path) -> None:
    """Write a part into a new store; those of a file come in their order.

    Raises:
        StoreDamagedError: It cannot be a part of a store.
        StoreError: The disk refuses.
    """
    piece = unseal(part)
    below = Path(piece.path).parts
    if piece.path != folder.DATA and (below[:1] != (folder.INDEX,) or ".." in below):
        raise StoreDamagedError(f"a snapshot has a file {piece.path!r}")
    path = draft / piece.path
    with our_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.seek(piece.offset)
            file.write(piece.data)


def state_of(path: Path) -> tuple[outbox.CopyState, list[outbox.Unsent]]:
    """Return whose copy a folder is, and its change sets that may not have been sent.

    It must not be open.

    Raises:
        StoreError: It cannot be read, or is nobody's copy.
    """
    how = StoreOptions(allow_unsafe_fs=True)  # it is only read
    with closing(opening.to_read(path, how).env) as env, reading(env) as tx:
        state = msgspec.convert(tx.meta(outbox.COPY), outbox.CopyState | None)
        if state is None or outbox.OUTBOX not in tx.tables():
            raise StoreError(f"{path} is nobody's copy")
        return state, [outbox.decode(*row) for row in tx.rows(outbox.OUTBOX)]


def write(
    path: Path,
    state: outbox.CopyState | None,
    sets: Iterable[outbox.Changes] = (),
    unsent: Iterable[outbox.Unsent] | None = None,
    map_gib: float = 1.0,
) -> dict[str, int]:
    """Write change sets and a state into a store that is not open, and flush it.

    Args:
        state: None for an ordinary store.
        unsent: Change sets that a copy has to send, in place of those there; None keeps these.
        map_gib: Address space to reserve for a store without a data file, in GiB.

    Returns:
        How many rows each table has.

    Raises:
        StoreFormatError: It is a store of another format.
    """

    def change(tx: Transaction) -> None:
        for changes in sets:
            if outbox.forgets(changes):
                for table in ("manifest", "changes"):  # of what was built before
                    tx.clear(table)
            tx.merge(changes)
        if state is None:
            return tx.drop("meta", codec.name_key(outbox.COPY))
        tx.set_meta(outbox.COPY, state)
        if unsent is not None:
            tx.clear(outbox.OUTBOX)
            for change in unsent:
                tx.put(outbox.OUTBOX, *outbox.encode(change))

    map_size, is_copy = map_bytes(map_gib), state is not None
    with our_errors(path):
        with closing(Environment(path, map_size=map_size, is_copy=is_copy)) as env:
            transact(env, change)
            with reading(env) as tx:
                rows = tx.counts()
        mark_stopped(path)
    return rows
