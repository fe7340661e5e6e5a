"""An ordinary store to parts, and back: one that is nobody's copy, with nothing to send."""

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from slowcat_memory.errors import StoreDamagedError, StoreError, StoreUnsafeError
from slowcat_memory.store.care import open as opening
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.change_set import COPY
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE, PENDING
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.options import StoreOptions, utc_now
from slowcat_memory.store.replica import parts
from slowcat_memory.store.replica.parts import Part, Rows


class Ordinary(Struct, frozen=True):
    """A store at one moment.

    Attributes:
        parts: See ``parts.of_store``.
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
    opened = opening.to_read(folder.absolute(), options, utc_now)
    try:
        with opened.env.reading() as (txn, handles):
            tx = Transaction(txn, handles)
            if tx.get("meta", keys.name_key(COPY)) is not None:
                raise StoreUnsafeError(f"{folder} is a worker's copy of a memory in a database")
            rows, made = Counter[str](), list[Part]()
            for one in parts.of_store(txn, handles, opened.env.path):
                made.append(parts.seal(one))
                if isinstance(one, Rows):
                    rows[one.table] += len(one.rows)
            erasing = bool(tx.meta(ERASE_DUE, False)) or tx.meta(PENDING, None) is not None
            return Ordinary(made, dict(rows), int(tx.meta(EPOCH, 0)), erasing)
    finally:
        opened.env.close()


def count_rows(stored: Iterable[Part]) -> dict[str, int]:
    """Return how many rows of each table are in some parts.

    Raises:
        StoreDamagedError: A part is not as it was sealed.
    """
    rows = Counter[str]()
    for part in stored:
        if isinstance(content := parts.unseal(part), Rows):
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
