"""Checks cheaply whether a store can be opened for writing, without opening it."""

import os
from pathlib import Path

from slowcat_memory.store.disk import folder
from slowcat_memory.store.disk.folder import FRESH, create
from slowcat_memory.store.disk.locks import WriterLock
from slowcat_memory.store.options import StoreOptions

ROOM = bytes(1 << 18)  # the least room that opening and the first commits take


def check_writable(path: Path, options: StoreOptions) -> None:
    """Raise the error that opening the store for writing would raise, as far as that is cheap.

    Takes the writer lock and writes a quarter of a megabyte, then undoes both. Other openings of
    the store in this process stay as they are.

    Raises:
        StoreError: It is held, or its folder cannot be used.
        OSError: The disk refuses.
    """
    folder.prepare(path, allow_unsafe_fs=options.allow_unsafe_fs)
    lock = WriterLock(path, None)
    try:
        _write(path / FRESH)  # a leftover of that name is removed when the store is opened
    finally:
        lock.release()


def _write(file: Path) -> None:
    file.unlink(missing_ok=True)
    fd = create(file)
    try:
        with os.fdopen(fd, "wb") as out:
            out.write(ROOM)
            out.flush()
            os.fsync(out.fileno())
    finally:
        file.unlink()
