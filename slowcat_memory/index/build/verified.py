"""Which files of a sealed index were hashed on this boot, so that none is hashed at each opening.

A sealed file is never changed. What can change it under us is a disk that lost power, another
program, or a copy from elsewhere. The first comes with another boot; the others change the inode,
the size or one of its times. So on the same boot a file with the same ones is the one that was
hashed. A disk that decays meanwhile is found on the next boot.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from slowcat_memory.clock import boot_id

SETTLED_S = 2.0  # a file as new as this may be changed again without getting another time

Identity = tuple[int, int, int, int, int]
"""Device, inode, size, and the times of contents and inode in nanoseconds."""


class _Verified(msgspec.Struct, frozen=True):
    """What was hashed on a boot: by name, the file's identity and its hash."""

    boot: str
    files: dict[str, tuple[Identity, str]]


class Verified:
    """The verified files of one half of a generation."""

    def __init__(self, folder: Path, half: str) -> None:
        """Read what is known; an unreadable record is none, and so is one of another boot."""
        self._folder, self._path, self._boot = folder, folder / f"verified.{half}", boot_id()
        self._known = self._read()

    def _read(self) -> Mapping[str, tuple[Identity, str]]:
        try:
            found = msgspec.msgpack.decode(self._path.read_bytes(), type=_Verified)
        except (OSError, msgspec.MsgspecError):
            return {}
        return found.files if self._boot and found.boot == self._boot else {}

    def identity(self, name: str) -> Identity:
        """Return what tells a file from any other, and from itself after a change."""
        found = (self._folder / name).stat()
        return (
            found.st_dev,
            found.st_ino,
            found.st_size,
            found.st_mtime_ns,
            found.st_ctime_ns,
        )

    def has(self, name: str, identity: Identity, sha256: str) -> bool:
        return self._known.get(name) == (identity, sha256)

    def record(self, files: Mapping[str, tuple[Identity, str]]) -> None:
        """Record what was just hashed, as of before it was, except files that are too new.

        Without a boot id, or where the folder cannot be written, nothing is recorded.
        """
        settled = (time.time() - SETTLED_S) * 1e9
        kept = {name: one for name, one in files.items() if max(one[0][3:]) < settled}
        if not self._boot or not kept:
            return
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        with suppress(OSError):
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(fd, "wb") as out:
                out.write(msgspec.msgpack.encode(_Verified(self._boot, kept)))
            os.replace(draft, self._path)
