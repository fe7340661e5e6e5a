"""The files of damaged stores that were moved aside.

Nothing deletes them but ``delete_damaged``, which only an explicit command calls: not forgetting,
not retention, not a restore. So they may hold what was forgotten since, and whoever promises that
something is gone must look at ``damaged_copies``.
"""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from slowcat_memory.store.care.row_kinds import identify
from slowcat_memory.store.disk.folder import CORRUPT, DATA, sync_dir
from slowcat_memory.store.disk.page_reader import UNSEEN, PageMap, PageReader


class DamagedCopy(Struct, frozen=True, kw_only=True):
    """The folder of a damaged store.

    Attributes:
        folder: Its path.
        bytes: Size of its files.
        since: When it was moved aside; None when that cannot be read.
    """

    folder: Path
    bytes: int
    since: datetime | None


def damaged_folders(path: Path) -> list[Path]:
    return [found for found in path.glob(f"{CORRUPT}*") if found.is_dir()]


def damaged_copies(path: Path) -> tuple[DamagedCopy, ...]:
    """Return the damaged stores that were moved aside in a store's folder, the oldest first."""
    return tuple(map(_described, sorted(damaged_folders(path))))


def _described(folder: Path) -> DamagedCopy:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return DamagedCopy(
        folder=folder,
        bytes=sum(file.stat().st_size for file in files),
        since=_moved_at(folder.name),
    )


def _moved_at(name: str) -> datetime | None:
    try:
        at = datetime.strptime(name.removeprefix(CORRUPT)[:23], "%Y%m%dT%H%M%S.%fZ")
    except ValueError:
        return None
    return at.replace(tzinfo=UTC)


def count_turns(copy: DamagedCopy) -> int:
    """Count the turns of a damaged store that can be read in rows of their own.

    Reads its whole file. Turns in compressed blocks are not counted.
    """
    try:
        with PageReader(copy.folder / DATA) as reader:
            found = set()
            for _, page in PageMap(reader).leaves(UNSEEN):
                for node in reader.leaf(page)[0]:
                    row = identify(node.key, node.value) if node.value is not None else None
                    if row is not None and row.table == "log":
                        found.add(node.key)
            return len(found)
    except OSError:
        return 0


def delete_damaged(path: Path) -> tuple[DamagedCopy, ...]:
    """Delete the files of every damaged store in a store's folder; return what was deleted.

    Raises:
        OSError: A file cannot be deleted.
    """
    gone = damaged_copies(path)
    for copy in gone:
        shutil.rmtree(copy.folder)
    sync_dir(path)
    return gone
