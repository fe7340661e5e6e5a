"""A folder that is known by its inode, not by its path.

A running bot's folder may be moved, and another bot may make a new one at the old path. So an open
store asks for its path before each access, and gets the place where its own folder is now.
"""

import fcntl
import os
from pathlib import Path

from loguru import logger

from slowcat_memory.errors import StoreGoneError

_PATH_MAX = 1024  # bytes that macOS writes for F_GETPATH


class KnownFolder:
    """An open folder."""

    def __init__(self, path: Path) -> None:
        """Open it; raises ``OSError`` when there is none."""
        self._path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.id = _id(os.fstat(self.fd))

    @property
    def path(self) -> Path:
        """Where the folder is now; where it was last, once it is closed.

        Raises:
            StoreGoneError: It was deleted, or moved to where it cannot be found.
        """
        if self.fd < 0 or self._is_at(self._path):
            return self._path
        moved = _path_of(self.fd)
        if moved is None or not self._is_at(moved):
            raise StoreGoneError(
                f"the memory's folder {self._path} was moved or deleted while it was open",
                hint="Put it back, or start the agent again.",
            )
        logger.warning("the memory's folder was moved to {}; it goes on there", moved)
        self._path = moved
        return moved

    @property
    def last_path(self) -> Path:
        """Where it was last found; for messages, never for an access."""
        return self._path

    def _is_at(self, path: Path) -> bool:
        try:
            return _id(os.stat(path)) == self.id
        except OSError:
            return False

    def inode_of(self, name: str) -> int:
        """Return the inode of a file in this folder, 0 when there is none."""
        return self.stamp_of(name)[0]

    def stamp_of(self, name: str) -> tuple[int, int]:
        """Return the inode of a file, and when it last changed, in ns; zeros when there is none."""
        try:
            found = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except OSError:
            return 0, 0
        return found.st_ino, found.st_ctime_ns

    def close(self) -> None:
        """Close it; idempotent."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _id(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _path_of(fd: int) -> Path | None:
    """Return the path of an open folder, None when the system does not tell."""
    try:
        if hasattr(fcntl, "F_GETPATH"):
            raw = fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(_PATH_MAX))
            return Path(os.fsdecode(raw.partition(b"\0")[0]))
        return Path(os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        return None
