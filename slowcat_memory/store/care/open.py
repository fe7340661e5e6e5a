"""The steps of opening a store, in their order, including migrations from an older schema.

For writing: folder, lock, leftovers, canary unless the last writer closed the file or was killed on
this boot, running mark, environment, schema (each migration in one transaction with its number), erasure if one is due. For
reading: nothing is created or changed.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import lmdb
from msgspec.structs import replace

from slowcat_memory.errors import StoreDamagedError, StoreTooNewError, StoreUnsafeError
from slowcat_memory.store.blocks.reader import last_id
from slowcat_memory.store.care import backup_check, canary_process, recover
from slowcat_memory.store.care.backups import next_backup
from slowcat_memory.store.care.copy import copy_out
from slowcat_memory.store.care.erasure import Erasure, sweep
from slowcat_memory.store.disk import folder, keys
from slowcat_memory.store.disk.change_set import COPY
from slowcat_memory.store.disk.environment import Environment, as_store_error, map_bytes, our_errors
from slowcat_memory.store.disk.folder import DATA, RUNNING, sync_dir
from slowcat_memory.store.disk.locks import (
    WriterLock,
    alive,
    distrust,
    holder,
)
from slowcat_memory.store.disk.outbox import Outbox, read_state
from slowcat_memory.store.disk.running_mark import (
    mark_running,
    unmark_running,
    vouch,
)
from slowcat_memory.store.disk.tables import CREATED, EPOCH, NEXT_ID, SCHEMA, SCHEMA_VERSION
from slowcat_memory.store.disk.transaction import Transaction, transact
from slowcat_memory.store.options import OpenReport, StoreOptions

Migration = Callable[[Transaction], None]


def _only_new_tables(tx: Transaction) -> None:
    """Change nothing: the new tables are made on opening, and are empty at first."""


# From version n to n + 1, by n. 2: blocks. 3: commands. 4: contexts, keys, tasks, runs.
STEPS: Mapping[int, Migration] = {1: _only_new_tables, 2: _only_new_tables, 3: _only_new_tables}


def schema_version(env: Environment) -> int | None:
    """Return a store's schema version, None when nothing was ever written."""
    with env.reading() as (txn, handles):
        found = Transaction(txn, handles).meta(SCHEMA, None)
        return None if found is None else int(found)


def bring_up_to_date(
    env: Environment,
    now: datetime,
    steps: Mapping[int, Migration] = STEPS,
    target: int = SCHEMA_VERSION,
) -> int | None:
    """Write the first rows of a new store, or migrate an older one after a backup.

    The caller has the writer lock. ``now`` is the time of creation, and of the backup; ``steps``
    are the migrations by the version that each starts from. Returns the version it had, None when
    no migration was needed.

    Raises:
        StoreTooNewError: A newer version of this package wrote it.
    """
    found = schema_version(env)
    if found is None:
        transact(env, lambda tx: _create(tx, now, target))
        return None
    check_schema(found, env.path, target)
    if found == target:
        return None
    _back_up(env, found, now)
    for number in range(found, target):
        transact(env, _step(steps[number], number + 1))
    return found


def check_schema(found: int | None, path: Path, target: int = SCHEMA_VERSION) -> None:
    if found is not None and found > target:
        raise StoreTooNewError(
            f"{path} has schema {found}, this version knows {target}",
            hint="Install the newer slowcat-memory again.",
        )


def _create(tx: Transaction, now: datetime, target: int) -> None:
    tx.set_meta(SCHEMA, target)
    tx.set_meta(CREATED, now.isoformat())
    tx.set_meta(NEXT_ID, 1)
    tx.set_meta(EPOCH, 0)


def _step(migration: Migration, reached: int) -> Migration:
    def change(tx: Transaction) -> None:
        migration(tx)
        tx.set_meta(SCHEMA, reached)

    return change


def _back_up(env: Environment, found: int, now: datetime) -> None:
    to = next_backup(env.path, now, f"-schema{found}")
    copy_out(env, to)
    sync_dir(to.parent)


@dataclass(frozen=True, slots=True)
class Opened:
    """The resources of an open store.

    Attributes:
        lock: The writer lock, None when only reading.
        report: What was found.
        next_id: Id of the next event.
    """

    env: Environment
    lock: WriterLock | None
    report: OpenReport
    next_id: int


def to_write(
    path: Path,
    options: StoreOptions,
    now: Callable[[], datetime],
    outbox: Outbox | None = None,
) -> Opened:
    """Open a folder for writing; raises the errors of ``Store.open``."""
    with our_errors(path), ExitStack() as undo:
        folder.prepare(path, allow_unsafe_fs=options.allow_unsafe_fs)
        lock = WriterLock(path, now())
        undo.callback(lock.release)
        report = recover.examine(path, now, map_bytes(options.map_size_gib))
        if not report.unclean_stop:
            undo.callback(unmark_running, path)
        distrust(path)
        mark_running(path, now())
        env, report = _environment(path, options, now, report, outbox)
        undo.callback(env.close)
        vouch(path)
        folder.sync_dir(path)  # LMDB flushes its files, not their names
        sweep(env)
        Erasure(env).finish()
        opened = Opened(env, lock, report, _next_id(env))
        undo.pop_all()
    return opened


def _environment(
    path: Path,
    options: StoreOptions,
    now: Callable[[], datetime],
    report: OpenReport,
    outbox: Outbox | None,
) -> tuple[Environment, OpenReport]:
    """Open the environment; recover it if damage shows only now."""
    try:
        env = _open(path, options, outbox)
    except StoreDamagedError:
        if report.moved_aside or report.created or outbox is not None:
            raise
        found = recover.recover(path, now(), map_bytes(options.map_size_gib))
        report = replace(found, unclean_stop=report.unclean_stop)
        env = _open(path, options)
    try:
        migrated_from = bring_up_to_date(env, now())
    except lmdb.Error as error:
        env.close()
        raise as_store_error(error) from error
    except BaseException:
        env.close()
        raise
    return env, replace(report, migrated_from=migrated_from)


def _open(path: Path, options: StoreOptions, outbox: Outbox | None = None) -> Environment:
    """Open the environment and check that its schema number is readable."""
    map_size = map_bytes(options.map_size_gib)
    metasync = options.durability == "full"
    env = Environment(path, map_size=map_size, metasync=metasync, outbox=outbox)
    try:
        schema_version(env)
        if outbox is None:
            _check_own(env)
    except BaseException:
        env.close()
        raise
    return env


def _check_own(env: Environment) -> None:
    """Check that a store is no copy: what were written past its outbox would never be sent."""
    with env.reading() as (txn, handles):
        copy = read_state(Transaction(txn, handles).get("meta", keys.name_key(COPY)))
    if copy is not None:
        raise StoreUnsafeError(
            f"{env.path} is a worker's copy of the memory of {copy.person!r}",
            hint="Change it through the fleet; `slowcat-memory fleet pull` makes a store of it.",
        )


def _next_id(env: Environment) -> int:
    with env.reading() as (txn, handles):
        tx = Transaction(txn, handles)
        return max(backup_check.next_id(tx), last_id(tx.cursor) + 1)


def to_read(path: Path, options: StoreOptions, now: Callable[[], datetime]) -> Opened:
    """Open a folder for reading, beside a writer or without one.

    Of the options only the map size and the rule for file systems matter; ``now`` is not called.
    Raises the errors of ``Store.open``.
    """
    folder.require(path)
    with our_errors(path):
        folder.inspect(path, allow_unsafe_fs=options.allow_unsafe_fs)
        _check_file(path)
        env = Environment(path, map_size=map_bytes(options.map_size_gib), readonly=True)
    try:
        check_schema(schema_version(env), path)
    except BaseException:
        env.close()
        raise
    return Opened(env, None, OpenReport(), 0)


def _check_file(path: Path) -> None:
    """Run the canary first unless a writer has the file, or left it: a damaged one may be fatal."""
    running = (path / RUNNING).exists() and alive(holder(path)[0])
    if not (running or recover.is_trusted(path) or canary_process.is_whole(path / DATA)):
        raise StoreDamagedError(
            f"the store at {path} is damaged",
            hint="Open it for writing, or run `slowcat-memory doctor --repair`: that salvages it.",
        )
