"""Recovers a damaged store: check it, move it aside, salvage what can be read.

Voice must run: a working store is in the folder afterwards, unless the disk refuses to write it.
Nothing is deleted; a damaged file is moved to ``corrupt-<utc>/``, and stays there.

Salvaging makes the log and the blocks consistent again, so that each event is in exactly one place.
A row of ``places`` that was not salvaged is made again from the block of the event; a block is
split into rows when one of its events also has a row of its own, or was forgotten.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.records import Session
from slowcat_memory.store.blocks import block as blocks
from slowcat_memory.store.blocks.block import Block
from slowcat_memory.store.blocks.reader import (
    EVENTS,
    PLACES,
    BlockCache,
    BlockReader,
    DamagedRow,
    decode_location,
    encode_location,
    event_keys,
)
from slowcat_memory.store.blocks.removal import unpack_block
from slowcat_memory.store.care import canary_process, copy
from slowcat_memory.store.care.backups import backups_of
from slowcat_memory.store.care.forgotten import forget_again
from slowcat_memory.store.disk import codec, folder, keys, unerased
from slowcat_memory.store.disk.envelope import FORMAT
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.locks import is_as_closed, was_killed_here
from slowcat_memory.store.disk.tables import (
    CREATED,
    EMBEDDERS,
    FORMAT_ROW,
    LAST_CALL,
    LAST_RUN,
    NEXT_ID,
    UNENDED,
)
from slowcat_memory.store.disk.transaction import Transaction, transact
from slowcat_memory.store.disk.unerased import Unerased
from slowcat_memory.store.options import OpenReport
from slowcat_memory.store.rows.bookkeeping import fold_session
from slowcat_memory.store.writer.tier_view import CURSOR

SPANS_LOGGED = 20


def examine(path: Path, now: Callable[[], datetime], map_size: int) -> OpenReport:
    """Make sure that the folder has an intact store or none, before it is opened.

    The caller has the writer lock. ``map_size`` is in bytes of address space, for stores made here.
    """
    _remove_leftovers(path)
    data = folder.data_file(path)
    unclean = (path / folder.RUNNING).exists()
    if unclean and not data.exists():
        _take_back(path)
    report = OpenReport(created=not data.exists(), unclean_stop=unclean)
    if report.created or is_trusted(path) or canary_process.is_whole(data):
        return report
    return replace(recover(path, now(), map_size), unclean_stop=report.unclean_stop)


def is_trusted(path: Path) -> bool:
    """Return whether the data file is as its last writer left it, so that no canary reads it.

    The writer closed it, or its process was killed and nothing else happened.
    """
    left = is_as_closed(path) or was_killed_here(path)
    return left and not canary_process.looks_cut(folder.data_file(path))


def _take_back(path: Path) -> None:
    """Undo a move of a damaged file that a kill interrupted, where files cannot be linked."""
    for copy_of_it in sorted(folder.damaged_folders(path), reverse=True)[:1]:
        if (copy_of_it / folder.DATA).is_file():
            os.replace(copy_of_it / folder.DATA, folder.data_file(path))
            folder.sync_dir(path)


def _remove_leftovers(path: Path) -> None:
    folder.remove_former(path)
    workshops = (folder.SALVAGING, folder.RESTORING, folder.REPLAYING, f"{folder.FRESH}*")
    drafts = (f"{folder.BACKUPS}/*.tmp", f"{folder.LAST_BACKUP}.*.tmp")
    for leftover in (entry for name in workshops + drafts for entry in path.glob(name)):
        folder.remove(leftover)


def recover(path: Path, now: datetime, map_size: int) -> OpenReport:
    """Replace a damaged store in one rename, losing as little as possible.

    The replacement is its readable part or the newest good backup, whichever has more events; else
    an empty store. ``now`` names the folder that the damaged file moves to.
    """
    logger.error("the store at {} is damaged; salvaging", path)
    workshop = path / folder.SALVAGING
    workshop.mkdir(mode=0o700)
    salvaged, lost = _salvage(folder.data_file(path), workshop, map_size, now)
    backups = (made.file for made in reversed(backups_of(path)))
    backup = next(filter(canary_process.is_usable, backups), None)
    if backup and sum(copy.count_rows(backup, table) for table in EVENTS) > salvaged:
        _use_backup(backup, workshop)
        salvaged, lost = 0, ()
    else:
        backup = None
    if forgotten := unerased.read(path):
        _forget_again(forgotten, workshop)
    aside = _move_aside(path, now)
    folder.point_to(path, folder.generation(workshop))
    folder.remove_former(path)
    folder.remove(workshop)
    logger.error("{} events salvaged; the damaged files are in {}", salvaged, aside)
    if lost:
        logger.error("{} events of damaged blocks are lost: {}", len(lost), _spans(lost))
    return OpenReport(moved_aside=aside, salvaged=salvaged, lost=lost, restored_from=backup)


def _move_aside(path: Path, now: datetime) -> Path:
    """Link the damaged file into a folder of its own; the rename that follows unlinks it here."""
    aside = _new_folder(path, f"{folder.CORRUPT}{copy.backup_name(now)}")
    try:
        os.link(folder.data_file(path), aside / folder.DATA)
    except OSError:  # a file system without links
        os.replace(folder.data_file(path), aside / folder.DATA)
    folder.sync_dir(aside)
    folder.sync_dir(path)  # before the switch: its only other name is in the new folder
    return aside


def _new_folder(path: Path, name: str) -> Path:
    """Make a folder that did not exist: a clock may give the same time twice."""
    for number in count():
        made = path / (f"{name}.{number}" if number else name)
        with suppress(FileExistsError):
            made.mkdir(mode=0o700)
            return made
    raise AssertionError("unreachable")


def _use_backup(backup: Path, workshop: Path) -> None:
    made = folder.data_file(workshop)
    made.unlink()
    fd = folder.create(made)
    with os.fdopen(fd, "wb") as out, backup.open("rb") as source:
        shutil.copyfileobj(source, out)
        out.flush()
        os.fsync(out.fileno())


def _forget_again(forgotten: Unerased, workshop: Path) -> None:
    """Delete from the replacement what was forgotten and not erased yet."""
    env = Environment(workshop)
    try:
        forget_again(env, forgotten)
        env.env.sync(True)
    finally:
        env.close()
    (workshop / folder.LOCK).unlink(missing_ok=True)


def _salvage(
    data: Path, workshop: Path, map_size: int, now: datetime
) -> tuple[int, tuple[int, ...]]:
    """Make a store of the readable rows; return its number of events, and the known lost ids."""
    canary_process.copy_whole_rows(data, workshop, map_size)
    env = Environment(workshop)
    transact(env, repair_blocks)
    events, lost = transact(env, lambda tx: _rebuild(tx, now))
    env.env.sync(True)
    env.close()
    return events, lost


def repair_blocks(tx: Transaction) -> None:
    """Make log and blocks of a newly salvaged store consistent."""
    reader = BlockReader(tx.get, BlockCache())
    for table in blocks.TABLES:
        for key in tx.keys(table):
            try:
                _repair_block(keys.id_of(key), reader.block(keys.id_of(key)), tx)
            except StoreDamagedError:
                tx.drop(table, key)
    for key in tx.keys("cursors"):
        if key.startswith(CURSOR.encode()):
            tx.drop("cursors", key)  # unpacked events are to be packed again


def _repair_block(number: int, block: Block, tx: Transaction) -> None:
    """Write the locations of a block's events, or unpack the block."""
    missing, elsewhere = [], []
    for id in block.ids:
        held = _block_with(id, tx)
        if held < 0 and tx.get("tombstones", keys.turn_tombstone(id)) is None:
            missing.append(id)
        elif held != number:
            elsewhere.append(id)
    if elsewhere:
        mine = [id for id in block.ids if id not in elsewhere]
        unpack_block(number, block, mine, tx)
        return
    for id in missing:
        key = keys.id_key(id)
        tx.put(PLACES, key, encode_location(key, number))


def _block_with(id: int, tx: Transaction) -> int:
    """Return the recorded block of an event; 0 for a row of its own, -1 for neither."""
    key = keys.id_key(id)
    if tx.get("log", key) is not None:
        return 0
    value = tx.get(PLACES, key)
    return -1 if value is None else decode_location(key, value)


def _rebuild(tx: Transaction, now: datetime) -> tuple[int, tuple[int, ...]]:
    """Derive the rows that are not salvaged from those that are."""
    last = events = 0
    lost = []
    sessions: dict[bytes, Session] = {}
    reader = BlockReader(tx.get, BlockCache())
    for key in event_keys(tx.cursor):
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
        sessions[session] = fold_session(sessions.get(session), event)
    for session, row in sessions.items():
        tx.write_record("sessions", session, row)
    tx.set_meta(UNENDED, [row.id for row in sessions.values() if row.ended is None])
    _rebuild_meta(tx, max([last, *lost]), now)
    return events, tuple(lost)


def _rebuild_meta(tx: Transaction, last: int, now: datetime) -> None:
    forgotten = (keys.id_of(key) for key in tx.keys("tombstones") if keys.is_turn_tombstone(key))
    last = max([last, *forgotten])
    tx.set_meta(NEXT_ID, max(tx.meta(NEXT_ID, 1), last + 1))
    tx.set_meta(FORMAT_ROW, FORMAT)
    tx.set_meta(CREATED, tx.meta(CREATED, now.isoformat()))
    for name, table in ((LAST_RUN, "runs"), (LAST_CALL, "calls")):
        tx.set_meta(name, max([tx.meta(name, 0), *map(keys.id_of, tx.keys(table))]))
    known = {bytes.fromhex(digest) for digest in tx.meta(EMBEDDERS, {})}
    for key in tx.keys("vectors"):
        if key[: keys.HASH] not in known:  # a forget would not find it
            tx.drop("vectors", key)


def _spans(ids: Sequence[int]) -> str:
    found: list[list[int]] = []
    for id in ids:
        if found and id == found[-1][1] + 1:
            found[-1][1] = id
        else:
            found.append([id, id])
    shown = [f"{a}-{b}" if a < b else str(a) for a, b in found[:SPANS_LOGGED]]
    return ", ".join(shown) + (" and more" if len(found) > SPANS_LOGGED else "")
