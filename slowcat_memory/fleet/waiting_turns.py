"""Turns that are said while there is no copy to save them in: a file on this disk.

The memory was refused, or the database is away, or the copy is just being made. Each turn is
appended to the file, flushed, by a thread of its own. When the memory is there it saves them, and
the file is deleted; else they become late turns as soon as the database can be reached, when the
conversation is over or its process was killed.
"""

import fcntl
import os
import queue
import secrets
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from loguru import logger
from msgspec import Struct

from slowcat_memory.fleet.copies import ASIDE
from slowcat_memory.fleet.late_turns import PREFIX, Late
from slowcat_memory.records import Cursor, Event
from slowcat_memory.store.disk.folder import append_whole, create, sync_dir

NAME = "waiting-"  # begins the name of a file
_HEAD = struct.Struct(">II")  # length and CRC-32 of what follows


class Whose(Struct, frozen=True, tag=True):
    """The first record of a file."""

    tenant: str
    person: str
    source: str


class Said(Struct, frozen=True, tag=True):
    """A turn; ``n`` counts from 1."""

    n: int
    event: Event


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Whose | Said).decode


class WaitingTurns:
    """The turns of one conversation's memory that wait. Any thread; nothing blocks but ``close``."""

    def __init__(self, folder: Path, tenant: str, person: str) -> None:
        """Prepare; a file is made in ``folder`` with the first turn."""
        self._whose = Whose(tenant, person, f"w{secrets.token_hex(6)}")
        self._path = folder / f"{NAME}{self._whose.source}"
        self._fd = -1
        self._lock = threading.Lock()
        self._count, self._open = 0, set[int]()
        self._work: queue.SimpleQueue[Said | int | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def next(self) -> Cursor:
        """Return the cursor by which the log knows that it has the next turn."""
        with self._lock:
            self._count += 1
            self._open.add(self._count)
            return Cursor(name=PREFIX + self._whose.source, position=self._count, in_log=False)

    def keep(self, cursor: Cursor, event: Event) -> None:
        """Write a turn to the disk soon."""
        self._do(Said(cursor.position, event))

    def settle(self, cursor: Cursor) -> None:
        """Note that the copy has a turn."""
        self._do(cursor.position)

    def _do(self, work: "Said | int") -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="slowcat-waiting", daemon=True
                )
                self._thread.start()
        self._work.put(work)

    def close(self) -> Path | None:
        """End the thread; return the file if turns still wait. Blocks until they are on disk."""
        if self._thread is None:
            return None
        self._work.put(None)
        self._thread.join(5.0)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        return self._path if self._path.exists() else None

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                if isinstance(work, Said):
                    self._write(work)
                else:
                    self._settle(work)
            except OSError as error:
                logger.error("fleet: turns that wait cannot be saved: {}", error.strerror)

    def _write(self, said: Said) -> None:
        if said.n not in self._open:
            return  # it is in the copy already
        if self._fd < 0:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = create(self._path)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        head = b"" if os.fstat(self._fd).st_size else _sealed(self._whose)
        append_whole(self._fd, head + _sealed(said))  # behind a part of one, none could be read

    def _settle(self, n: int) -> None:
        with self._lock:
            self._open.discard(n)
            empty = not self._open
        if empty and self._fd >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


def _sealed(record: Whose | Said) -> bytes:
    body = _pack(record)
    return _HEAD.pack(len(body), zlib.crc32(body)) + body


@contextmanager
def left_behind(path: Path) -> Iterator[tuple[Whose, list[Late]] | None]:
    """Read the turns in a file that no process writes; None for one that is in use, or empty.

    In the block no other process reads it. Bytes that are no records are set aside before.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield None
    else:
        yield _understood(path) if path.exists() else None
    finally:
        os.close(fd)


def drop(folder: Path, saved: Mapping[str, int]) -> None:
    """Delete turns from the files of ended processes that a copy has saved, and will pass on.

    ``saved`` has the number of the last one, by source.
    """
    for source, upto in saved.items():
        path = folder / f"{NAME}{source}"
        with left_behind(path) as found:
            if found is None:
                continue
            whose, late = found
            left = [Said(one.n, one.said) for one in late if one.n > upto]  # type: ignore[arg-type]  # its file has events alone
            if left:
                _replace(path, _sealed(whose) + b"".join(map(_sealed, left)))
            else:
                path.unlink(missing_ok=True)


def _replace(path: Path, data: bytes) -> None:
    fresh = path.with_name(f"new-{path.name}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(create(fresh), "wb") as file:
        append_whole(file.fileno(), data)
    os.replace(fresh, path)
    sync_dir(path.parent)


def _understood(path: Path) -> tuple[Whose, list[Late]] | None:
    """Return a file's records; the rest of its bytes is moved to a file that nothing deletes."""
    data, at, whose, late = path.read_bytes(), 0, None, list[Late]()
    with suppress(struct.error, msgspec.MsgspecError):  # cut by a kill, or of another version
        while at < len(data):
            length, crc = _HEAD.unpack_from(data, at)
            end = at + _HEAD.size + length
            if zlib.crc32(body := data[at + _HEAD.size : end]) != crc:
                break
            if isinstance(record := _unpack(body), Whose):
                whose = record
            elif whose:
                late.append(Late(whose.source, record.n, record.event))
            at = end
    if at < len(data):
        aside = path.with_name(f"{ASIDE}{path.name}")
        _replace(aside, data[at:])
        _replace(path, data[:at]) if at else path.unlink()
        logger.error("fleet: {} bytes of waiting turns cannot be read: {}", len(data) - at, aside)
    return (whose, late) if whose else None
