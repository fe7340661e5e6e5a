"""Returns the memory pages of mapped files that this process does not write to.

The pages stay in the system's cache, which may drop them under memory pressure; until then reading
one again maps it again without a disk access. Linux only; a no-op elsewhere.
"""

import ctypes
import mmap
from pathlib import Path

# Permissions of mappings without private data: shared read-only, or code. Not "r--p": that also
# holds what the loader has relocated, which would be lost.
CLEAN = ("r--s", "r-xp")
PAGE_MB = mmap.PAGESIZE / 2**20


def mapped_mb() -> float:
    """Return the resident megabytes of mapped files (code, store, indexes); 0 where unknown."""
    return _statm(2)


def resident_mb() -> float:
    """Return the resident megabytes of this process; 0 where unknown."""
    return _statm(1)


def _statm(field: int) -> float:
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[field]) * PAGE_MB
    except OSError:
        return 0.0


def give_back(file: Path) -> None:
    """Return the pages of a mapped file to the system. It must not be unmapped meanwhile."""
    if not hasattr(mmap, "MADV_DONTNEED"):
        return
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return
    name, madvise = str(file.resolve()), ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for line in lines:
        where, perms, *_, path = line.split(maxsplit=5) if line.count(" ") > 5 else ("", "", "")
        if path == name and perms in CLEAN:
            start, end = (int(part, 16) for part in where.split("-"))
            # If the system refuses, the pages stay mapped.
            madvise(start, end - start, mmap.MADV_DONTNEED)
