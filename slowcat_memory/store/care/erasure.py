"""Erases every copy of the bytes of deleted rows, and deletes from copies what is forgotten.

Theory of operation. The transaction that deletes rows (``store.forget``) records that their bytes are
to be erased. They may be in sealed indexes, backups, files of former stores, unfinished files, and
free pages of the store's own file. The record is deleted last: whatever interrupts this, the next
open for writing does it again before anything is read. Every step may be repeated.

Copying and deleting files run on the caller's thread; the writer's thread only swaps the file.
"""

import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path

import lmdb
from loguru import logger
from msgspec.structs import replace

from slowcat_memory.core.memory import turn_of
from slowcat_memory.errors import StoreError
from slowcat_memory.records import Forget, Forgotten, Manifest
from slowcat_memory.store.care import copy, health
from slowcat_memory.store.care.copy import backups_of, copy_file, last_backup, remove_drafts
from slowcat_memory.store.disk import codec, folder, keys
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import remove, sync_dir
from slowcat_memory.store.disk.state import clear_unerased
from slowcat_memory.store.disk.tables import CREATED, EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import Transaction, read_meta, reading, transact
from slowcat_memory.store.forget import Pending, end, forget, read_pending
from slowcat_memory.store.sharing import CONFIRM_S, unconfirmed

READER = "a program reads the store and does not stop"
REWRITING = "rewriting"  # where a backup is rewritten, beside it


def is_due(env: Environment) -> bool:
    """Return whether deleted text may still be somewhere: from a forget until it is erased."""
    return bool(read_meta(env, ERASE_DUE, False))


def erase(env: Environment, sparing: Path | None = None) -> Forgotten:
    """Erase every copy of the bytes that are due; return what became of the copies.

    ``sparing`` is a copy that is being made and needs no erasure. What cannot be erased now stays
    due.
    """
    remains = tuple(map(str, sorted(folder.damaged_folders(env.path))))
    if not is_due(env):
        return Forgotten(erased=not remains, remains=remains)
    try:
        done = _erase_copies(env, sparing)
        problems = [*done.problems]
        if not copy.rewrite(env):
            problems.append(READER)
        epoch = read_meta(env, EPOCH, 0)
        for process in unconfirmed(env.path, epoch, env.holding.name, CONFIRM_S):
            problems.append(f"process {process.pid} ({process.program}) may still hold it")
    except (OSError, StoreError, lmdb.Error) as error:
        done, problems = Forgotten(), [str(error)]
    if problems:
        logger.error("deleted text could not be erased yet: {}", "; ".join(problems))
    else:
        env.run(partial(transact, env, end))
    is_gone = not (problems or remains)
    return replace(done, erased=is_gone, problems=tuple(problems), remains=remains)


def _erase_copies(env: Environment, sparing: Path | None) -> Forgotten:
    """Delete every older copy in the folder, but those of damaged stores.

    They are older than the forget. Backups elsewhere are out of reach.
    """
    path = env.path
    with reading(env) as tx:
        pending, kept = read_pending(tx), _built_since(path, tx)
    indexes = [path / folder.INDEX]
    if pending:
        files = (folder.index_folder(path, scope).glob("*") for scope in pending.scopes)
        indexes = [file for file in chain.from_iterable(files) if file not in kept]
    former = folder.entries(path, *folder.UNFINISHED, f"{folder.REPLACED}*")
    stuck = [entry for entry in (*indexes, *former) if entry != sparing and not remove(entry)]
    stuck += remove_drafts(path, running=True)
    done = erase_backups(env, pending)
    sync_dir(path)
    problems = tuple(f"{entry} cannot be deleted" for entry in stuck)
    return replace(done, problems=problems + done.problems)


def sweep(env: Environment) -> None:
    """Delete the files that a killed process has left, before a store is used.

    These are unfinished files elsewhere, and index files that no manifest names: a build that ended
    after a forget may have the old text.
    """
    remove_drafts(env.path, running=False)
    with reading(env) as tx:
        due, kept = tx.meta(ERASE_DUE, False), _built_since(env.path, tx)
    if not due:
        clear_unerased(env.folder)  # of a forget that was never committed
    for entry in (env.path / folder.INDEX).glob("*/*"):
        if entry not in kept:
            remove(entry)


def _built_since(path: Path, tx: Transaction) -> set[Path]:
    """Return the folders of the sealed indexes that have nothing of what is forgotten."""
    epoch = tx.meta(EPOCH, 0)
    return {
        folder.index_folder(path, manifest.scope) / manifest.generation
        for manifest in tx.records(Manifest, "manifest")
        if manifest.forget_epoch == epoch
    }


# ------------------------------------------------------------------- backups


def erase_backups(env: Environment, pending: Pending | None) -> Forgotten:
    """Delete the backups in a store's folder, or rewrite them where that was asked for.

    Where their folder is a link, the files that it leads to are meant. A backup that cannot be
    rewritten, because it is damaged or of another format, is deleted.
    """
    backups, keep = env.path / folder.BACKUPS, pending if pending and pending.keep_backups else None
    if not backups.is_dir():
        lost = f"{backups} leads to {backups.resolve()}, which is not there"
        return Forgotten(problems=(lost,) if backups.is_symlink() else ())
    remove(backups / REWRITING)
    rewritten, doomed = 0, []
    for backup in backups_of(env.path):
        if keep and _rewrite(env, backup.file.resolve(), keep):
            rewritten += 1
        else:
            doomed.append(backup.file)
    gone = [file for file in doomed if remove(file)]
    problems = [f"{file} cannot be deleted" for file in doomed if file not in gone]
    problems += _remove_others(backups)
    if last_backup(env.path) is None:
        (env.path / folder.LAST_BACKUP).unlink(missing_ok=True)
    return Forgotten(
        problems=tuple(problems), backups_deleted=len(gone), backups_rewritten=rewritten
    )


def _remove_others(backups: Path) -> list[str]:
    """Delete unfinished backups and, in a folder of our own, whatever else is in it."""
    others = backups.glob("*.tmp") if backups.is_symlink() else backups.iterdir()
    stuck = [file for file in others if file.suffix != ".mdb" and not remove(file)]
    sync_dir(backups)
    if not backups.is_symlink() and not any(backups.iterdir()):
        backups.rmdir()
    return [f"{file} cannot be deleted" for file in stuck]


def _rewrite(env: Environment, file: Path, pending: Pending) -> bool:
    """Replace a backup by a copy without what is forgotten, in one rename.

    Returns False when that is impossible; the backup is as before then.
    """
    if not health.is_usable(file):
        return False
    workshop = file.parent / REWRITING
    remove(workshop)
    workshop.mkdir(mode=0o700)
    try:
        copy_file(file, workshop / folder.DATA)
        with closing(Environment(workshop)) as backup:
            if not _forget_in(backup, env, pending):
                return False
        if not health.is_whole(folder.data_file(workshop)):
            return False
        os.replace(folder.data_file(workshop), file)
        sync_dir(file.parent)
        return True
    finally:
        remove(workshop)


def _forget_in(backup: Environment, env: Environment, pending: Pending) -> bool:
    """Delete from a copy of a backup what is forgotten; return False if it is of another memory."""
    if created(backup) != created(env):
        return False
    delete_forgotten(backup, tombstones_of(env), pending.requests)
    epoch = read_meta(env, EPOCH, 0)

    def mark(tx: Transaction) -> None:
        end(tx)
        tx.set_meta(EPOCH, epoch)

    transact(backup, mark)
    return copy.rewrite(backup)


# ------------------------------------------------------------------- what a copy must not bring back
# Only the store knows what was forgotten since a copy was made: by the tombstones of turns and
# memories, and by the epoch marks of memories deleted without a name. When the store is damaged, the
# file beside it knows (``disk.state``).


def delete_forgotten(
    backup: Environment, tombstones: dict[bytes, bytes], more: Sequence[Forget] = ()
) -> int:
    """Delete what has a tombstone, there or in a copy, and what ``more`` covers, from the copy.

    Returns how many turns and memories there were. The copy has all tombstones then.
    """
    tombstones = tombstones_of(backup) | tombstones
    requests = [*_requests(backup, tombstones), *more]
    gone = forget(backup, requests) if requests else Forgotten()
    transact(backup, partial(_set_tombstones, tombstones))
    return len(gone.turns) + sum(not turn_of(id) for _, id in gone.memories)


def created(env: Environment) -> str:
    """Return when a store was created. It identifies the memory: all copies keep it."""
    return str(read_meta(env, CREATED, ""))


def tombstones_of(env: Environment) -> dict[bytes, bytes]:
    with reading(env) as tx:
        return dict(tx.rows("tombstones"))


def _requests(backup: Environment, tombstones: dict[bytes, bytes]) -> list[Forget]:
    """Return the requests that delete everything these tombstones and epoch marks name."""
    turns = tuple(keys.id_of(key) for key in tombstones if keys.is_turn_tombstone(key))
    memories: dict[str, set[str]] = defaultdict(set)
    with reading(backup) as tx:
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
    tx.clear("tombstones")
    tx.merge({"tombstones": dict(tombstones)})
