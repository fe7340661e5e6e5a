"""What is forgotten and not erased yet, in a file beside the data file.

Until an erasure, free pages of the data file hold what was forgotten, and damage may take its
tombstones alone, or the row of the erasure that hides what is still to be deleted. With this file a
salvage knows them all the same. One row a line, key and envelope as hex: numbers and ids, never the
text of a turn or a memory.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.envelope import intact
from slowcat_memory.store.disk.folder import FORGOTTEN, append_whole
from slowcat_memory.store.disk.known_folder import KnownFolder
from slowcat_memory.store.disk.tables import PENDING

ORDER = keys.name_key(PENDING)


class Unerased(NamedTuple):
    """What is forgotten and not erased yet.

    Attributes:
        tombstones: Rows of ``tombstones``.
        order: The latest row of the erasure under way: its envelope, None without one.
    """

    tombstones: list[tuple[bytes, bytes]]
    order: bytes | None

    def __bool__(self) -> bool:
        return bool(self.tombstones or self.order)


def add(folder: KnownFolder, rows: Iterable[tuple[bytes, bytes]]) -> int:
    """Add rows before they are committed, flushed; return the size of the file before.

    Raises:
        OSError: The disk refuses.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(FORGOTTEN, flags, 0o600, dir_fd=folder.fd)
    with os.fdopen(fd, "wb"):
        before = append_whole(fd, b"".join(_line(*row) for row in rows))
    if not before:
        os.fsync(folder.fd)
    return before


def take_back(folder: KnownFolder, size: int) -> None:
    """Cut the file to what it was before rows that were not committed."""
    with suppress(OSError):
        fd = os.open(FORGOTTEN, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.fd)
        with os.fdopen(fd, "wb") as file:
            file.truncate(size)


def clear(folder: KnownFolder) -> None:
    """Remove the file: everything that was deleted is erased."""
    with suppress(FileNotFoundError):
        os.unlink(FORGOTTEN, dir_fd=folder.fd)


def read(path: Path) -> Unerased:
    """Read the file in a store's folder; a line that a power loss cut is left out."""
    tombstones, order = [], None
    with suppress(OSError):
        for line in (path / FORGOTTEN).read_bytes().split(b"\n")[:-1]:
            with suppress(ValueError):
                key, value = (bytes.fromhex(part) for part in line.decode("ascii").split())
                if intact(key, value) and key == ORDER:
                    order = value
                elif intact(key, value):
                    tombstones.append((key, value))
    return Unerased(tombstones, order)


def _line(key: bytes, value: bytes) -> bytes:
    return f"{key.hex()} {value.hex()}\n".encode()
