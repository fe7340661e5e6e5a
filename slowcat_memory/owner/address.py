"""Where the owner of a store listens, and what its lock file says about it.

The socket lies in the user's runtime directory, else in the store's folder, else (a path has at
most 107 bytes) in a folder of this user below the system's temporary one. The owner writes the path
into the lock file, because two processes may have different runtime directories.
"""

import hashlib
import json
import os
import socket
import struct
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from slowcat_memory.errors import StoreUnsafeError
from slowcat_memory.owner.version import VERSION
from slowcat_memory.store.disk.folder import WRITER
from slowcat_memory.store.disk.locks import alive, is_locked, write_record

SIGNING, SIGNING_POLL_S = 50, 0.001  # looks at the record of a process that has just got the lock
LONGEST_PATH = 103  # bytes that every system takes; Linux takes 107


class Owner(Struct, frozen=True, kw_only=True):
    """The process that holds a store's lock."""

    pid: int
    program: str = ""
    since: str = ""  # ISO 8601
    version: str = ""
    socket: str = ""  # where it listens; "" before it does, and for one that serves nobody


def who_owns(folder: Path) -> Owner | None:
    """Return the process that has a store open for writing; None when none has.

    The lock decides. The record of one that has only just got it is waited for; where it cannot be
    read, the process id is 0.
    """
    found = None
    for _ in range(SIGNING):
        if not is_locked(folder / WRITER):
            return None
        found = last_owner(folder)
        if found is not None and alive(found.pid):
            return found
        time.sleep(SIGNING_POLL_S)
    return found or Owner(pid=0, program="unknown")  # it may be in another container


def last_owner(folder: Path) -> Owner | None:
    """Return the process that had a store open for writing last; it may be gone."""
    try:
        signed = json.loads((folder / WRITER).read_text())
        return Owner(
            pid=int(signed["pid"]),
            program=str(signed["program"]),
            since=str(signed["since"]),
            version=str(signed.get("version", "")),
            socket=str(signed.get("socket", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def announce(folder: Path, where: Path) -> None:
    """Write into the lock file where its holder listens. Only the holder of the lock may call it."""
    fd = os.open(folder / WRITER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        signed = json.loads(os.pread(fd, 65536, 0))
        signed |= {"socket": str(where), "version": VERSION}
        write_record(fd, signed)
    finally:
        os.close(fd)


def socket_path(folder: Path) -> Path:
    """Return where an owner of this process would listen; its folder exists, for this user alone.

    Raises:
        StoreUnsafeError: There is no safe place for it.
    """
    real = folder.resolve()
    name = hashlib.blake2b(os.fsencode(real), digest_size=8).hexdigest() + ".sock"
    if (runtime := os.environ.get("XDG_RUNTIME_DIR")) and _is_ours(Path(runtime)):
        with suppress(OSError, StoreUnsafeError):
            return _fitting(_private(Path(runtime, "slowcat-memory")) / name)
    with suppress(StoreUnsafeError):
        return _fitting(real / "owner.sock")
    return _fitting(_private(Path(tempfile.gettempdir(), f"slowcat-memory-{os.getuid()}")) / name)


def _fitting(path: Path) -> Path:
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise StoreUnsafeError(f"{path} is too long for a socket", hint="Set XDG_RUNTIME_DIR")
    return path


def _is_ours(folder: Path) -> bool:
    try:
        found = folder.lstat()
    except OSError:
        return False
    return found.st_uid == os.getuid() and not folder.is_symlink() and folder.is_dir()


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_ours(folder):
        raise StoreUnsafeError(f"{folder} belongs to another user", hint="Set XDG_RUNTIME_DIR")
    folder.chmod(0o700)
    return folder


def peer_uid(connected: socket.socket) -> int:
    """Return the user id of the process at the other end.

    Raises:
        OSError: The system does not say.
    """
    if sys.platform == "darwin":  # struct xucred: version, uid, groups
        found = connected.getsockopt(0, 1, 76)
        return int(struct.unpack_from("II", found)[1])
    found = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int(struct.unpack("iII", found)[1])
