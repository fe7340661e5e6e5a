"""From an older schema to this one, step by step, each step in one transaction with its number."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from slowcat_memory.errors import StoreTooNewError
from slowcat_memory.store.care.copy import backup_name, copy_out
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import BACKUPS, sync_dir
from slowcat_memory.store.disk.tables import CREATED, EPOCH, NEXT_ID, SCHEMA, SCHEMA_VERSION
from slowcat_memory.store.disk.transaction import Transaction, transact

Migration = Callable[[Transaction], None]


def _only_new_tables(tx: Transaction) -> None:
    """Change nothing: the new tables are made on opening, and are empty at first."""


# From version n to n + 1, by n. 2: blocks. 3: commands. 4: contexts, keys, tasks, runs.
STEPS: Mapping[int, Migration] = {1: _only_new_tables, 2: _only_new_tables, 3: _only_new_tables}


def version(env: Environment) -> int | None:
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

    Args:
        env: The store; the caller holds the writer lock.
        now: Time of creation, and of the backup.
        steps: By the version that each starts from.

    Returns:
        The version it had, None when nothing had to be migrated.

    Raises:
        StoreTooNewError: A newer version of this package wrote it.
    """
    found = version(env)
    if found is None:
        transact(env, lambda tx: _create(tx, now, target))
        return None
    check(found, env.path, target)
    if found == target:
        return None
    _back_up(env, found, now)
    for number in range(found, target):
        transact(env, _step(steps[number], number + 1))
    return found


def check(found: int | None, path: Path, target: int = SCHEMA_VERSION) -> None:
    """Raise ``StoreTooNewError`` when a store's version is newer than ``target``."""
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
    folder = env.path / BACKUPS
    folder.mkdir(mode=0o700, exist_ok=True)
    copy_out(env, folder / f"{backup_name(now)}-schema{found}.mdb")
    sync_dir(folder)
