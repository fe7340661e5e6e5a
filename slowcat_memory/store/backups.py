"""Backups: a compacted copy that a canary has read before it gets its name."""

import os
from datetime import UTC, datetime
from pathlib import Path

from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.store import judge
from slowcat_memory.store.copies import copy_out
from slowcat_memory.store.edit import Edit
from slowcat_memory.store.environment import Environment
from slowcat_memory.store.folder import BACKUPS, sync_dir
from slowcat_memory.store.schema import EPOCH


def make(env: Environment, to: Path) -> Path:
    """Make a backup.

    Args:
        env: The store.
        to: The file; it must not exist.

    Returns:
        The file.

    Raises:
        StoreError: It exists, or something was forgotten meanwhile.
        StoreDamagedError: The copy does not read back.
        OSError: The disk refuses.
    """
    if to.exists():
        raise StoreError(f"{to} exists", hint="Choose another name.")
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
    sync_dir(to.parent)
    return to


def _check(env: Environment, draft: Path, epoch: int) -> None:
    if not draft.exists() or _epoch(env) != epoch:
        raise StoreError("something was forgotten during the backup", hint="Make it again.")
    if not judge.is_whole(draft):
        raise StoreDamagedError(f"a backup of {env.path} does not read back")


def _epoch(env: Environment) -> int:
    with env.reading() as (txn, handles):
        return int(Edit(txn, handles).meta(EPOCH, 0))


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
    made = make(env, folder / f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}.mdb")
    for old in sorted(folder.glob("*.mdb"))[:-keep]:
        old.unlink()
    return made
