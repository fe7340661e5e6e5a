"""Gives back pages of mapped files that this process does not write to.

The file's pages stay with the system, which may drop them when it needs room; until then a page that
is read again is mapped again, without a disk. On Linux only: elsewhere nothing happens.
"""

import ctypes
import mmap
from pathlib import Path

# Perms of maps that hold nothing of our own: shared and read-only, or code. Not "r--p": what the
# loader has relocated is there too, and would be lost.
CLEAN = ("r--s", "r-xp")
PAGE_MB = mmap.PAGESIZE / 2**20


def mapped_mb() -> float:
    """Tell how much of files this process has mapped and touched: code, the store, indexes.

    Returns:
        Megabytes, 0 where nobody counts.
    """
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[2]) * PAGE_MB
    except OSError:
        return 0.0


def give_back(file: Path) -> None:
    """Give a mapped file's pages back. Nobody may unmap it meanwhile.

    Args:
        file: Which, by its full path.
    """
    if not hasattr(mmap, "MADV_DONTNEED"):
        return
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return
    name = str(file.resolve())
    for line in lines:
        where, perms, *_, path = line.split(maxsplit=5) if line.count(" ") > 5 else ("", "", "")
        if path == name and perms in CLEAN:
            start, end = (int(part, 16) for part in where.split("-"))
            _advise(start, end - start)


def _advise(start: int, length: int) -> None:
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    madvise(start, length, mmap.MADV_DONTNEED)  # refused: then they stay
