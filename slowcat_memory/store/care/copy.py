"""Copies of a store's file: backups, and a fresh file without deleted text.

LMDB never overwrites: a deleted text stays in a free page until the page is used again. Its own
compaction does not remove it either: LMDB reuses page buffers without clearing them, so that
fragments of one record remain in the unused end of another's last page, and pages are copied whole.
So a copy here is made row by row, into an environment of its own.
"""

import os
import shutil
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import lmdb
from loguru import logger

from slowcat_memory.errors import StoreDamagedError, StoreError, StoreFullError
from slowcat_memory.store.care import canary_process
from slowcat_memory.store.disk.envelope import MAX_TABLES
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import (
    BACKUPS,
    FRESH,
    LAST_BACKUP,
    REPLACED,
    REPLAYING,
    RESTORING,
    SALVAGING,
    create,
    sync_dir,
)
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import Transaction, transact

ROWS = 5000  # in one transaction of a copy
WORTH_SHRINKING = 1 / 3  # free pages of all
READER_TIMEOUT_S = 5.0  # how long a swap waits for readers


def copy_out(env: Environment, to: Path) -> None:
    """Write a compact copy of the committed rows to a new file, 0600, flushed.

    The writer continues meanwhile.

    Raises:
        FileExistsError: The file exists.
        StoreError: LMDB or the disk refuses; the partial copy is removed.
    """
    os.close(create(to))
    try:
        with env.reading() as (txn, handles), _open_alone(to, env.env.info()["map_size"]) as out:
            for name, db in handles.items():
                _copy_table(txn.cursor(db), out, name)
            out.sync(True)
    except lmdb.Error as error:
        to.unlink()
        raise StoreFullError(f"cannot copy to {to}: {error}") from error
    except BaseException:
        to.unlink()
        raise


def _open_alone(file: Path, map_size: int, *, readonly: bool = False) -> lmdb.Environment:
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


def count_rows(file: Path, table: str = "log") -> int:
    """Return the number of rows of a table in an undamaged file without a writer."""
    with _open_alone(file, file.stat().st_size, readonly=True) as env:
        try:
            db = env.open_db(table.encode(), create=False)
        except lmdb.NotFoundError:
            return 0
        with env.begin() as txn:
            return int(txn.stat(db)["entries"])


def flush(file: Path) -> None:
    with file.open("rb") as data:
        os.fsync(data.fileno())


def backup_name(now: datetime) -> str:
    """Return the name, without an ending, of a copy made now; names sort by time."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}"


def back_up(env: Environment, to: Path, now: datetime) -> Path:
    """Make a backup: a compact copy that a canary has read before it gets its name.

    ``to`` must not exist. ``now`` is kept with the name of the latest backup.

    Raises:
        StoreError: It exists, its folder does not, or something was forgotten meanwhile.
        StoreDamagedError: The copy does not read back.
        OSError: The disk refuses.
    """
    if to.exists():
        raise StoreError(f"{to} exists", hint="Choose another name.")
    if not to.parent.is_dir():
        raise StoreError(f"there is no folder {to.parent}", hint="Make it, or choose another.")
    draft = to.with_name(to.name + ".tmp")
    draft.unlink(missing_ok=True)
    epoch = _epoch(env)
    copy_out(env, draft)
    try:
        _check_backup(env, draft, epoch)
        os.rename(draft, to)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if _epoch(env) != epoch:  # erased between the two: this copy has missed it
        to.unlink(missing_ok=True)
        raise StoreError("something was forgotten during the backup", hint="Make it again.")
    sync_dir(to.parent)
    _write_last_backup(env.path, to, now)
    return to


def back_up_into_store(env: Environment, now: datetime, keep: int) -> Path:
    """Make a backup in the store's own folder, and delete the oldest ones beyond ``keep``."""
    folder = env.path / BACKUPS
    if not folder.is_dir():
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_dir(env.path)
    made = back_up(env, folder / f"{backup_name(now)}.mdb", now)
    for old in sorted(folder.glob("*.mdb"))[:-keep]:
        old.unlink()
    return made


def last_backup(path: Path) -> tuple[datetime, Path] | None:
    """Return time and file of the latest backup of a store's folder, if it still exists."""
    try:
        at, _, made = (path / LAST_BACKUP).read_text().partition(" ")
        return (datetime.fromisoformat(at), Path(made)) if Path(made).is_file() else None
    except (OSError, ValueError):
        return None


def _write_last_backup(path: Path, made: Path, now: datetime) -> None:
    note, draft = path / LAST_BACKUP, path / f"{LAST_BACKUP}.{os.getpid()}.tmp"
    with os.fdopen(create(draft), "w") as file:
        file.write(f"{now.astimezone(UTC).isoformat()} {made.absolute()}")
    os.replace(draft, note)


def _check_backup(env: Environment, draft: Path, epoch: int) -> None:
    if not draft.exists() or _epoch(env) != epoch:
        raise StoreError("something was forgotten during the backup", hint="Make it again.")
    if not canary_process.is_whole(draft):
        raise StoreDamagedError(f"a backup of {env.path} does not read back")


def _epoch(env: Environment) -> int:
    with env.reading() as (txn, handles):
        return int(Transaction(txn, handles).meta(EPOCH, 0))


def erase_due(env: Environment) -> bool:
    """Return whether deleted text may still be in the file: from a forget until its erasure."""
    with env.reading() as (txn, handles):
        return bool(Transaction(txn, handles).meta(ERASE_DUE, False))


def erase_if_due(env: Environment, sparing: str = "") -> bool:
    """Erase when something was deleted since the last erasure; from the writer thread.

    ``sparing`` names a workshop in its folder that is in use and needs no erasure. Returns True
    when no deleted byte is left; False when a reader or the disk prevented the erasure, so that it
    must be done again.
    """
    try:
        return not erase_due(env) or _erase(env, sparing)
    except (OSError, StoreError, lmdb.Error) as error:
        logger.error("deleted text could not be erased yet: {}", error)
        return False


def _erase(env: Environment, sparing: str) -> bool:
    """Swap in a copy, and remove every older copy of the file in the folder.

    Backups and the files of former stores in the folder are removed too, because they are older
    than the forget. Backups elsewhere are out of reach.
    """
    if not _rewrite(env):
        return False
    _remove_older_copies(env.path, sparing)
    transact(env, lambda tx: tx.set_meta(ERASE_DUE, False))
    return True


def _rewrite(env: Environment) -> bool:
    fresh = env.path / FRESH
    fresh.unlink(missing_ok=True)
    copy_out(env, fresh)
    _check_copy(env, fresh)
    if not env.swap(fresh, READER_TIMEOUT_S):
        fresh.unlink()
        return False
    return True


def shrink(env: Environment) -> bool:
    """Swap in a copy when much of the file is free pages; from the writer thread.

    Returns False when little is free, or a reader kept the file open.

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
        if count_rows(fresh, table) != count:
            fresh.unlink()
            raise StoreDamagedError(f"a copy of {env.path} lacks rows of {table}")


def _remove_older_copies(path: Path, sparing: str) -> None:
    former = path.glob(f"{REPLACED}*")  # not CORRUPT: see ``care.damaged``
    unfinished = (path / name for name in (REPLAYING, RESTORING, SALVAGING) if name != sparing)
    for folder in (path / BACKUPS, *former, *unfinished):
        shutil.rmtree(folder, ignore_errors=True)
    sync_dir(path)
