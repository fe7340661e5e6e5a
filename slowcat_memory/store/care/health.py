"""Whether a store is whole: its file, judged from outside, and its rows, for ``doctor``.

A file that may be damaged is checked and salvaged without LMDB, which damage could kill, and in a
process of its own: reading every page takes a second for some 25 MB, beside a conversation. Where
no other process can run (an embedded interpreter, no memory for one) it is done here instead. A
file is never taken for whole because nothing could read it.

The check of the rows only reads, and works beside a writer: about 4 s per million.
"""

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

from loguru import logger
from msgspec import Struct

from slowcat_memory.child_process import child_environment, python_command
from slowcat_memory.errors import StoreDamagedError, StoreError, StoreFormatError, StoreFullError
from slowcat_memory.store.bookkeeping import drop_vectors
from slowcat_memory.store.care import salvage
from slowcat_memory.store.care.copies import last_backup
from slowcat_memory.store.disk import codec, folder, page_reader
from slowcat_memory.store.disk.environment import Environment, our_errors, pages_of
from slowcat_memory.store.disk.folder import distrust
from slowcat_memory.store.disk.transaction import Transaction, reading
from slowcat_memory.store.sharing import living

BASE_SECONDS, SECONDS_PER_BYTE = 60.0, 1 / (1 << 20)  # 0.04 s per MB measured


def is_whole(file: Path, *, live: bool = False) -> bool:
    """Return whether every record of a data file is whole; False when it is empty.

    Args:
        live: Another process may be writing to it.

    Raises:
        StoreFormatError: Another version of this package wrote it.
        OSError: It cannot be opened.
    """
    if not file.stat().st_size:
        return False
    code = _run(page_reader.__file__, file, *(("live",) if live else ()))
    if code not in page_reader.VERDICTS:
        logger.warning("no other process could check {}; it is done here instead", file)
        code = page_reader.check(file, live=live)
    if code == page_reader.OTHER_FORMAT:
        raise StoreFormatError(f"{file} has the format of another version of slowcat-memory")
    return code == page_reader.WHOLE


def is_usable(file: Path) -> bool:
    """Return whether a backup is whole, and not of another format."""
    try:
        return is_whole(file)
    except StoreFormatError:
        return False


def copy_whole_rows(file: Path, into: Path, map_size: int) -> None:
    """Copy every whole record of a damaged file into a new store in the folder ``into``.

    Raises:
        StoreFullError: The disk has no room for the copy.
        StoreError: The disk refuses otherwise.
    """
    code = _run(salvage.__name__, file, str(into), str(map_size))
    if code not in (salvage.DONE, salvage.FULL):
        logger.warning("no other process could salvage {}; it is done here instead", file)
        code = salvage.main([str(file), str(into), str(map_size)])
    if code == salvage.FULL:
        raise StoreFullError("a damaged store cannot be salvaged", hint="Make room on the disk.")
    if code != salvage.DONE:
        raise StoreError(f"{file} cannot be salvaged", hint="Is its disk failing?")


def _run(program: str, file: Path, *more: str) -> int | None:
    """Return a child's exit code; None when it did not run or end."""
    try:
        done = subprocess.run(
            python_command(program, str(file), *more),
            timeout=BASE_SECONDS + file.stat().st_size * SECONDS_PER_BYTE,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
        )
    except (subprocess.TimeoutExpired, OSError):
        return None
    return done.returncode


def looks_cut(file: Path) -> bool:
    """Return whether a data file is shorter than a meta page says, or has none.

    Healthy stores sometimes fail this, so it only decides whether to read all pages.
    """
    with closing(page_reader.PageReader(file)) as reader:
        pages = reader.size // reader.page_size
        return len(reader.metas) < 2 or any(meta.last_page >= pages for meta in reader.metas)


# ------------------------------------------------------------------- the rows


ABOUT_MEMORIES = ("contexts", "keys", "vectors")


class Health(Struct, frozen=True, kw_only=True):
    """The state of a store; contains no text of a memory.

    Attributes:
        live_bytes: How much of ``file_bytes`` is used by rows.
        scarce: Whether the disk is so full that only turns are saved.
        damaged: Number of rows that do not read back, by table.
        backup_at: Time of the latest existing backup; None without one.
        backup: Its file.
        aside: Files of former stores in its folder: damaged, or replaced by a backup.
    """

    file_bytes: int
    live_bytes: int
    disk_free_bytes: int
    scarce: bool
    damaged: dict[str, int]
    backup_at: datetime | None
    backup: Path | None
    aside: tuple[Path, ...]

    @property
    def bloated(self) -> bool:
        """Whether the file is more than twice its used size; ``Store.shrink`` frees the rest."""
        return self.file_bytes > 2 * self.live_bytes + folder.MB


def check_file(path: Path) -> None:
    """Check every record of a store in another process, before anything of it is read here.

    A damaged tree can kill its reader. Works beside a writer.

    Raises:
        StoreDamagedError: It is damaged.
        StoreError: It cannot be checked.
    """
    with our_errors(path):
        if not folder.data_file(path).is_file():
            return
        running = living(path)
        if is_whole(folder.data_file(path), live=bool(running)):
            return
        if not running:
            distrust(path)
    raise StoreDamagedError(
        f"the store at {path} is damaged",
        hint=f"Process {running[0].pid} has it open: stop it first." if running else "",
    )


def look(env: Environment, min_free_mb: int) -> Health:
    path = env.path
    free = shutil.disk_usage(path).free
    backup = last_backup(path)
    with reading(env) as tx:
        stats = map(tx.stat, tx.tables())
        return Health(
            file_bytes=folder.data_file(path).stat().st_size,
            live_bytes=sum(pages_of(stat) * stat["psize"] for stat in stats),
            disk_free_bytes=free,
            scarce=free < min_free_mb * folder.MB,
            damaged=dict(Counter(table for table, _ in _damaged(tx))),
            backup_at=backup[0] if backup else None,
            backup=backup[1] if backup else None,
            aside=tuple(sorted(folder.entries(path, f"{folder.CORRUPT}*", f"{folder.REPLACED}*"))),
        )


def repair(tx: Transaction) -> dict[str, int]:
    """Delete derived rows that do not read back, and the vectors of keys that go.

    Damage to anything else is left to the check of the whole file. Returns how many
    rows were deleted, by table.
    """
    damaged = [row for row in _damaged(tx) if row[0] in ABOUT_MEMORIES]
    for table, key in damaged:
        tx.drop(table, key)
        if table == "keys":
            scope, id = codec.split_scope(key)
            drop_vectors([(scope, id.decode())], tx)
    return dict(Counter(table for table, _ in damaged))


def _damaged(tx: Transaction) -> Iterator[tuple[str, bytes]]:
    for table in tx.tables():
        for key, value in tx.rows(table):
            if not page_reader.intact(key, value):
                yield table, bytes(key)
