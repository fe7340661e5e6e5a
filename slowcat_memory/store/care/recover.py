"""Recovers a damaged store: check it, move it aside, salvage what can be read.

Voice must run: a working store is in the folder afterwards, unless the disk refuses to write it.
Nothing is deleted; a damaged file is moved to ``corrupt-<utc>/``, and stays there.

Salvaging makes the log and the blocks consistent again, so that each event is in exactly one place.
A row of ``places`` that was not salvaged is made again from the block of the event; a block is
split into rows when one of its events also has a row of its own, or was forgotten.
"""

from collections.abc import Callable
from contextlib import closing
from datetime import datetime
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
    BlockReader,
    DamagedRow,
    decode_location,
    encode_location,
    unpack_block,
)
from slowcat_memory.store.care import canary_process, copy
from slowcat_memory.store.care.backups import backups_of, forget_again
from slowcat_memory.store.disk import codec, folder, keys, state, tables
from slowcat_memory.store.disk.envelope import FORMAT
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.state import Unerased, is_as_left, is_unclean
from slowcat_memory.store.disk.transaction import Transaction, transact
from slowcat_memory.store.options import OpenReport
from slowcat_memory.store.rows.bookkeeping import fold_session
from slowcat_memory.store.writer.tier_mover import CURSOR


def examine(path: Path, now: Callable[[], datetime], map_size: int) -> OpenReport:
    """Make sure that the folder has an intact store or none, before it is opened.

    The caller has the writer lock. ``map_size`` is in bytes of address space, for stores made here.
    """
    folder.remove_former(path)
    workshops = (folder.SALVAGING, folder.RESTORING, folder.REPLAYING, f"{folder.FRESH}*")
    drafts = (f"{name}*.tmp" for name in (f"{folder.BACKUPS}/", folder.LAST_BACKUP, folder.CURRENT))
    for leftover in (entry for name in (*workshops, *drafts) for entry in path.glob(name)):
        folder.remove(leftover)
    data = folder.data_file(path)
    report = OpenReport(created=not data.exists(), unclean_stop=is_unclean(path))
    if report.created or is_trusted(path) or canary_process.is_whole(data):
        return report
    return replace(recover(path, now(), map_size), unclean_stop=report.unclean_stop)


def is_trusted(path: Path) -> bool:
    """Return whether the data file is as its last writer left it, so that no canary reads it.

    The writer closed it, or its process was killed and nothing else happened.
    """
    return is_as_left(path) and not canary_process.looks_cut(folder.data_file(path))


def recover(path: Path, now: datetime, map_size: int) -> OpenReport:
    """Replace a damaged store in one rename, losing as little as possible.

    The replacement is its readable part or the newest good backup, whichever has more events; else
    an empty store. ``now`` names the folder that the damaged file moves to.
    """
    logger.error("the store at {} is damaged; salvaging", path)
    workshop = path / folder.SALVAGING
    workshop.mkdir(mode=0o700)
    salvaged = _salvage(folder.data_file(path), workshop, map_size, now)
    backups = (made.file for made in reversed(backups_of(path)))
    backup = next(filter(canary_process.is_usable, backups), None)
    if backup and sum(copy.count_rows(backup, table) for table in EVENTS) > salvaged:
        (workshop / folder.DATA).unlink()
        copy.copy_file(backup, workshop / folder.DATA)
        salvaged = 0
    else:
        backup = None
    if forgotten := state.read_unerased(path):
        _forget_again(forgotten, workshop)
    aside = copy.put_aside(path, folder.CORRUPT, now)
    folder.point_to(path, folder.name_generation(path, folder.generation(workshop)))
    folder.remove_former(path)
    folder.remove(workshop)
    logger.error("{} events salvaged; the damaged files are in {}", salvaged, aside)
    return OpenReport(moved_aside=aside, salvaged=salvaged, restored_from=backup)


def _forget_again(forgotten: Unerased, workshop: Path) -> None:
    """Delete from the replacement what was forgotten and not erased yet."""
    with closing(Environment(workshop)) as env:
        forget_again(env, forgotten)
    (workshop / folder.LOCK).unlink(missing_ok=True)


def _salvage(data: Path, workshop: Path, map_size: int, now: datetime) -> int:
    """Make a store of the readable rows; return its number of events."""
    canary_process.copy_whole_rows(data, workshop, map_size)
    with closing(Environment(workshop)) as env:
        transact(env, repair_blocks)
        return transact(env, lambda tx: _rebuild(tx, now))


def repair_blocks(tx: Transaction) -> None:
    """Make log and blocks of a newly salvaged store consistent."""
    reader = BlockReader(tx.get)
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


def _rebuild(tx: Transaction, now: datetime) -> int:
    """Derive the rows that are not salvaged from those that are; return the number of events."""
    last = events = 0
    lost = []
    sessions: dict[bytes, Session] = {}
    for key, event in BlockReader(tx.get).events(tx.cursor):
        if isinstance(event, DamagedRow):
            for table in EVENTS:
                tx.drop(table, key)
            if event.table != "log":
                lost.append(keys.id_of(key))
            continue
        events, last = events + 1, keys.id_of(key)
        scoped = keys.scoped_id_key(event.scope, event.id)
        tx.put("log_by_scope", scoped, codec.seal(scoped))
        session = keys.name_key(event.session)
        sessions[session] = fold_session(sessions.get(session), event)
    for session, row in sessions.items():
        tx.write_record("sessions", session, row)
    tx.set_meta(tables.UNENDED, [row.id for row in sessions.values() if row.ended is None])
    _rebuild_meta(tx, max([last, *lost]), now)
    if lost:
        logger.error("{} events of damaged blocks are lost", len(lost))
    return events


def forgotten_ids(tx: Transaction) -> list[int]:
    """Return the log ids of forgotten turns."""
    return [keys.id_of(key) for key in tx.keys("tombstones") if keys.is_turn_tombstone(key)]


def _rebuild_meta(tx: Transaction, last: int, now: datetime) -> None:
    last = max([last, *forgotten_ids(tx)])
    tx.set_meta(tables.NEXT_ID, max(tx.meta(tables.NEXT_ID, 1), last + 1))
    tx.set_meta(tables.FORMAT_ROW, FORMAT)
    tx.set_meta(tables.CREATED, tx.meta(tables.CREATED, now.isoformat()))
    for name, table in ((tables.LAST_RUN, "runs"), (tables.LAST_CALL, "calls")):
        tx.set_meta(name, max([tx.meta(name, 0), *map(keys.id_of, tx.keys(table))]))
    known = {bytes.fromhex(digest) for digest in tx.meta(tables.EMBEDDERS, {})}
    for key in tx.keys("vectors"):
        if key[: keys.HASH] not in known:  # a forget would not find it
            tx.drop("vectors", key)
