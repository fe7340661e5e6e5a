"""Two files beside the data file: what it was when last vouched for, and what is not erased yet.

A process vouches for the data file, so that the next one need not check it.

A file in the store's folder says that the store was closed, or that processes write. It is empty
while nobody vouches. A file that was closed cleanly and not written since is whole.

LMDB never overwrites a page that a committed transaction uses: a commit writes new pages, and only
then one of two meta pages, in one call that the kernel completes. So the death of a process leaves
the last commit whole in what the kernel has of the file; only a power cut, or a crash of the kernel,
can leave less. So who writes names the boot and the data file. Where both are the same ones and
nothing was written to the file since, a killed writer's file needs no check.

Anything unknown counts as different: an unreadable boot id, a copied folder, a file that was
replaced, and one that was written later than its writer can have.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from itertools import starmap
from pathlib import Path

from slowcat_memory.clock import boot_id
from slowcat_memory.store.disk import folder
from slowcat_memory.store.disk.folder import KnownFolder
from slowcat_memory.store.disk.page_reader import intact

RENEW_S = 1.0  # between two renewals of the time of STATE while transactions are written
LATE_S = 3.0  # a write later than this after the last renewal is not of those who vouched


def distrust(path: Path) -> None:
    """Have the next open check the data file."""
    with suppress(OSError):
        (path / folder.STATE).unlink(missing_ok=True)


def mark_running(path: Path) -> None:
    """Say durably that the store may be written; the file proves nothing before ``vouch``."""
    distrust(path)
    os.close(folder.create(path / folder.STATE))
    folder.sync_dir(path)


def vouch(path: Path) -> None:
    """Name this boot and the data file, once the file is checked and open.

    A state that cannot be written proves nothing, and so does one of which a power cut left a part.
    """
    with suppress(OSError):
        fd = os.open(path / folder.STATE, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "w") as state:
            state.write(_running(folder.data_file(path).stat()))


def mark_stopped(path: Path) -> None:
    """Say that the store is closed cleanly: no writer has it, and its file is as it was left.

    The file gets a time that no later write can give it by chance, also where the system's clock
    ticks slowly.
    """
    with suppress(OSError):  # without it, the next start checks the file
        data = folder.data_file(path)
        status = data.stat()
        os.utime(data, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
        distrust(path)
        with os.fdopen(folder.create(path / folder.STATE), "w") as state:
            state.write(_closed(data.stat()))


def is_unclean(path: Path) -> bool:
    """Return whether the last writer did not close the store, if none has it."""
    try:
        return not (path / folder.STATE).read_text("latin-1").startswith("closed")
    except OSError:
        return False


def is_as_left(path: Path) -> bool:
    """Return whether the store was closed, or its process alone died, and nobody wrote since."""
    try:
        data, renewed = folder.data_file(path).stat(), (path / folder.STATE).stat().st_mtime
        state = (path / folder.STATE).read_text("latin-1")
    except OSError:
        return False
    # The time of the inode, too: who copies a file back may keep the time of its contents.
    is_own = max(data.st_mtime, data.st_ctime) <= renewed + LATE_S
    return state == _closed(data) or (bool(boot_id()) and state == _running(data) and is_own)


def _closed(data: os.stat_result) -> str:
    return f"closed {data.st_size} {data.st_mtime_ns}"


def _running(data: os.stat_result) -> str:
    return f"running {boot_id()} {data.st_dev} {data.st_ino}"


# ------------------------------------------------------------------- forgotten, and not erased yet
# Until an erasure, free pages of the data file hold what was forgotten, and damage may take its
# tombstones alone. With a file beside the data file a salvage knows them all the same. One row a
# line, key and envelope as hex: numbers and hashes, never the text of a turn or a memory.


def add_unerased(home: KnownFolder, rows: Mapping[bytes, bytes]) -> int:
    """Add tombstones before they are committed, flushed; return the size of the file before.

    Raises:
        OSError: The disk refuses.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(folder.FORGOTTEN, flags, 0o600, dir_fd=home.fd)
    with os.fdopen(fd, "wb"):
        before = folder.append_whole(fd, b"".join(starmap(_line, rows.items())))
    if not before:
        os.fsync(home.fd)
    return before


def take_back_unerased(home: KnownFolder, size: int) -> None:
    """Cut the file to what it was before rows that were not committed."""
    with suppress(OSError):
        fd = os.open(folder.FORGOTTEN, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=home.fd)
        with os.fdopen(fd, "wb") as file:
            file.truncate(size)


def clear_unerased(home: KnownFolder) -> None:
    """Remove the file: everything that was deleted is erased."""
    with suppress(FileNotFoundError):
        os.unlink(folder.FORGOTTEN, dir_fd=home.fd)


def read_unerased(path: Path) -> dict[bytes, bytes]:
    """Return the tombstones in a store's folder; a line that a power loss cut is left out."""
    tombstones = dict[bytes, bytes]()
    with suppress(OSError):
        for line in (path / folder.FORGOTTEN).read_bytes().split(b"\n")[:-1]:
            with suppress(ValueError):
                key, value = (bytes.fromhex(part) for part in line.decode("ascii").split())
                if intact(key, value):
                    tombstones[key] = value
    return tombstones


def _line(key: bytes, value: bytes) -> bytes:
    return f"{key.hex()} {value.hex()}\n".encode()
