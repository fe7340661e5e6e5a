"""The mark of a clean close, that of a store in use, and this process's open stores.

A forked child could still write, because the parent's locks do not bind it; so a child's copies of
the open stores are marked closed. Stores still open at exit are closed.
"""

import atexit
import json
import os
import time
import weakref
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

from slowcat_memory.clock import boot_id
from slowcat_memory.store.disk.folder import CLOSED, RUNNING, create, data_file, sync_dir


def alive(pid: int) -> bool:
    """Return whether a process runs; True for one of another user."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def mark_stopped(path: Path) -> None:
    """Mark the store as closed cleanly: no writer has it, and its file is as it was left.

    The file gets a time that no later write can give it by chance, also where the system's clock
    ticks slowly.
    """
    with suppress(OSError):  # without the mark, the next start checks the file
        data = data_file(path)
        found = data.stat()
        os.utime(data, ns=(found.st_atime_ns, found.st_mtime_ns + 1))
        (path / CLOSED).unlink(missing_ok=True)
        with os.fdopen(create(path / CLOSED), "w") as mark:
            mark.write(_fingerprint(path))
    unmark_running(path)


def distrust(path: Path) -> None:
    """Have the next open check the data file, although it was closed cleanly."""
    with suppress(OSError):
        (path / CLOSED).unlink(missing_ok=True)


def is_as_closed(path: Path) -> bool:
    """Return whether the data file was closed cleanly and not written since."""
    try:
        return not (path / RUNNING).exists() and (path / CLOSED).read_text() == _fingerprint(path)
    except (OSError, ValueError):
        return False


def _fingerprint(path: Path) -> str:
    found = data_file(path).stat()
    return f"{found.st_size} {found.st_mtime_ns}"


class OpenStore(Protocol):
    """A store that can be registered."""

    def close(self) -> None:
        """Close it cleanly."""

    def close_after_fork(self) -> None:
        """Close it in a forked child, without touching the parent's resources."""


_open: "weakref.WeakSet[OpenStore]" = weakref.WeakSet()


def register(store: OpenStore) -> None:
    _open.add(store)


def unregister(store: OpenStore) -> None:
    _open.discard(store)


@atexit.register
def _close_all() -> None:
    for store in list(_open):
        store.close()


def _close_all_after_fork() -> None:
    for store in list(_open):
        store.close_after_fork()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all_after_fork)


# ------------------------------------------------------------------- the running mark
# The mark of a store that a writer has open, and what a mark that was left behind proves.
#
# LMDB never overwrites a page that a committed transaction uses: a commit writes new pages, and only
# then one of two meta pages, in one call that the kernel completes. So the death of a process leaves
# the last commit whole in what the kernel has of the file; only a power cut, or a crash of the kernel,
# can leave less. The mark therefore names the boot and the data file. Where both are the same ones
# and nothing was written to the file since, a killed writer's file needs no check.
#
# Anything unknown counts as different: a mark of an earlier version, an unreadable boot id, a copied
# folder, a file that was replaced, and one that was written later than its writer can have.


RENEW_S = 1.0  # between two renewals while transactions are written
LATE_S = 3.0  # a write later than this after the last renewal is not of the marked writer


def mark_running(path: Path, now: datetime) -> None:
    """Create the mark if there is none. It proves nothing before ``vouch``."""
    try:
        fd = create(path / RUNNING)
    except FileExistsError:
        return
    with os.fdopen(fd, "w") as mark:
        json.dump({"since": now.isoformat()}, mark)
    sync_dir(path)


def vouch(path: Path) -> None:
    """Name this boot and the data file in the mark, once the file is checked and open.

    A mark that cannot be written proves nothing, and so does one of which a power cut left a part.
    """
    with suppress(OSError):
        fd = os.open(path / RUNNING, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "w") as mark:
            json.dump(_present(path), mark)


def unmark_running(path: Path) -> None:
    """Remove the running mark alone, so that the next start checks the file."""
    (path / RUNNING).unlink(missing_ok=True)


def was_killed_here(path: Path) -> bool:
    """Return whether the mark proves that the writer's process alone died.

    Of this boot of this machine, with this very file, which nobody has written since.
    """
    try:
        marked = json.loads((path / RUNNING).read_text())
        data, renewed = data_file(path).stat(), (path / RUNNING).stat().st_mtime
        present = _present(path)
    except (OSError, ValueError):
        return False
    # The time of the inode, too: who copies a file back may keep the time of its contents.
    written = max(data.st_mtime, data.st_ctime)
    return bool(present["boot"]) and marked == present and written <= renewed + LATE_S


def _present(path: Path) -> dict[str, object]:
    found = data_file(path).stat()
    return {"boot": boot_id(), "device": found.st_dev, "inode": found.st_ino}


class Renewal:
    """Renews the mark's time while a writer writes: a later write to the file is somebody else's."""

    def __init__(self) -> None:
        self._due = 0.0

    def renew(self, folder_fd: int) -> None:
        """Renew the mark in an open folder, where that is due; takes microseconds."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + RENEW_S
            with suppress(OSError):
                os.utime(RUNNING, dir_fd=folder_fd)
