"""How processes share a store: who has it open, which ids they give, what one of them does alone.

Theory of operation. Every process may write (see ``disk.environment``). Each one that has the store
open for writing holds the lock of a file of its own in ``processes/``, which the kernel frees when
it ends; the file says who it is, and how far it has followed what others forgot. Ids of events are
taken from a counter in a file, so that they are unique and rise; yet two processes may commit in
another order than they took them, and such an event is *late* (see ``store.apply``). What only one
process may do at a time is done under the lock of a file, too: opening and closing, erasing, idle
work.
"""

import fcntl
import os
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct, structs
from msgspec import json as msgspec_json

from slowcat_memory.errors import StoreBusyError, StoreUnsafeError
from slowcat_memory.store.disk.folder import IDS, PROCESSES, OpenFile, create, or_undo

FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
POLL_S = 0.001
TAKE_S = 2.0  # how long an event waits for its id; on a busy machine a process is paused in between
CONFIRM_S = 5.0  # how long a forget waits until every process has let go of it
RECORD = 1024  # bytes, at least, of what a process's file says
ID_BYTES = 8


# ------------------------------------------------------------------- locks of files


def is_locked(path: Path) -> bool:
    """Return whether a process holds a lock file."""
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


def lock(fd: int, wait_s: float, busy: str) -> None:
    """Lock an open file.

    Raises:
        StoreBusyError: Another process holds it for longer than ``wait_s`` seconds: ``busy``.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise StoreBusyError(busy, hint="Wait until it is done, or end it.") from None
        time.sleep(POLL_S)


@contextmanager
def alone(file: Path, wait_s: float) -> Iterator[None]:
    """Hold a lock file in the block.

    Raises:
        StoreBusyError: Another process holds it for longer than ``wait_s`` seconds.
    """
    fd = os.open(file, FLAGS, 0o600)
    try:
        lock(fd, wait_s, f"another process holds {file}")
        yield
    finally:
        os.close(fd)


@contextmanager
def if_free(file: Path) -> Iterator[bool]:
    """Hold a lock file in the block, if no other process holds it; yields whether that is so."""
    with ExitStack() as held:
        try:
            held.enter_context(alone(file, 0.0))
        except StoreBusyError:
            yield False
        else:
            yield True


# ------------------------------------------------------------------- who has it open


class Process(Struct, frozen=True, kw_only=True):
    """A process that has a store open for writing.

    Attributes:
        space: The namespace that its process id is of; "" where the system does not tell.
        epoch: Up to which forgetting it holds nothing that is forgotten.
        generation: Name of the folder of the data file that it has open.
    """

    pid: int
    program: str = ""
    space: str = ""
    epoch: int = -1
    generation: str = ""


class Presence(OpenFile):
    """That this process has a store open for writing; until ``leave``."""

    def __init__(self, path: Path) -> None:
        """Enter the list of the processes; call it inside the lock of opening.

        Raises:
            StoreUnsafeError: A process in another container has the same process id: LMDB would
                take the two for one.
        """
        pid, space = os.getpid(), _pid_space()
        if any(process.pid == pid and process.space != space for process in living(path)):
            raise StoreUnsafeError(
                f"a process of another container has {path} open, with this process's id, {pid}",
                hint="Run both containers with --pid=host.",
            )
        self._confirming = threading.Lock()
        self._record = Process(pid=pid, program=sys.argv[0], space=space)
        (path / PROCESSES).mkdir(mode=0o700, exist_ok=True)
        for ended in (path / PROCESSES).glob("*-*"):
            if not is_locked(ended):
                ended.unlink()
        self.file = path / PROCESSES / f"{pid}-{secrets.token_hex(4)}"
        self.fd = create(self.file)
        with or_undo(self.leave):
            lock(self.fd, CONFIRM_S, f"another process holds {self.file}")
            self.confirm(-1, "")

    def needs(self, epoch: int, generation: str) -> bool:
        """Return whether it has not confirmed that."""
        return (self._record.epoch, self._record.generation) != (epoch, generation)

    def confirm(self, epoch: int, generation: str) -> None:
        """Say up to which forgetting this process holds nothing that is forgotten; any thread."""
        with self._confirming:  # or the file keeps what one thread knew, and the record another's
            epoch = max(epoch, self._record.epoch)
            self._record = structs.replace(self._record, epoch=epoch, generation=generation)
            written = msgspec_json.encode(self._record).ljust(RECORD)  # never cut: read at any time
            if os.pwrite(self.fd, written, 0) < len(written):
                raise OSError("the disk took only a part of the record of who has the store open")

    def leave(self) -> None:
        """Leave the list; idempotent."""
        with suppress(OSError):
            self.file.unlink()
        self.close()


def _pid_space() -> str:
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return ""


def living(path: Path) -> list[Process]:
    """Return the processes that have a store open for writing."""
    processes = list[Process]()
    for file in filter(is_locked, sorted((path / PROCESSES).glob("*-*"))):
        try:
            processes.append(msgspec_json.decode(file.read_bytes(), type=Process))
        except (OSError, ValueError):
            processes.append(Process(pid=0, program="unknown"))
    return processes


def others_of(path: Path) -> list[Process]:
    """Return the other processes that have a store open for writing."""
    return [process for process in living(path) if process.pid != os.getpid()]


def unconfirmed(path: Path, epoch: int, generation: str, wait_s: float) -> list[Process]:
    """Wait until every process holds nothing that is forgotten; return those that may still.

    Those of this process confirm for themselves.
    """
    deadline = time.monotonic() + wait_s
    while True:
        behind = [p for p in others_of(path) if p.epoch < epoch or p.generation != generation]
        if not behind or time.monotonic() >= deadline:
            return behind
        time.sleep(10 * POLL_S)


# ------------------------------------------------------------------- ids of events


class LogIds(OpenFile):
    """Gives ids to the events of every process of a store: each once, and rising."""

    def __init__(self, path: Path, first: int, *, is_first: bool) -> None:
        """Open the counter, which goes on from ``first`` at least.

        Where this process is the first that has the store open, it goes on from there exactly: what
        ended processes took and did not commit is nobody's.
        """
        self.fd = os.open(path / IDS, FLAGS, 0o600)
        with or_undo(self.close):
            if is_first:
                os.pwrite(self.fd, first.to_bytes(ID_BYTES, "big"), 0)
            self.take(0, first)

    def take(self, count: int, least: int = 1) -> int:
        """Return the first of some ids that follow each other; some microseconds, no disk.

        Raises:
            StoreBusyError: Another process is stopped while it takes one.
        """
        lock(self.fd, TAKE_S, "another process is stopped while it takes an id")
        try:
            first = max(int.from_bytes(os.pread(self.fd, ID_BYTES, 0), "big"), least)
            os.pwrite(self.fd, (first + count).to_bytes(ID_BYTES, "big"), 0)
        finally:
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        return first
