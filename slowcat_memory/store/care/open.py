"""Opens a store: for writing or for reading, and first recovers a damaged one.

For writing, if no other process has the store open: folder, leftovers, a check unless the last one
closed the file or was killed on this boot, running mark, environment, first rows of a new store,
erasure if one is due. Beside others: the environment alone. For reading: nothing is created or
changed.

Voice must run: a working store is in the folder afterwards, unless the disk refuses to write it.
Nothing is deleted; a damaged file is moved to ``corrupt-<utc>/``, and stays there.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

import lmdb
from loguru import logger
from msgspec.structs import replace

from slowcat_memory.errors import StoreDamagedError, StoreError, StoreUnsafeError
from slowcat_memory.records import Event, Session
from slowcat_memory.store import blocks
from slowcat_memory.store.bookkeeping import exists, fold_session
from slowcat_memory.store.care import health
from slowcat_memory.store.care.copies import (
    backups_of,
    copy_file,
    count_rows,
    delete_forgotten,
    erase,
    put_aside,
    sweep,
)
from slowcat_memory.store.disk import codec, folder, tables
from slowcat_memory.store.disk.environment import Environment, as_store_error, map_bytes, our_errors
from slowcat_memory.store.disk.outbox import COPY, Outbox
from slowcat_memory.store.disk.page_reader import FORMAT
from slowcat_memory.store.disk.transaction import Transaction, reading, transact
from slowcat_memory.store.options import OpenReport, StoreOptions
from slowcat_memory.store.sharing import LogIds, Presence, alone, living
from slowcat_memory.store.tier_mover import CURSOR

BLOCKS = 1000  # unpacked in one transaction
OPENING_S = 10.0  # how long opening waits for a process that opens or leaves the store


@dataclass(frozen=True, slots=True)
class Opened:
    """The resources of an open store.

    Attributes:
        report: What was found.
        presence: This process among those that write; None when only reading.
        ids: Where its events get their ids; None when only reading.
    """

    env: Environment
    report: OpenReport
    presence: Presence | None = None
    ids: LogIds | None = None

    def close(self) -> None:
        """Close everything; the last process marks the store as closed cleanly."""
        path = None
        with suppress(StoreError, OSError):  # not its folder any more, or closed
            self.env.check_in_place()
            path = self.env.path
        self.env.close()
        if self.ids is None or self.presence is None:
            return
        self.ids.close()
        only = alone(path / folder.OPENING, OPENING_S) if path else nullcontext()
        with suppress(OSError, StoreError), only:
            self.presence.leave()
            if path and not living(path):
                folder.mark_stopped(path)
        self.presence.leave()  # also if it could not be alone


def to_write(
    path: Path, options: StoreOptions, now: Callable[[], datetime], outbox: Outbox | None = None
) -> Opened:
    """Open a folder for writing; raises the errors of ``Store.open``."""
    with our_errors(path), ExitStack() as undo:
        folder.prepare(path, allow_unsafe_fs=options.allow_unsafe_fs)
        with alone(path / folder.OPENING, OPENING_S):
            is_first, report = not living(path), OpenReport()
            presence = Presence(path)
            undo.callback(presence.leave)
            if is_first:
                report = examine(path, now, map_bytes(options.map_size_gib))
                if not report.unclean_stop:
                    undo.callback(folder.distrust, path)
                folder.mark_running(path)
            make = partial(_open, path, options, now, outbox)
            try:
                env = make()
            except StoreDamagedError:  # damage that shows only now
                others = len(living(path)) > 1
                if others or report.moved_aside or report.created or outbox is not None:
                    raise
                report = recover(path, now(), map_bytes(options.map_size_gib), report)
                env = make()
            undo.callback(env.close)
            if is_first:
                folder.vouch(path)
                folder.sync_dir(path)  # LMDB flushes its files, not their names
                sweep(env)
                with alone(path / folder.ERASING, 0.0):
                    erase(env)
            with reading(env) as tx:
                ids = LogIds(path, next_id(tx), is_first=is_first)
        undo.pop_all()
    return Opened(env, replace(report, is_first=is_first), presence, ids)


def _create(now: datetime, tx: Transaction) -> None:
    tx.set_meta(tables.FORMAT_ROW, FORMAT)
    tx.set_meta(tables.CREATED, now.isoformat())
    tx.set_meta(tables.NEXT_ID, 1)
    tx.set_meta(tables.EPOCH, 0)
    tx.set_meta(tables.UNENDED, [])


def _open(
    path: Path, options: StoreOptions, now: Callable[[], datetime], outbox: Outbox | None
) -> Environment:
    """Open the environment, with the first rows of a new store; check that it may be written to."""
    map_size = map_bytes(options.map_size_gib)
    metasync = options.durability == "full"
    env = Environment(path, map_size=map_size, metasync=metasync, outbox=outbox)
    with folder.or_undo(env.close):
        with reading(env) as tx:
            is_new = tx.meta(tables.FORMAT_ROW) is None
            copy = tx.meta(COPY)
        if copy is not None and outbox is None:  # what is written past it would never be sent
            raise StoreUnsafeError(
                f"{env.path} is a worker's copy of the memory of {copy['person']!r}",
                hint="Change it through the fleet; `slowcat-memory fleet pull` makes a store of it.",
            )
        if outbox is not None:
            if copy is None:
                raise StoreDamagedError("this folder is not the copy of a memory in a database")
            outbox.seq = copy["seq"]
        if is_new:
            try:
                transact(env, partial(_create, now()))
            except lmdb.Error as error:
                raise as_store_error(error) from error
    return env


def next_id(tx: Transaction) -> int:
    """Return a store's next log id."""
    return max(tx.meta(tables.NEXT_ID, 1), blocks.last_id(tx) + 1)


def to_read(path: Path, options: StoreOptions) -> Opened:
    """Open a folder for reading, beside a writer or without one.

    Of the options only the rule for file systems matters. A damaged file may kill its reader: a
    check comes first, unless a writer has it, or left it. Raises the errors of ``Store.open``.
    """
    folder.require(path)
    with our_errors(path):
        folder.inspect(path, allow_unsafe_fs=options.allow_unsafe_fs)
        trusted = living(path) or is_trusted(path)
        if not (trusted or health.is_whole(folder.data_file(path))):
            raise StoreDamagedError(
                f"the store at {path} is damaged",
                hint="`slowcat-memory doctor --repair` salvages it; so does opening it for writing.",
            )
        env = Environment(path, readonly=True)
    return Opened(env, OpenReport())


# ------------------------------------------------------------------- tried without opening
# Checks cheaply whether a store can be opened for writing, without opening it.


ROOM = bytes(1 << 18)  # the least room that opening and the first commits take


def check_writable(path: Path, options: StoreOptions) -> None:
    """Raise the error that opening the store for writing would raise, as far as that is cheap.

    Writes a quarter of a megabyte, and deletes it again. Other openings of the store in this
    process stay as they are.

    Raises:
        StoreError: Its folder cannot be used.
        OSError: The disk refuses.
    """
    folder.prepare(path, allow_unsafe_fs=options.allow_unsafe_fs)
    with TemporaryFile(prefix=folder.FRESH, dir=path) as out:
        out.write(ROOM)
        out.flush()
        os.fsync(out.fileno())


# ------------------------------------------------------------------- recovering a damaged store
# What a salvage finds may overlap: a block and rows of its events, or two versions of a block. So every
# event gets a row of its own, but for forgotten ones; idle work packs them again.


def examine(path: Path, now: Callable[[], datetime], map_size: int) -> OpenReport:
    """Make sure that the folder has an intact store or none, before it is opened.

    The caller has the writer lock. ``map_size`` is in bytes of address space, for stores made here.
    """
    folder.remove_former(path)
    drafts = (f"{name}*.tmp" for name in (f"{folder.BACKUPS}/", folder.LAST_BACKUP, folder.CURRENT))
    for leftover in folder.entries(path, *folder.UNFINISHED, *drafts):
        folder.remove(leftover)
    data = folder.data_file(path)
    report = OpenReport(created=not data.exists(), unclean_stop=folder.is_unclean(path))
    if report.created or is_trusted(path) or health.is_whole(data):
        return report
    return recover(path, now(), map_size, report)


def is_trusted(path: Path) -> bool:
    """Return whether the data file is as its last writer left it, so that it is not checked.

    The writer closed it, or its process was killed and nothing else happened.
    """
    return folder.is_as_left(path) and not health.looks_cut(folder.data_file(path))


def recover(path: Path, now: datetime, map_size: int, report: OpenReport) -> OpenReport:
    """Replace a damaged store in one rename, losing as little as possible; report that, too.

    The replacement is its readable part or the newest good backup, whichever has more events; else
    an empty store. ``now`` names the folder that the damaged file moves to.
    """
    logger.error("the store at {} is damaged; salvaging", path)
    with folder.fresh_folder(path) as workshop:
        health.copy_whole_rows(folder.data_file(path), workshop, map_size)
        with closing(Environment(workshop)) as env:
            while transact(env, unpack_blocks):
                pass
            salvaged = transact(env, lambda tx: _rebuild(tx, now))
        backups = (copy.file for copy in reversed(backups_of(path)))
        backup = next(filter(health.is_usable, backups), None)
        if backup and sum(count_rows(backup, table) for table in blocks.EVENTS) > salvaged:
            (workshop / folder.DATA).unlink()
            copy_file(backup, workshop / folder.DATA)
            salvaged = 0
        else:
            backup = None
        if forgotten := folder.read_unerased(path):
            with closing(Environment(workshop)) as env:
                delete_forgotten(env, forgotten)
                transact(env, _order_erasure)
            (workshop / folder.LOCK).unlink(missing_ok=True)
        aside = put_aside(path, folder.CORRUPT, now)
        folder.point_to(path, folder.name_generation(path, folder.generation(workshop)))
    folder.remove_former(path)
    logger.error("{} events salvaged; the damaged files are in {}", salvaged, aside)
    return replace(report, moved_aside=aside, salvaged=salvaged, restored_from=backup)


def _order_erasure(tx: Transaction) -> None:
    """Record that copies of a recovered store may have what was forgotten."""
    tx.set_meta(tables.ERASE_DUE, True)
    tx.set_meta(tables.EPOCH, tx.meta(tables.EPOCH, 0) + 1)


def unpack_blocks(tx: Transaction) -> bool:
    """Give the events of some blocks rows of their own; return whether there were any blocks."""
    reader = blocks.BlockReader(tx)
    packed = [(table, key) for table in blocks.TABLES for key in tx.keys(table)][:BLOCKS]
    for table, number in packed:
        with suppress(StoreDamagedError):
            block = reader.block(codec.id_of(number))
            for id in block.ids:
                key, forgotten = codec.id_key(id), codec.turn_tombstone(id)
                if tx.get("log", key) is None and tx.get("tombstones", forgotten) is None:
                    tx.put("log", key, codec.seal(key, block.body(id)))
        tx.drop(table, number)
    return bool(packed)


def _rebuild(tx: Transaction, now: datetime) -> int:
    """Derive the rows that are not salvaged from those that are; return the number of events."""
    last = events = 0
    lost = [codec.id_of(key) for key in tx.keys(blocks.PLACES) if tx.get("log", key) is None]
    tx.clear(blocks.PLACES)
    for key in tx.keys("cursors", CURSOR.encode()):
        tx.drop("cursors", key)
    sessions: dict[bytes, Session] = {}
    for key in tx.keys("log"):
        event: Event | None = tx.read(Event, "log", key)  # type: ignore[arg-type]
        if event is None:
            tx.drop("log", key)
            continue
        events, last = events + 1, codec.id_of(key)
        scoped = codec.scoped_id_key(event.scope, event.id)
        tx.put("log_by_scope", scoped, codec.seal(scoped))
        session = codec.name_key(event.session)
        sessions[session] = fold_session(sessions.get(session), event)
    for session, row in sessions.items():
        tx.write_record("sessions", session, row)
    tx.set_meta(tables.UNENDED, [row.id for row in sessions.values() if row.ended is None])
    _rebuild_meta(tx, max([last, *lost]), now)
    if lost:
        logger.error("{} events of damaged blocks are lost", len(lost))
    return events


def _rebuild_meta(tx: Transaction, last: int, now: datetime) -> None:
    forgotten = [key for key in tx.keys("tombstones") if codec.is_turn_tombstone(key)]
    last = max([last, *map(codec.id_of, forgotten)])
    tx.set_meta(tables.NEXT_ID, max(tx.meta(tables.NEXT_ID, 1), last + 1))
    tx.set_meta(tables.FORMAT_ROW, FORMAT)
    tx.set_meta(tables.CREATED, tx.meta(tables.CREATED, now.isoformat()))
    for name, table in ((tables.LAST_RUN, "runs"), (tables.LAST_CALL, "calls")):
        tx.set_meta(name, max([tx.meta(name, 0), *map(codec.id_of, tx.keys(table))]))
    known = {bytes.fromhex(digest) for digest in tx.meta(tables.EMBEDDERS, {})}
    for key in tx.keys("vectors"):  # a forget would not find one of what is lost
        space, scope, id = codec.split_vector_key(key)
        is_of_key = tx.get("keys", codec.scoped_key(scope, id)) is not None
        if space not in known or not (is_of_key or exists(scope, id, tx)):
            tx.drop("vectors", key)
