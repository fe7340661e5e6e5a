"""The steps of opening a store, in their order.

For writing, if no other process has the store open: folder, leftovers, canary unless the last one
closed the file or was killed on this boot, running mark, environment, first rows of a new store,
erasure if one is due. Beside others: the environment alone. For reading: nothing is created or
changed.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

import lmdb
from msgspec.structs import replace

from slowcat_memory.errors import StoreBusyError, StoreDamagedError, StoreUnsafeError
from slowcat_memory.store.blocks.reader import last_id
from slowcat_memory.store.care import canary_process, recover
from slowcat_memory.store.care.erasure import Erasure, sweep
from slowcat_memory.store.disk import folder, keys
from slowcat_memory.store.disk.envelope import FORMAT
from slowcat_memory.store.disk.environment import Environment, as_store_error, map_bytes, our_errors
from slowcat_memory.store.disk.folder import ERASING, FRESH, OPENING, data_file
from slowcat_memory.store.disk.outbox import COPY, Outbox, read_state
from slowcat_memory.store.disk.state import distrust, mark_running, mark_stopped, vouch
from slowcat_memory.store.disk.tables import CREATED, EPOCH, FORMAT_ROW, NEXT_ID, UNENDED
from slowcat_memory.store.disk.transaction import Transaction, reading, transact
from slowcat_memory.store.options import OpenReport, StoreOptions
from slowcat_memory.store.sharing import MOST_ID, LogIds, Presence, alone, living

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

    def leave(self) -> None:
        """Close everything; the last process marks the store as closed cleanly."""
        path = self.env.path if self.env.is_in_place() else None
        self.env.close()
        if self.ids is None or self.presence is None:
            return
        self.ids.close()
        try:
            with alone(path / OPENING, OPENING_S) if path else nullcontext():
                self.presence.leave()
                if path and not living(path):
                    mark_stopped(path)
        except (OSError, StoreBusyError):
            self.presence.leave()


def to_write(
    path: Path,
    options: StoreOptions,
    now: Callable[[], datetime],
    outbox: Outbox | None = None,
) -> Opened:
    """Open a folder for writing; raises the errors of ``Store.open``."""
    with our_errors(path), ExitStack() as undo:
        folder.prepare(path, allow_unsafe_fs=options.allow_unsafe_fs)
        with alone(path / OPENING, OPENING_S):
            is_first, report = not living(path), OpenReport()
            presence = Presence(path)
            undo.callback(presence.leave)
            if is_first:
                report = recover.examine(path, now, map_bytes(options.map_size_gib))
                if not report.unclean_stop:
                    undo.callback(distrust, path)
                mark_running(path)
            make = partial(_open, path, options, now, outbox)
            try:
                env = make()
            except StoreDamagedError:  # damage that shows only now
                others = len(living(path)) > 1
                if others or report.moved_aside or report.created or outbox is not None:
                    raise
                found = recover.recover(path, now(), map_bytes(options.map_size_gib))
                report = replace(found, unclean_stop=report.unclean_stop)
                env = make()
            undo.callback(env.close)
            if is_first:
                vouch(path)
                folder.sync_dir(path)  # LMDB flushes its files, not their names
                sweep(env)
                with alone(path / ERASING, 0.0):
                    Erasure(env).finish()
            with reading(env) as tx:
                ids = LogIds(path, next_id(tx), is_first=is_first)
        undo.pop_all()
    return Opened(env, replace(report, is_first=is_first), presence, ids)


def _create(now: datetime, tx: Transaction) -> None:
    tx.set_meta(FORMAT_ROW, FORMAT)
    tx.set_meta(CREATED, now.isoformat())
    tx.set_meta(NEXT_ID, 1)
    tx.set_meta(EPOCH, 0)
    tx.set_meta(UNENDED, [])


def _open(
    path: Path, options: StoreOptions, now: Callable[[], datetime], outbox: Outbox | None
) -> Environment:
    """Open the environment, with the first rows of a new store; check that it may be written to."""
    map_size = map_bytes(options.map_size_gib)
    metasync = options.durability == "full"
    env = Environment(path, map_size=map_size, metasync=metasync, outbox=outbox)
    try:
        with reading(env) as tx:
            is_new = tx.meta(FORMAT_ROW, None) is None
            copy = read_state(tx.get("meta", keys.name_key(COPY)))
        if copy is not None and outbox is None:  # what is written past it would never be sent
            raise StoreUnsafeError(
                f"{env.path} is a worker's copy of the memory of {copy.person!r}",
                hint="Change it through the fleet; `slowcat-memory fleet pull` makes a store of it.",
            )
        if is_new:
            transact(env, partial(_create, now()))
    except lmdb.Error as error:
        env.close()
        raise as_store_error(error) from error
    except BaseException:
        env.close()
        raise
    return env


def next_id(tx: Transaction) -> int:
    """Return a store's next log id, also when its counter is out of range."""
    counter, last = tx.meta(NEXT_ID, 1), last_id(tx.cursor)
    if type(counter) is int and counter <= MOST_ID:
        return max(counter, last + 1)
    ids = [last, *recover.forgotten_ids(tx)]
    return max((id for id in ids if id <= MOST_ID), default=0) + 1


def to_read(path: Path, options: StoreOptions) -> Opened:
    """Open a folder for reading, beside a writer or without one.

    Of the options only the rule for file systems matters. A damaged file may kill its reader: a
    canary reads it first, unless a writer has it, or left it. Raises the errors of ``Store.open``.
    """
    folder.require(path)
    with our_errors(path):
        folder.inspect(path, allow_unsafe_fs=options.allow_unsafe_fs)
        trusted = living(path) or recover.is_trusted(path)
        if not (trusted or canary_process.is_whole(data_file(path))):
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
    with TemporaryFile(prefix=FRESH, dir=path) as out:
        out.write(ROOM)
        out.flush()
        os.fsync(out.fileno())
