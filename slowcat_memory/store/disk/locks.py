"""Who may write, who is swapping, and whether the last writer left in order.

LMDB would make a second writer wait for ever, without a word; an ``flock`` that nobody waits for
says so at once, and the kernel drops it with its holder however that one dies.
"""

import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from slowcat_memory.errors import StoreBusyError
from slowcat_memory.store.disk.folder import RUNNING, WRITER, create, sync_dir

POLL = 0.01  # seconds between two tries for the folder's lock


class WriterLock:
    """The right to write to a store, held by at most one process."""

    def __init__(self, path: Path, now: datetime) -> None:
        """Take it, at once or not at all.

        Args:
            path: The store's folder.
            now: Kept in the file, for whoever wonders.

        Raises:
            StoreBusyError: Another writer holds it; names its process.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd: int | None = os.open(path / WRITER, flags, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise _busy(path) from None
        self._sign(self._fd, now)

    def _sign(self, fd: int, now: datetime) -> None:
        holder = {"pid": os.getpid(), "program": sys.argv[0], "since": now.isoformat()}
        os.fchmod(fd, 0o600)
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(holder).encode(), 0)

    def release(self) -> None:
        """Give it back; in a forked child, merely let go of the copy.

        The lock belongs to the parent's descriptor too, so the child's close does not free it.
        """
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def holder(path: Path) -> tuple[int, str]:
    """Tell who signed the writer lock last.

    Args:
        path: The store's folder.

    Returns:
        Process id and program; 0 and "" when unknown.
    """
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
    """Tell whether a process runs.

    Args:
        pid: Its id.

    Returns:
        True when it does, as far as one can tell.
    """
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def folder_lock(path: Path, how: int, timeout: float = 5.0) -> Iterator[None]:
    """Hold the folder itself while the data file is opened (shared) or swapped (exclusive).

    A reader that opens the new data file with the old lock file, or the other way round, would
    start from the wrong meta page; this keeps it from looking in between.

    Args:
        path: The store's folder.
        how: ``fcntl.LOCK_SH`` or ``fcntl.LOCK_EX``.
        timeout: Seconds to try.

    Yields:
        Nothing.

    Raises:
        StoreBusyError: Another process kept it for too long.
    """
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock_within(fd, how, timeout, path)
        yield
    finally:
        os.close(fd)


def _lock_within(fd: int, how: int, timeout: float, path: Path) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            return fcntl.flock(fd, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StoreBusyError(f"{path} is being opened or swapped elsewhere") from None
            time.sleep(POLL)


def mark_running(path: Path, now: datetime) -> None:
    """Leave the sign that a writer is at work.

    Args:
        path: The store's folder.
        now: Kept in the file.
    """
    try:
        fd = create(path / RUNNING)
    except FileExistsError:
        return
    os.write(fd, now.isoformat().encode())
    os.close(fd)
    sync_dir(path)


def mark_stopped(path: Path) -> None:
    """Take the sign away: the store was closed in order.

    Args:
        path: The store's folder.
    """
    (path / RUNNING).unlink(missing_ok=True)
