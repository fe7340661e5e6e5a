"""The steps of opening a store, in their order.

For writing: folder, lock, leftovers, canary if the last stop was unclean, running mark,
environment, schema, erasure if one is due. For reading: nothing is made, nothing is changed.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import lmdb
from msgspec.structs import replace

from slowcat_memory.errors import StoreDamagedError
from slowcat_memory.store.care import canary_process, copy, migrations, recover
from slowcat_memory.store.disk import folder
from slowcat_memory.store.disk.environment import Environment, map_bytes
from slowcat_memory.store.disk.failures import as_store_error
from slowcat_memory.store.disk.folder import DATA, RUNNING
from slowcat_memory.store.disk.locks import WriterLock, alive, holder, mark_running, mark_stopped
from slowcat_memory.store.disk.tables import NEXT_ID
from slowcat_memory.store.options import OpenReport, StoreOptions
from slowcat_memory.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Opened:
    """What a store begins with.

    Attributes:
        env: The open environment.
        lock: The right to write, None when only reading.
        report: What was found.
        next_id: Id of the next event.
    """

    env: Environment
    lock: WriterLock | None
    report: OpenReport
    next_id: int


def to_write(path: Path, options: StoreOptions, now: Callable[[], datetime]) -> Opened:
    """Open for writing.

    Args:
        path: The store's folder.
        options: How to keep things.
        now: The clock.

    Returns:
        Everything a writing store needs.

    Raises:
        StoreError: See ``Store.open``.
    """
    folder.prepare(path, allow_unsafe_fs=options.allow_unsafe_fs)
    with ExitStack() as undo:
        lock = WriterLock(path, now())
        undo.callback(lock.release)
        report = recover.examine(path, now, map_bytes(options.map_size_gib))
        if not report.unclean_stop:
            undo.callback(mark_stopped, path)
        mark_running(path, now())
        env, report = _environment(path, options, now, report)
        folder.sync_dir(path)  # LMDB flushes its files, not their names
        undo.pop_all()
    copy.erase_if_due(env)
    return Opened(env, lock, report, _next_id(env))


def _environment(
    path: Path, options: StoreOptions, now: Callable[[], datetime], report: OpenReport
) -> tuple[Environment, OpenReport]:
    """Open the environment; when it turns out damaged only now, recover it."""
    try:
        env = _open(path, options)
    except StoreDamagedError:
        if report.moved_aside or report.created:
            raise
        found = recover.recover(path, now(), map_bytes(options.map_size_gib))
        report = replace(found, unclean_stop=report.unclean_stop)
        env = _open(path, options)
    try:
        migrated_from = migrations.bring_up_to_date(env, now())
    except lmdb.Error as error:
        env.close()
        raise as_store_error(error) from error
    except BaseException:
        env.close()
        raise
    return env, replace(report, migrated_from=migrated_from)


def _open(path: Path, options: StoreOptions) -> Environment:
    """Open the environment and see that its schema's number reads."""
    map_size = map_bytes(options.map_size_gib)
    env = Environment(path, map_size=map_size, metasync=options.durability == "full")
    try:
        migrations.version(env)
    except BaseException:
        env.close()
        raise
    return env


def _next_id(env: Environment) -> int:
    with env.reading() as (txn, handles):
        snapshot = Snapshot(txn, handles, lambda table, key: None)
        return max(int(snapshot.meta(NEXT_ID, 1)), snapshot.last_id() + 1)


def to_read(path: Path, options: StoreOptions, now: Callable[[], datetime]) -> Opened:
    """Open for reading, beside a writer or without one.

    Args:
        path: The store's folder.
        options: Only the map size and the file system rule matter.
        now: Not asked.

    Returns:
        Everything a reading store needs.

    Raises:
        StoreError: See ``Store.open``.
    """
    folder.require(path)
    folder.inspect(path, allow_unsafe_fs=options.allow_unsafe_fs)
    _check_abandoned(path)
    env = Environment(path, map_size=map_bytes(options.map_size_gib), readonly=True)
    try:
        migrations.check(migrations.version(env), path)
    except BaseException:
        env.close()
        raise
    return Opened(env, None, OpenReport(), 0)


def _check_abandoned(path: Path) -> None:
    """Let the canary go first when the last writer died: reading a damaged file may kill us."""
    pid, _ = holder(path)
    if (path / RUNNING).exists() and not alive(pid) and not canary_process.is_whole(path / DATA):
        raise StoreDamagedError(
            f"the store at {path} is damaged", hint="Open it for writing once: that salvages it."
        )
