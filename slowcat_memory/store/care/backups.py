"""Backups: made, ordered by a counter in their names, deleted, or rewritten without forgotten text.

The counter orders them, never the time: a clock may have been wrong when one was made.
"""

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from msgspec import Struct

from slowcat_memory.core.memory import turn_of
from slowcat_memory.errors import StoreDamagedError, StoreError
from slowcat_memory.records import Forget
from slowcat_memory.store.care import canary_process
from slowcat_memory.store.care.copy import (
    Snapshots,
    backup_name,
    copy_file,
    copy_out,
    drafting,
    rewrite,
)
from slowcat_memory.store.disk import codec, keys
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import (
    BACKUPS,
    DATA,
    LAST_BACKUP,
    data_file,
    remove,
    sync_dir,
    write_whole,
)
from slowcat_memory.store.disk.state import ORDER, Unerased
from slowcat_memory.store.disk.tables import CREATED, EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import Transaction, reading, run_here, transact
from slowcat_memory.store.rows.forget import Forgetting, end
from slowcat_memory.store.rows.pending import Pending

REWRITING = "rewriting"  # where a backup is rewritten, beside it
NUMBERED = re.compile(r"(\d{6,})-")
STAMP = re.compile(r"(\d{8}T\d{6})\.\d+Z")


class Backup(Struct, frozen=True):
    """A backup in a store's own folder.

    Attributes:
        number: Its position among the backups; 0 for a file with a name of its own.
        at: When it was made, by the clock of that time.
    """

    file: Path
    number: int
    at: datetime


def backups_of(path: Path) -> list[Backup]:
    """Return the backups in a store's folder, oldest first."""
    found = [_described(file) for file in (path / BACKUPS).glob("*.mdb")]
    return sorted(found, key=lambda one: (one.number, one.file.name))


def _described(file: Path) -> Backup:
    number, stamp = NUMBERED.match(file.name), STAMP.search(file.name)
    if stamp:
        at = datetime.strptime(stamp[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    else:
        at = datetime.fromtimestamp(file.lstat().st_mtime, UTC)
    return Backup(file, int(number[1]) if number else 0, at)


def next_backup(path: Path, now: datetime) -> Path:
    """Return the file of the next backup in a store's folder, which is made when missing."""
    folder = path / BACKUPS
    if not folder.is_dir():
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_dir(path)
    last = max((backup.number for backup in backups_of(path)), default=0)
    return folder / f"{last + 1:06}-{backup_name(now)}.mdb"


def back_up(env: Environment, snapshots: Snapshots, to: Path, now: datetime) -> Path:
    """Make a backup: a compact copy that a canary has read before it gets its name.

    ``to`` must not exist. ``now`` is kept with the name of the latest backup.

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
    with drafting(env.path, snapshots, draft, to):
        copy_out(env, draft)
        if not canary_process.is_whole(draft):
            raise StoreDamagedError(f"a backup of {env.path} does not read back")
    sync_dir(to.parent)
    write_whole(env.path / LAST_BACKUP, f"{now.astimezone(UTC).isoformat()} {to.absolute()}")
    return to


def back_up_into_store(env: Environment, snapshots: Snapshots, now: datetime, keep: int) -> Path:
    """Make a backup in the store's own folder, and delete the oldest ones beyond ``keep``."""
    made = back_up(env, snapshots, next_backup(env.path, now), now)
    others = [backup.file for backup in backups_of(env.path) if backup.file != made]
    for old in others[: max(0, len(others) + 1 - keep)]:
        old.unlink()
    return made


def last_backup(path: Path) -> tuple[datetime, Path] | None:
    """Return time and file of the latest backup of a store's folder, if it still exists."""
    try:
        at, _, made = (path / LAST_BACKUP).read_text().partition(" ")
        return (datetime.fromisoformat(at), Path(made)) if Path(made).is_file() else None
    except (OSError, ValueError):
        return None


# ------------------------------------------------------------------- forgetting


class Erased(Struct, frozen=True, kw_only=True):
    """What became of the copies of deleted bytes.

    Attributes:
        problems: Why some are left, one sentence each; () when all are gone.
        backups_deleted: How many backups were deleted.
        backups_rewritten: How many were rewritten without what is forgotten.
    """

    problems: tuple[str, ...] = ()
    backups_deleted: int = 0
    backups_rewritten: int = 0


def erase(env: Environment, erasure: Pending | None) -> Erased:
    """Delete the backups in a store's folder, or rewrite them where the erasure says so.

    Where the folder is a link, the files that it leads to are meant. A backup that cannot be
    rewritten, because it is damaged or of another format, is deleted.
    """
    folder, keep = env.path / BACKUPS, erasure is not None and erasure.keep_backups
    if not folder.is_dir():
        lost = f"{folder} leads to {folder.resolve()}, which is not there"
        return Erased(problems=(lost,) if folder.is_symlink() else ())
    remove(folder / REWRITING)
    rewritten, doomed = 0, []
    for backup in backups_of(env.path):
        if keep and erasure is not None and _rewrite(env, backup.file.resolve(), erasure):
            rewritten += 1
        else:
            doomed.append(backup.file)
    gone = [file for file in doomed if remove(file)]
    problems = [f"{file} cannot be deleted" for file in doomed if file not in gone]
    problems += _remove_others(folder)
    if last_backup(env.path) is None:
        (env.path / LAST_BACKUP).unlink(missing_ok=True)
    return Erased(problems=tuple(problems), backups_deleted=len(gone), backups_rewritten=rewritten)


def _remove_others(folder: Path) -> list[str]:
    """Delete unfinished backups and, in a folder of our own, whatever else is in it."""
    others = folder.glob("*.tmp") if folder.is_symlink() else folder.iterdir()
    left = [file for file in others if file.suffix != ".mdb" and not remove(file)]
    sync_dir(folder)
    if not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()
    return [f"{file} cannot be deleted" for file in left]


def _rewrite(env: Environment, file: Path, erasure: Pending) -> bool:
    """Replace a backup by a copy without what is forgotten, in one rename.

    Returns False when that is impossible; the backup is as before then.
    """
    if not canary_process.is_usable(file):
        return False
    workshop = file.parent / REWRITING
    remove(workshop)
    workshop.mkdir(mode=0o700)
    try:
        copy_file(file, workshop / DATA)
        with closing(Environment(workshop)) as made:
            if not _forget_in(made, env, erasure):
                return False
        if not canary_process.is_whole(data_file(workshop)):
            return False
        os.replace(data_file(workshop), file)
        sync_dir(file.parent)
        return True
    finally:
        remove(workshop)


def _forget_in(made: Environment, env: Environment, erasure: Pending) -> bool:
    """Delete from a copy of a backup what is forgotten; return False if it is of another memory."""
    if created(made) != created(env):
        return False
    delete_forgotten(env, made, erasure.requests)
    with reading(env) as tx:
        epoch = tx.meta(EPOCH, 0)

    def mark(tx: Transaction) -> None:
        end(tx)
        tx.set_meta(EPOCH, epoch)

    transact(made, mark)
    return rewrite(made, run_here)


# ------------------------------------------------------------------- what a copy must not bring back
# Only the store knows what was forgotten since a copy was made: by the tombstones of turns and
# memories, and by the epoch marks of memories deleted without a name. When the store is damaged, the
# file beside it knows (``disk.state``).


def delete_forgotten(store: Environment, made: Environment, more: Sequence[Forget] = ()) -> int:
    """Delete it, and what ``more`` requests cover, from a copy; return how many there were.

    Turns and memories count. The copy has the tombstones of both then.
    """
    tombstones = _tombstones(made) | _tombstones(store)
    return _delete(made, [*_requests(made, tombstones), *more], tombstones)


def forget_again(made: Environment, unerased: Unerased) -> None:
    """Delete from what was recovered of a store what it has forgotten, or was about to delete.

    Its copies are to be erased then: the erasure is due.
    """
    tombstones = _tombstones(made) | dict(unerased.tombstones)
    requests = _requests(made, tombstones)
    transact(made, partial(_order_again, unerased.order))
    Forgetting(made).resume()
    _delete(made, requests, tombstones | _tombstones(made))


def _order_again(order: bytes | None, tx: Transaction) -> None:
    if order is not None:
        tx.put("meta", ORDER, order)
    tx.set_meta(ERASE_DUE, True)
    tx.set_meta(EPOCH, tx.meta(EPOCH, 0) + 1)


def _delete(made: Environment, requests: list[Forget], tombstones: dict[bytes, bytes]) -> int:
    gone = 0
    if requests:
        deleting = Forgetting(made)
        found = deleting.forget(requests)
        deleting.resume()  # it raises what has kept rows from being deleted
        gone = len(found.turns) + sum(not turn_of(id) for _, id in found.memories)
    transact(made, partial(_set_tombstones, tombstones))
    return gone


def created(env: Environment) -> str:
    """Return when a store was created. It identifies the memory: all copies keep it."""
    with reading(env) as tx:
        return str(tx.meta(CREATED, ""))


def _tombstones(env: Environment) -> dict[bytes, bytes]:
    with reading(env) as tx:
        return dict(tx.rows("tombstones"))


def _requests(made: Environment, tombstones: dict[bytes, bytes]) -> list[Forget]:
    """Return the requests that delete everything these tombstones and epoch marks name."""
    turns = tuple(keys.id_of(key) for key in tombstones if keys.is_turn_tombstone(key))
    memories: dict[str, set[str]] = defaultdict(set)
    with reading(made) as tx:
        epoch = tx.meta(EPOCH, 0)
        for key in tx.keys("memories"):
            scope, rest = keys.split_scope(key)
            id = rest.decode()
            mark = keys.epoch_mark(scope, id)
            if keys.memory_tombstone(scope, id) in tombstones or (
                mark in tombstones and codec.decode(int, mark, tombstones[mark]) > epoch
            ):
                memories[scope].add(id)
    requests = [Forget(scope=scope, memories=tuple(ids)) for scope, ids in memories.items()]
    return [Forget(turns=turns), *requests] if turns else requests


def _set_tombstones(tombstones: dict[bytes, bytes], tx: Transaction) -> None:
    """Keep exactly the tombstones and marks that the store or its copy had.

    Forgetting by name, as done here, would prevent a memory from ever being made again.
    """
    for key in tx.keys("tombstones"):
        tx.drop("tombstones", key)
    for key, value in tombstones.items():
        tx.put("tombstones", key, value)
