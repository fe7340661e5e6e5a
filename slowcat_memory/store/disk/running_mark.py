"""The mark of a store that a writer has open, and what a mark that was left behind proves.

LMDB never overwrites a page that a committed transaction uses: a commit writes new pages, and only
then one of two meta pages, in one call that the kernel completes. So the death of a process leaves
the last commit whole in what the kernel has of the file; only a power cut, or a crash of the kernel,
can leave less. The mark therefore names the boot and the data file. Where both are the same ones
and nothing was written to the file since, a killed writer's file needs no check.

Anything unknown counts as different: a mark of an earlier version, an unreadable boot id, a copied
folder, a file that was replaced, and one that was written later than its writer can have.
"""

import json
import os
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from slowcat_memory.clock import boot_id
from slowcat_memory.store.disk.folder import DATA, RUNNING, create, sync_dir

RENEW_S = 1.0  # between two renewals while transactions are written
LATE_S = 3.0  # a write later than this after the last renewal is not of the marked writer


def mark_running(path: Path, now: datetime) -> None:
    """Create the mark if there is none. It proves nothing before ``vouch``."""
    try:
        fd = create(path / RUNNING)
    except FileExistsError:
        return
    try:
        os.write(fd, json.dumps({"since": now.isoformat()}).encode())
    finally:
        os.close(fd)
    sync_dir(path)


def vouch(path: Path) -> None:
    """Name this boot and the data file in the mark, once the file is checked and open.

    A mark that cannot be written proves nothing, and so does one of which a power cut left a part.
    """
    with suppress(OSError):
        fd = os.open(path / RUNNING, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.write(fd, json.dumps(_present(path)).encode())
        finally:
            os.close(fd)


def unmark_running(path: Path) -> None:
    """Remove the running mark alone, so that the next start checks the file."""
    (path / RUNNING).unlink(missing_ok=True)


def was_killed_here(path: Path) -> bool:
    """Return whether the mark proves that the writer's process alone died.

    Of this boot of this machine, with this very file, which nobody has written since.
    """
    try:
        marked = json.loads((path / RUNNING).read_text())
        data, renewed = (path / DATA).stat(), (path / RUNNING).stat().st_mtime
        present = _present(path)
    except (OSError, ValueError):
        return False
    # The time of the inode, too: who copies a file back may keep the time of its contents.
    written = max(data.st_mtime, data.st_ctime)
    return bool(present["boot"]) and marked == present and written <= renewed + LATE_S


def _present(path: Path) -> dict[str, object]:
    found = (path / DATA).stat()
    return {"boot": boot_id(), "device": found.st_dev, "inode": found.st_ino}


class Renewal:
    """Renews the mark's time while a writer writes: a later write to the file is somebody else's."""

    def __init__(self) -> None:
        self._due = 0.0

    def renew(self, folder_fd: int) -> None:
        """Renew the mark in an open folder, where that is due; takes microseconds."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + RENEW_S
            with suppress(OSError):
                os.utime(RUNNING, dir_fd=folder_fd)
