"""A memory that is closed for a while, because its files are about to be replaced.

Whoever pauses holds a lock of its own beside the store's: nobody opens the store for writing while
it is held, and the kernel frees it when its process ends.
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

PAUSED = "paused.lock"
WAIT_S = 15.0  # how long an owner may take to save and close
_POLL_S = 0.01


def is_paused(folder: Path) -> bool:
    """Return whether some process has asked for the store to stay closed."""
    try:
        fd = os.open(folder / PAUSED, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


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
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(folder / PAUSED, flags, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreBusyError(
                f"the files of {folder} are being replaced by another process",
                hint="Wait until it is done",
            ) from None
        _wait_closed(folder, time.monotonic() + wait_s)
        yield
    finally:
        os.close(fd)


def _wait_closed(folder: Path, deadline: float) -> None:
    asked = 0
    while (owner := who_owns(folder)) is not None:
        if owner.pid != asked and owner.socket:
            _ask(owner.socket)
            asked = owner.pid
        if time.monotonic() > deadline:
            raise StoreBusyError(
                f"{folder} is open for writing in process {owner.pid} ({owner.program})",
                hint="End that process",
                pid=owner.pid,
            )
        time.sleep(_POLL_S)


def _ask(where: str) -> None:
    version, pid = VERSION, os.getpid()
    hello = Hello(PROTOCOL, version, f"pause-{pid}", "pause", pid)
    try:
        channel = connect(Path(where), hello, os.getuid())
    except OwnerAwayError:
        return
    channel.send(Pause())
    channel.hang_up()
