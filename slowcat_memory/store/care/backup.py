"""Backups: a compacted copy that a canary has read before it gets its name."""

import os
from datetime import UTC, datetime
from pathlib import Path

from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.store.care import canary_process
from slowcat_memory.store.care.copy import copy_out
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import BACKUPS, LAST_BACKUP, create, sync_dir
from slowcat_memory.store.disk.tables import EPOCH
from slowcat_memory.store.disk.transaction import Transaction


def make(env: Environment, to: Path, now: datetime) -> Path:
    """Make a backup.

    Args:
        env: The store.
        to: The file; it must not exist.
        now: The time, for whoever asks after the latest backup.

    Returns:
        The file.

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
        _check(env, draft, epoch)
        os.rename(draft, to)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if _epoch(env) != epoch:  # erased between the two: this copy has missed it
        to.unlink(missing_ok=True)
        raise StoreError("something was forgotten during the backup", hint="Make it again.")
    sync_dir(to.parent)
    _note(env.path, to, now)
    return to


def _note(path: Path, made: Path, now: datetime) -> None:
    """Leave word of the latest backup, for whoever looks after the store."""
    note, draft = path / LAST_BACKUP, path / f"{LAST_BACKUP}.{os.getpid()}.tmp"
    with os.fdopen(create(draft), "w") as file:
        file.write(f"{now.astimezone(UTC).isoformat()} {made.absolute()}")
    os.replace(draft, note)


def latest(path: Path) -> tuple[datetime, Path] | None:
    """Tell which backup of a store was the latest.

    Args:
        path: The store's folder.

    Returns:
        When it was made, and the file; None when there is none, or no longer.
    """
    try:
        at, _, made = (path / LAST_BACKUP).read_text().partition(" ")
        return (datetime.fromisoformat(at), Path(made)) if Path(made).is_file() else None
    except (OSError, ValueError):
        return None


def _check(env: Environment, draft: Path, epoch: int) -> None:
    if not draft.exists() or _epoch(env) != epoch:
        raise StoreError("something was forgotten during the backup", hint="Make it again.")
    if not canary_process.is_whole(draft):
        raise StoreDamagedError(f"a backup of {env.path} does not read back")


def _epoch(env: Environment) -> int:
    with env.reading() as (txn, handles):
        return int(Transaction(txn, handles).meta(EPOCH, 0))


def make_own(env: Environment, now: datetime, keep: int) -> Path:
    """Make a backup in the store's own folder and remove the oldest.

    Args:
        env: The store.
        now: The time, which names it.
        keep: How many stay.

    Returns:
        The file.

    Raises:
        StoreError: See ``make``.
    """
    folder = env.path / BACKUPS
    folder.mkdir(mode=0o700, exist_ok=True)
    made = make(env, folder / f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}.mdb", now)
    for old in sorted(folder.glob("*.mdb"))[:-keep]:
        old.unlink()
    return made
