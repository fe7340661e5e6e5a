"""Backups: made in a folder of the store or elsewhere, and a store replaced by one.

A backup is older than the store, and only the store knows what was forgotten in between: the
tombstones of turns and memories, and the epoch marks of memories deleted without a name. So a backup
that is restored is copied into a workshop inside the folder, where everything the store has forgotten
is deleted; only a copy that has no byte of it any more, and that was read once more, replaces the
store, in one rename. Killed at any moment, the folder has the old store or the new one.

Deletions of a store that no longer exists cannot be known: tombstones restored into an empty folder
are the backup's own.
"""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from slowcat_memory.errors import StoreBusyError, StoreDamagedError, StoreError
from slowcat_memory.records import CommandEntry, Forget
from slowcat_memory.store.blocks import EVENTS
from slowcat_memory.store.care import copies, health, open
from slowcat_memory.store.care.copies import delete_forgotten, erase, tombstones_of
from slowcat_memory.store.disk import codec, folder
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.tables import CREATED, EPOCH, NEXT_ID
from slowcat_memory.store.disk.transaction import Transaction, read_meta, reading, transact, writing
from slowcat_memory.store.forget import end, forget
from slowcat_memory.store.options import StoreOptions, utc_now
from slowcat_memory.store.sharing import alone

OnStep = Callable[[str], None]
ALONE_S = 60.0  # how long a restoration waits for another process's erasure


def next_backup(path: Path, now: datetime) -> Path:
    """Return the file of the next backup in a store's folder, which is made when missing."""
    backups = path / folder.BACKUPS
    if not backups.is_dir():
        backups.mkdir(mode=0o700, exist_ok=True)
        folder.sync_dir(path)
    last = max((backup.number for backup in copies.backups_of(path)), default=0)
    return backups / f"{last + 1:06}-{copies.backup_name(now)}.mdb"


def back_up(
    env: Environment, snapshots: copies.Snapshots, to: Path | None, now: datetime, keep: int
) -> Path:
    """Make a backup: a compact copy that is read once more before it gets its name.

    ``to`` must not exist; None makes one in the store's own folder, and deletes the oldest ones
    beyond ``keep``. ``now`` is kept with the name of the latest backup.

    Raises:
        StoreError: It exists, its folder does not, or something was forgotten meanwhile.
        StoreDamagedError: The copy does not read back.
        OSError: The disk refuses.
    """
    others = [] if to else [backup.file for backup in copies.backups_of(env.path)]
    to = to or next_backup(env.path, now)
    if to.exists():
        raise StoreError(f"{to} exists", hint="Choose another name.")
    if not to.parent.is_dir():
        raise StoreError(f"there is no folder {to.parent}", hint="Make it, or choose another.")
    draft = to.with_name(to.name + ".tmp")
    draft.unlink(missing_ok=True)
    with copies.drafting(env.path, snapshots, draft, to):
        copies.copy_out(env, draft)
        if not health.is_whole(draft):
            raise StoreDamagedError(f"a backup of {env.path} does not read back")
    folder.sync_dir(to.parent)
    folder.write_whole(
        env.path / folder.LAST_BACKUP, f"{now.astimezone(UTC).isoformat()} {to.absolute()}"
    )
    for old in others[: max(0, len(others) + 1 - keep)]:
        old.unlink()
    return to


# ------------------------------------------------------------------- restoring


class Restored(Struct, frozen=True, kw_only=True):
    """The result of ``restore``.

    Attributes:
        events: How many turns and session edges the store has now.
        forgotten: How many turns and memories of the backup were skipped, because they were
            forgotten since.
        aside: Path of the store's former file, None if it was empty.
    """

    events: int
    forgotten: int
    aside: Path | None = None


def restore(
    path: Path,
    file: Path,
    *,
    foreign: bool = False,
    options: StoreOptions = StoreOptions(),
    on_step: OnStep = lambda step: None,
) -> Restored:
    """Replace a store by a backup. Other processes go on with the restored one.

    The store's former file moves to ``replaced-<utc>`` in its folder, without forgotten data; it is
    deleted with the next forget, like every older copy.

    Memories hidden by a voice command are first deleted for good, even those that could still be
    restored by voice.

    Args:
        path: The store's folder; made when there is none.
        file: The backup, or a copy of a store's folder. It stays as it is.
        foreign: Accept the backup of another memory, too. Data forgotten here cannot be found in
            that one.
        on_step: Called with the name of each step.

    Raises:
        StoreBusyError: Another process erases, or does not let go of what was forgotten.
        StoreDamagedError: The backup does not read back; the store is as before.
        StoreFormatError: It has the format of another version.
        StoreError: It is not a backup, or one of another memory.
    """
    path, backup = path.absolute(), folder.data_file(file) if file.is_dir() else file
    on_step("reading the backup")
    _check(backup, path)
    with (
        closing(open.to_write(path, options, utc_now)) as opened,
        alone(path / folder.ERASING, ALONE_S),
        folder.fresh_folder(path) as workshop,
    ):
        return _restore(opened.env, backup, workshop, foreign, on_step)


def _check(backup: Path, path: Path) -> None:
    if not backup.is_file():
        raise StoreError(f"there is no backup at {backup}", hint="Check the name.")
    if folder.data_file(path).exists() and backup.samefile(folder.data_file(path)):
        raise StoreError(f"{backup} is the store itself", hint="Name a backup of it.")
    if not health.is_whole(backup):
        raise StoreDamagedError(f"{backup} is damaged, or not a backup", hint="Try an older one.")


def _restore(
    env: Environment, backup: Path, workshop: Path, foreign: bool, on_step: OnStep
) -> Restored:
    on_step("copying it")
    copies.copy_file(backup, workshop / folder.DATA)
    with closing(Environment(workshop)) as copied:
        # All copies of a memory keep the time of its making.
        related = read_meta(copied, CREATED, "") == read_meta(env, CREATED, "")
        if not (related or foreign or _is_empty(env)):
            raise StoreError(
                "this is the backup of another memory",
                hint="What was forgotten here cannot be found in it; take it with --other.",
            )
        on_step("forgetting what was forgotten since")
        _finish_commands(env, workshop)
        forgotten = delete_forgotten(copied, tombstones_of(env)) if related else 0
        with reading(env) as tx:
            next_id, epoch = open.next_id(tx), tx.meta(EPOCH, 0)
        transact(copied, lambda tx: _continue_counters(tx, next_id, epoch))
        if not copies.rewrite(copied):
            raise StoreError("what was forgotten could not be erased from the backup's copy")
        with reading(copied) as tx:
            events = sum(map(tx.count, EVENTS))
    on_step("checking the result")
    fresh = folder.generation(workshop)
    if not health.is_whole(fresh / folder.DATA):
        raise StoreDamagedError("the copy of the backup does not read back")
    aside = None
    with writing(env):
        if not _is_empty(env):
            aside = copies.put_aside(env.path, folder.REPLACED, utc_now())
        env.swap(fresh)
    return Restored(events=events, forgotten=forgotten, aside=aside)


def _finish_commands(env: Environment, workshop: Path) -> None:
    """Delete hidden memories that are due later: the file moved aside must not have them."""
    with reading(env) as tx:
        commands = [codec.decode(CommandEntry, *row) for row in tx.rows("commands")]
    due = [command for command in commands if command.state == "done" and command.due]
    requests = [Forget(turns=command.turns) for command in due if command.turns]
    requests += [Forget(scope=s, memories=(id,)) for command in due for s, id in command.all_hidden]
    if requests:
        forget(env, requests)
    if problems := erase(env, sparing=workshop).problems:
        raise StoreBusyError(f"{problems[0]} ({env.path})", hint="Try again.")


def _is_empty(env: Environment) -> bool:
    with reading(env) as tx:
        return not any(map(tx.count, (*EVENTS, "memories", "tombstones")))


def _continue_counters(tx: Transaction, next_id: int, epoch: int) -> None:
    """Prevent reuse of ids, and have every index rebuilt: none was built from this store."""
    end(tx)
    tx.set_meta(NEXT_ID, max(tx.meta(NEXT_ID, 1), next_id))
    tx.set_meta(EPOCH, max(tx.meta(EPOCH, 0), epoch) + 1)
    for table in ("manifest", "changes"):
        tx.clear(table)
