"""A store that may be damaged: judge it, move it aside, carry over what can be read.

Voice must run: whatever is found, a working store is in the folder afterwards. Nothing is deleted;
a damaged file is moved to ``corrupt-<utc>/`` for whoever wants to look deeper.
"""

import logging
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from slowcat_memory.records import Session
from slowcat_memory.store.blocks.locations import EVENTS, event_keys
from slowcat_memory.store.blocks.reader import BlockCache, BlockReader, DamagedRow
from slowcat_memory.store.care import canary_process, copy, repair
from slowcat_memory.store.care.repair import spans
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import (
    BACKUPS,
    CORRUPT,
    DATA,
    FRESH,
    LAST_BACKUP,
    LOCK,
    REPLAYING,
    RESTORING,
    RUNNING,
    SALVAGING,
    create,
    sync_dir,
)
from slowcat_memory.store.disk.tables import (
    CREATED,
    DICTIONARIES,
    LAST_RUN,
    NEXT_ID,
    SCHEMA,
    SCHEMA_VERSION,
)
from slowcat_memory.store.disk.transaction import Transaction, transact
from slowcat_memory.store.options import OpenReport
from slowcat_memory.store.rows.sessions import fold

log = logging.getLogger(__name__)

CARRIED = (
    *("log", "places", "warm", "cold", "dictionaries"),
    *("memories", "meta", "tombstones", "cursors", "ledger", "vectors", "commands"),
    *("contexts", "keys", "tasks", "runs"),
)
SALVAGE_SECONDS = 600.0  # for one run of the canary


def examine(path: Path, now: Callable[[], datetime], map_size: int) -> OpenReport:
    """See to it that the folder holds a whole store or none, before anybody opens it.

    Args:
        path: The store's folder; the caller holds the writer lock.
        now: The clock.
        map_size: Bytes of address space for the stores that are made here.

    Returns:
        What was found and done.
    """
    _tidy(path)
    data = path / DATA
    report = OpenReport(created=not data.exists(), unclean_stop=(path / RUNNING).exists())
    if report.created or not (report.unclean_stop or canary_process.looks_cut(data)):
        return report
    if canary_process.is_whole(data):
        return report
    return replace(recover(path, now(), map_size), unclean_stop=report.unclean_stop)


def _tidy(path: Path) -> None:
    """Remove what an interrupted swap, backup, salvage, restoration or replay left behind."""
    (path / FRESH).unlink(missing_ok=True)
    for leftover in (*(path / BACKUPS).glob("*.tmp"), *path.glob(f"{LAST_BACKUP}.*.tmp")):
        leftover.unlink()
    for workshop in (SALVAGING, RESTORING, REPLAYING):
        shutil.rmtree(path / workshop, ignore_errors=True)


# ------------------------------------------------------------------- recovery


def recover(path: Path, now: datetime, map_size: int) -> OpenReport:
    """Replace a damaged store by the best that can be had, in one rename.

    That is what can be read of it or the newest good backup, whichever holds more events; else an
    empty store.

    Args:
        path: The store's folder.
        now: The time, for the name of the folder that the damaged files move to.
        map_size: Bytes of address space.

    Returns:
        What was done.
    """
    log.error("the store at %s is damaged; salvaging", path)
    workshop = path / SALVAGING
    workshop.mkdir(mode=0o700)
    salvaged, lost = _salvage(path / DATA, workshop, map_size, now)
    backup = newest_good_backup(path)
    if backup and sum(copy.rows(backup, table) for table in EVENTS) > salvaged:
        _take_backup(backup, workshop)
        salvaged, lost = 0, ()
    else:
        backup = None
    aside = _move_aside(path, now)
    os.replace(workshop / DATA, path / DATA)
    sync_dir(path)
    shutil.rmtree(workshop)
    log.error("%d events carried over; the damaged files are in %s", salvaged, aside)
    if lost:
        log.error("%d events of damaged blocks are lost: %s", len(lost), spans(lost))
    return OpenReport(moved_aside=aside, salvaged=salvaged, lost=lost, restored_from=backup)


def _move_aside(path: Path, now: datetime) -> Path:
    """Link the damaged file into a folder of its own; the rename that follows unlinks it here."""
    aside = path / f"{CORRUPT}{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}"
    aside.mkdir(mode=0o700)
    try:
        os.link(path / DATA, aside / DATA)
    except OSError:  # a file system without links
        os.replace(path / DATA, aside / DATA)
    sync_dir(aside)
    (path / LOCK).unlink(missing_ok=True)
    return aside


def _salvage(
    data: Path, workshop: Path, map_size: int, now: datetime
) -> tuple[int, tuple[int, ...]]:
    """Make a store of what can be read.

    Returns:
        How many events it holds, and the ids of those that are known to be lost.
    """
    if not _carry(data, ",".join(CARRIED), "next", workshop):
        for table in CARRIED:  # each from both ends, up to the pages that do not read
            _ = _carry(data, table, "next", workshop) or _carry(data, table, "prev", workshop)
    env = Environment(workshop, map_size=map_size)
    transact(env, repair.repair_log)
    events, lost = transact(env, lambda tx: _rebuild(tx, now))
    env.env.sync(True)
    env.close()
    return events, lost


def _carry(data: Path, tables: str, way: str, workshop: Path) -> bool:
    came_through = canary_process.send(
        "salvage", str(data), tables, way, str(workshop), seconds=SALVAGE_SECONDS
    )
    return bool(came_through)


def _rebuild(tx: Transaction, now: datetime) -> tuple[int, tuple[int, ...]]:
    """Derive what was not carried over from what was."""
    last = events = 0
    lost = []
    reader = BlockReader(tx.get, BlockCache())
    for key in event_keys(tx.txn, tx.handles):
        try:
            event = reader.event(key)
        except DamagedRow as error:
            for table in EVENTS:
                tx.drop(table, key)
            if error.table != "log":
                lost.append(keys.id_of(key))
            continue
        if event is None:
            continue
        events, last = events + 1, keys.id_of(key)
        scoped = keys.scoped_id_key(event.scope, event.id)
        tx.put("log_by_scope", scoped, codec.seal(scoped))
        session = keys.name_key(event.session)
        tx.write_record("sessions", session, fold(tx.read(Session, "sessions", session), event))
    _rebuild_meta(tx, max([last, *lost]), now)
    return events, tuple(lost)


def _rebuild_meta(tx: Transaction, last: int, now: datetime) -> None:
    buried = tx.txn.cursor(tx.handles["tombstones"]).iternext(values=False)
    last = max([last, *(keys.id_of(key) for key in buried if key[:1] == b"t")])
    tx.set_meta(NEXT_ID, max(tx.meta(NEXT_ID, 1), last + 1))
    tx.set_meta(SCHEMA, tx.meta(SCHEMA, SCHEMA_VERSION))
    tx.set_meta(CREATED, tx.meta(CREATED, now.isoformat()))
    numbers = tx.txn.cursor(tx.handles["dictionaries"]).iternext(values=False)
    taken = max((keys.id_of(key) for key in numbers), default=0)
    tx.set_meta(DICTIONARIES, max(tx.meta(DICTIONARIES, 0), taken))
    runs = tx.txn.cursor(tx.handles["runs"]).iternext(values=False)
    tx.set_meta(LAST_RUN, max([tx.meta(LAST_RUN, 0), *map(keys.id_of, runs)]))
    known = {bytes.fromhex(digest) for digest in tx.meta("embedders", {})}
    for key in tx.txn.cursor(tx.handles["vectors"]).iternext(values=False):
        if key[: keys.HASH] not in known:  # forgetting would not find it
            tx.drop("vectors", key)


# ------------------------------------------------------------------- backups


def newest_good_backup(path: Path) -> Path | None:
    """Find the newest backup that a canary vouches for.

    Args:
        path: The store's folder.

    Returns:
        The file, None when there is none.
    """
    candidates = sorted((path / BACKUPS).glob("*.mdb"), reverse=True)
    return next((file for file in candidates if canary_process.is_whole(file)), None)


def _take_backup(backup: Path, workshop: Path) -> None:
    """Put a copy of a backup in the workshop, in place of what was salvaged."""
    (workshop / DATA).unlink()
    fd = create(workshop / DATA)
    with os.fdopen(fd, "wb") as out, backup.open("rb") as source:
        shutil.copyfileobj(source, out)
        out.flush()
        os.fsync(out.fileno())
