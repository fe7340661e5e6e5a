"""A memory that is closed for a while, because its files are about to be replaced.

A pause holds a lock of its own beside the store's: while it is held the store is not opened for
writing, and the kernel frees it when the process ends. An opening shares that lock until its process
listens for clients. So a pause begins before an opening, or finds an owner that it can ask.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slowcat_memory.errors import StoreBusyError
from slowcat_memory.owner.address import who_owns
from slowcat_memory.owner.channel import OwnerAwayError, connect
from slowcat_memory.owner.protocol.messages import Hello, Pause
from slowcat_memory.owner.protocol.wire import PROTOCOL
from slowcat_memory.owner.version import VERSION
from slowcat_memory.store.disk.locks import is_locked, lock_alone

PAUSED = "paused.lock"
WAIT_S = 15.0  # how long an owner may take to save and close
_POLL_S = 0.01
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def is_paused(folder: Path) -> bool:
    """Return whether some process has asked for the store to stay closed."""
    return is_locked(folder / PAUSED)


@contextmanager
def opening(folder: Path) -> Iterator[None]:
    """Keep pauses from beginning in the block, in which a store is opened.

    Raises:
        OwnerAwayError: The store is paused.
    """
    try:
        fd = os.open(folder / PAUSED, _FLAGS, 0o600)
    except OSError:  # no folder, or no place in it: opening the store says what is wrong
        yield
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OwnerAwayError("the files of the memory are being replaced") from None
        yield
    finally:
        os.close(fd)


@contextmanager
def paused(folder: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Have the owner of a store close it, and keep it closed until the end of the block. Blocks.

    Its owner and clients keep what is said meanwhile, and open the store again afterwards.

    Raises:
        StoreBusyError: It is paused already, or its owner does not close it.
    """
    if not folder.is_dir():
        yield
        return
    deadline = time.monotonic() + wait_s
    fd = os.open(folder / PAUSED, _FLAGS, 0o600)
    try:
        _lock(fd, folder, deadline)
        _wait_closed(folder, deadline)
        yield
    finally:
        os.close(fd)


def _lock(fd: int, folder: Path, deadline: float) -> None:
    """Get the lock of a pause; wait for processes that are opening the store, not for a pause."""
    while True:
        try:
            return lock_alone(fd)
        except BlockingIOError:
            if is_paused(folder):
                raise StoreBusyError(
                    f"the files of {folder} are being replaced by another process",
                    hint="Wait until it is done",
                ) from None
            if time.monotonic() > deadline:
                raise StoreBusyError(
                    f"{folder} is still being opened by another process",
                    hint="Try again when it is open",
                ) from None
        time.sleep(_POLL_S)


def _wait_closed(folder: Path, deadline: float) -> None:
    asked = 0
    while (owner := who_owns(folder)) is not None:
        if owner.pid != asked and owner.socket and _ask(owner.socket):
            asked = owner.pid
        if time.monotonic() > deadline:
            raise StoreBusyError(
                f"{folder} is open for writing in process {owner.pid} ({owner.program})",
                hint="End that process",
                pid=owner.pid,
            )
        time.sleep(_POLL_S)


def _ask(where: str) -> bool:
    """Ask an owner to close; return whether it has been asked."""
    version, pid = VERSION, os.getpid()
    hello = Hello(PROTOCOL, version, f"pause-{pid}", "pause", pid)
    try:
        channel = connect(Path(where), hello, os.getuid())
    except OwnerAwayError:  # it is just ending, or busy
        return False
    channel.send(Pause())
    channel.hang_up()
    return True
