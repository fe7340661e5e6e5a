"""Copies of a store's file: for backups, and to leave deleted text behind.

LMDB never overwrites: a deleted text stays in a free page until the page is used again. Nor does
its own compaction leave it behind: LMDB reuses page buffers without clearing them, so that scraps
of one record lie in the unused end of another's last page, and a page copied is copied whole. So a
copy here is made row by row, into an environment of its own.
"""

import logging
import os
import shutil
from itertools import islice
from pathlib import Path

import lmdb

from slowcat_memory.errors import StoreDamagedError, StoreError, StoreFullError
from slowcat_memory.store.disk.canary import MAX_TABLES
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import (
    BACKUPS,
    CORRUPT,
    FRESH,
    REPLACED,
    REPLAYING,
    RESTORING,
    SALVAGING,
    create,
    sync_dir,
)
from slowcat_memory.store.disk.tables import ERASE_DUE
from slowcat_memory.store.disk.transaction import Transaction, transact

log = logging.getLogger(__name__)

ROWS = 5000  # in one transaction of a copy
WORTH_SHRINKING = 1 / 3  # free pages of all
READERS_LEAVE = 5.0  # seconds that a swap waits for readers


def copy_out(env: Environment, to: Path) -> None:
    """Write a compact copy of the committed rows; the writer goes on meanwhile.

    Args:
        env: The store.
        to: A file that must not exist; 0600, flushed.

    Raises:
        FileExistsError: It exists.
        StoreError: LMDB or the disk refuses; nothing is left behind.
    """
    os.close(create(to))
    try:
        with env.reading() as (txn, handles), _alone(to, env.env.info()["map_size"]) as out:
            for name, db in handles.items():
                _copy_table(txn.cursor(db), out, name)
            out.sync(True)
    except lmdb.Error as error:
        to.unlink()
        raise StoreFullError(f"cannot copy to {to}: {error}") from error
    except BaseException:
        to.unlink()
        raise


def _alone(file: Path, map_size: int, *, readonly: bool = False) -> lmdb.Environment:
    """Open a file that nobody else has open; not flushed at every commit."""
    return lmdb.open(
        str(file),
        subdir=False,
        lock=False,
        sync=False,
        readonly=readonly,
        map_size=map_size,
        max_dbs=MAX_TABLES,
        mode=0o600,
        lib_version=0,
    )


def _copy_table(cursor: "lmdb.Cursor[bytes]", out: lmdb.Environment, name: str) -> None:
    db = out.open_db(name.encode())
    rows = iter(cursor)
    while batch := list(islice(rows, ROWS)):
        with out.begin(write=True) as txn:
            txn.cursor(db).putmulti(batch, append=True)


def rows(file: Path, table: str = "log") -> int:
    """Count a table's rows in a file that nobody writes to.

    Args:
        file: A store's data file, known to be whole.
        table: The table.

    Returns:
        How many rows; 0 when there is no such table.
    """
    with _alone(file, file.stat().st_size, readonly=True) as env:
        try:
            db = env.open_db(table.encode(), create=False)
        except lmdb.NotFoundError:
            return 0
        with env.begin() as txn:
            return int(txn.stat(db)["entries"])


def flush(file: Path) -> None:
    """Make a file durable.

    Args:
        file: The file.
    """
    with file.open("rb") as data:
        os.fsync(data.fileno())


# ------------------------------------------------------------------- erasing


def erase_due(env: Environment) -> bool:
    """Tell whether deleted text may still be in the file.

    Args:
        env: The store.

    Returns:
        True from a forgetting until its erasure.
    """
    with env.reading() as (txn, handles):
        return bool(Transaction(txn, handles).meta(ERASE_DUE, False))


def erase_if_due(env: Environment, sparing: str = "") -> bool:
    """Erase when something was deleted since the last erasure.

    Args:
        env: The store; from the writer thread.
        sparing: Name of a workshop in its folder that is in use, and holds nothing to be erased.

    Returns:
        True when no byte of what was deleted is left; False when a reader or the disk kept it from
        being erased, so that this must be done again.
    """
    try:
        return not erase_due(env) or erase(env, sparing)
    except (OSError, StoreError, lmdb.Error) as error:
        log.error("deleted text could not be erased yet: %s", error)
        return False


def erase(env: Environment, sparing: str = "") -> bool:
    """Leave deleted text behind: swap in a copy, remove every older copy of the file.

    Backups and the files of former stores in the folder go too: they predate the forgetting.
    Backups elsewhere are out of reach.

    Args:
        env: The store; from the writer thread.
        sparing: As in ``erase_if_due``.

    Returns:
        True when no byte is left; False when a reader kept the file open, so that this must be
        done again.

    Raises:
        StoreError: The copy could not be made; the file is as before.
    """
    if not _rewrite(env):
        return False
    remove_older(env.path, sparing)
    transact(env, lambda tx: tx.set_meta(ERASE_DUE, False))
    return True


def _rewrite(env: Environment) -> bool:
    """Swap in a copy; False when a reader kept the file open."""
    fresh = env.path / FRESH
    fresh.unlink(missing_ok=True)
    copy_out(env, fresh)
    _check_copy(env, fresh)
    if not env.swap(fresh, READERS_LEAVE):
        fresh.unlink()
        return False
    return True


def shrink(env: Environment) -> bool:
    """Swap in a copy when much of the file is free pages.

    Args:
        env: The store; from the writer thread.

    Returns:
        False when little is, or a reader kept the file open.

    Raises:
        StoreError: The copy could not be made; the file is as before.
    """
    return _free_share(env) > WORTH_SHRINKING and _rewrite(env)


def _free_share(env: Environment) -> float:
    with env.reading() as (txn, handles):
        stats = [txn.stat(db) for db in handles.values()]
    pages = sum(s["branch_pages"] + s["leaf_pages"] + s["overflow_pages"] for s in stats)
    return 1.0 - pages / (env.env.info()["last_pgno"] + 1)


def _check_copy(env: Environment, fresh: Path) -> None:
    with env.reading() as (txn, handles):
        expected = {name: txn.stat(db)["entries"] for name, db in handles.items()}
    for table, count in expected.items():
        if rows(fresh, table) != count:
            fresh.unlink()
            raise StoreDamagedError(f"a copy of {env.path} lacks rows of {table}")


def remove_older(path: Path, sparing: str = "") -> None:
    """Remove every other copy in the folder: backups, former stores, and what a kill left behind.

    Args:
        path: The store's folder.
        sparing: As in ``erase_if_due``.
    """
    former = (*path.glob(f"{CORRUPT}*"), *path.glob(f"{REPLACED}*"))
    unfinished = (path / name for name in (REPLAYING, RESTORING, SALVAGING) if name != sparing)
    for folder in (path / BACKUPS, *former, *unfinished):
        shutil.rmtree(folder, ignore_errors=True)
    sync_dir(path)
