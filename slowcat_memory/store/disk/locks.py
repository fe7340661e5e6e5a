"""The writer lock, the mark of a clean close, and this process's open stores.

LMDB would make a second writer wait for ever, without a message. An ``flock`` that is tried once
fails at once, and the kernel releases it when its process ends. A forked child could still write,
because the parent's locks do not bind it; so a child's copies of the open stores are marked closed.
Stores still open at exit are closed.
"""

import atexit
import fcntl
import json
import os
import sys
import time
import weakref
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

from slowcat_memory.clock import boot_id
from slowcat_memory.errors import StoreBusyError
from slowcat_memory.store.disk.folder import CLOSED, RUNNING, WRITER, create, data_file, sync_dir

LOOK_S, LOOK_POLL_S = 1.0, 0.001  # how long ``is_locked`` in other processes may delay it
RECORD = 1024  # bytes, at least, of what the lock file says about its holder


class WriterLock:
    """The right to write to a store, held by at most one process."""

    def __init__(self, path: Path, now: datetime | None) -> None:
        """Acquire it without waiting; the file then names this process, program and time.

        ``now`` None leaves the file as it is: the lock is only tried.

        Raises:
            StoreBusyError: Another writer has it; names its process.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd: int | None = os.open(path / WRITER, flags, 0o600)
        try:
            lock_alone(self._fd)
            if now is not None:
                self._sign(self._fd, now)
        except BlockingIOError:
            self.release()
            raise _busy(path) from None
        except BaseException:  # a full disk: this process must not keep the lock
            self.release()
            raise

    def _sign(self, fd: int, now: datetime) -> None:
        holder = {"pid": os.getpid(), "program": sys.argv[0], "since": now.isoformat()}
        os.fchmod(fd, 0o600)
        write_record(fd, holder)

    def release(self) -> None:
        """Release it; idempotent.

        In a forked child it only closes the copy: the parent's descriptor shares the lock.
        """
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def write_record(fd: int, record: dict[str, object]) -> None:
    """Overwrite a lock file's record of its holder.

    The file is not truncated, and is written in one call: a reader sees the old record or the new.
    """
    size = max(RECORD, os.fstat(fd).st_size)
    if os.pwrite(fd, json.dumps(record).encode().ljust(size), 0) < size:
        raise OSError("the disk took only a part of the record of who has the store")


def lock_alone(fd: int) -> None:
    """Lock a file exclusively; wait for ``is_locked`` in other processes, not for another holder.

    Raises:
        BlockingIOError: Another has it.
    """
    deadline = time.monotonic() + LOOK_S
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # fails beside a holder
        fcntl.flock(fd, fcntl.LOCK_UN)
        time.sleep(LOOK_POLL_S)


def is_locked(path: Path) -> bool:
    """Return whether a process holds a lock file exclusively."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def holder(path: Path) -> tuple[int, str]:
    """Return process id and program of the last writer; 0 and "" when unknown."""
    try:
        signed = json.loads((path / WRITER).read_text())
        return int(signed["pid"]), str(signed["program"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0, ""


def _busy(path: Path) -> StoreBusyError:
    pid, program = holder(path)
    return StoreBusyError(
        f"{path} is open for writing in process {pid or 'unknown'} ({program or 'unknown'})",
        hint="One process writes; others may open it with readonly=True.",
        pid=pid,
    )


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
