"""Erases every copy of the bytes of deleted rows, and deletes from copies what is forgotten.

Theory of operation. The transaction that deletes rows (``store.forget``) records that their bytes are
to be erased. They may be in sealed indexes, backups, files of former stores, unfinished files, and
free pages of the store's own file. The record is deleted last: whatever interrupts this, the next
open for writing does it again before anything is read. Every step may be repeated.

Copying and deleting files run on the caller's thread; the writer's thread only swaps the file.
"""

from collections import defaultdict
from functools import partial
from itertools import chain
from pathlib import Path

import lmdb
from loguru import logger
from msgspec.structs import replace

from slowcat_memory.core.memory import turn_of
from slowcat_memory.errors import StoreError
from slowcat_memory.records import Forget, Forgotten, Manifest
from slowcat_memory.store.care import copy
from slowcat_memory.store.care.copy import backups_of, last_backup, remove_drafts
from slowcat_memory.store.disk import codec, folder
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import remove, sync_dir
from slowcat_memory.store.disk.state import clear_unerased
from slowcat_memory.store.disk.tables import CREATED, EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import Transaction, read_meta, reading, transact
from slowcat_memory.store.forget import end, forget, read_pending
from slowcat_memory.store.sharing import CONFIRM_S, unconfirmed

READER = "a program reads the store and does not stop"


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
    if pending is not None:
        files = (folder.index_folder(path, scope).glob("*") for scope in pending)
        indexes = [file for file in chain.from_iterable(files) if file not in kept]
    former = folder.entries(path, *folder.UNFINISHED, f"{folder.REPLACED}*")
    stuck = [entry for entry in (*indexes, *former) if entry != sparing and not remove(entry)]
    stuck += remove_drafts(path, running=True)
    done = erase_backups(path)
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


def erase_backups(path: Path) -> Forgotten:
    """Delete the backups in a store's folder; where theirs is a link, the files it leads to."""
    backups = path / folder.BACKUPS
    if not backups.is_dir():
        lost = f"{backups} leads to {backups.resolve()}, which is not there"
        return Forgotten(problems=(lost,) if backups.is_symlink() else ())
    is_ours = not backups.is_symlink()
    finished = [backup.file for backup in backups_of(path)]
    # Unfinished ones and, in a folder of our own, whatever else is in it.
    others = set(backups.iterdir() if is_ours else backups.glob("*.tmp")).difference(finished)
    stuck = [file for file in (*finished, *others) if not remove(file)]
    sync_dir(backups)
    if is_ours and not stuck:
        backups.rmdir()
    if last_backup(path) is None:
        (path / folder.LAST_BACKUP).unlink(missing_ok=True)
    return Forgotten(
        problems=tuple(f"{file} cannot be deleted" for file in stuck),
        backups_deleted=len(finished) - len(set(finished).intersection(stuck)),
    )


# ------------------------------------------------------------------- what a copy must not bring back
# Only the store knows what was forgotten since a copy was made: by the tombstones of turns and
# memories, and by the epoch marks of memories deleted without a name. When the store is damaged, the
# file beside it knows (``disk.state``).


def delete_forgotten(backup: Environment, tombstones: dict[bytes, bytes]) -> int:
    """Delete what has a tombstone, there or in a copy, from the copy.

    Returns how many turns and memories there were. The copy has all tombstones then.
    """
    tombstones = tombstones_of(backup) | tombstones
    requests = _requests(backup, tombstones)
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
    turns = tuple(codec.id_of(key) for key in tombstones if codec.is_turn_tombstone(key))
    memories: dict[str, set[str]] = defaultdict(set)
    with reading(backup) as tx:
        epoch = tx.meta(EPOCH, 0)
        for key in tx.keys("memories"):
            scope, rest = codec.split_scope(key)
            id = rest.decode()
            mark = codec.epoch_mark(scope, id)
            if codec.memory_tombstone(scope, id) in tombstones or (
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
