"""Erases: from the row that says what, to the last copy of its bytes.

Theory of operation. One transaction writes the row of the erasure (``rows.pending``), which hides
what is selected. The rows are deleted in slices, and then every copy of their bytes: sealed
indexes, backups, files of former stores, unfinished files, and free pages of the store's own file.
The row is deleted last. Whatever interrupts this, ``Erasure.finish`` continues; the next open for
writing calls it before anything is read. Every step may be repeated.

Selecting, copying and deleting files run on the caller's thread. The writer's thread only runs the
slices, and swaps the file.
"""

from pathlib import Path

import lmdb
from loguru import logger
from msgspec.structs import replace

from slowcat_memory.errors import StoreError
from slowcat_memory.records import Forgotten, Manifest
from slowcat_memory.store.care import backups, copy
from slowcat_memory.store.care.backups import Erased
from slowcat_memory.store.care.copy import remove_drafts
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.folder import (
    DOOMED,
    FRESH,
    INDEX,
    REPLACED,
    REPLAYING,
    RESTORING,
    SALVAGING,
    damaged_folders,
    index_folder,
    remove,
    sync_dir,
)
from slowcat_memory.store.disk.state import clear_unerased
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import reading
from slowcat_memory.store.rows.forget import Forgetting, end
from slowcat_memory.store.sharing import CONFIRM_S, unconfirmed

READER = "a program reads the store and does not stop"


class Erasure(Forgetting):
    """Erases in one environment; one thread at a time."""

    def finish(self, sparing: str = "") -> Erased:
        """Erase what is due: the rest of the rows, and every copy of the bytes.

        ``sparing`` names a workshop in the folder that is in use and needs no erasure. What cannot
        be erased now stays due.
        """
        if not self.is_due():
            return Erased()
        try:
            self.resume()
            erased = self._erase_copies(sparing)
            problems = [*erased.problems]
            if not copy.rewrite(self._env, self._run):
                problems.append(READER)
            epoch = self._read(lambda tx: int(tx.meta(EPOCH, 0)))
            for one in unconfirmed(self._env.path, epoch, self._env.holding.name, CONFIRM_S):
                problems.append(f"process {one.pid} ({one.program}) may still hold it")
            erased = replace(erased, problems=tuple(problems))
        except (OSError, StoreError, lmdb.Error) as error:
            erased = Erased(problems=(str(error),))
        if erased.problems:
            logger.error("deleted text could not be erased yet: {}", "; ".join(erased.problems))
        else:
            self._write(end)
        return erased

    def _erase_copies(self, sparing: str) -> Erased:
        """Delete every older copy in the folder, but those of damaged stores.

        They are older than the forget. Backups elsewhere are out of reach.
        """
        path, found = self._env.path, self.pending()
        unfinished = (path / name for name in (REPLAYING, RESTORING, SALVAGING) if name != sparing)
        indexes = [index_folder(path, scope) for scope in found.scopes] if found else [path / INDEX]
        former = (entry for name in (REPLACED, DOOMED, FRESH) for entry in path.glob(f"{name}*"))
        left = [entry for entry in (*indexes, *unfinished, *former) if not remove(entry)]
        left += remove_drafts(path, running=True)
        done = backups.erase(self._env, found)
        sync_dir(path)
        problems = tuple(f"{entry} cannot be deleted" for entry in left)
        return replace(done, problems=problems + done.problems)


def finished(gone: Forgotten, erased: Erased, path: Path) -> Forgotten:
    """Add to a result what became of the copies."""
    remains = tuple(map(str, sorted(damaged_folders(path))))
    return replace(
        gone,
        erased=not erased.problems and not remains,
        backups_deleted=erased.backups_deleted,
        backups_rewritten=erased.backups_rewritten,
        problems=erased.problems,
        remains=remains,
    )


def sweep(env: Environment) -> None:
    """Delete the files that a killed process has left, before a store is used.

    These are unfinished files elsewhere, and index files that no manifest names: a build that ended
    after a forget may have the old text.
    """
    remove_drafts(env.path, running=False)
    for doomed in env.path.glob(f"{DOOMED}*"):
        remove(doomed)
    with reading(env) as tx:
        epoch, due = tx.meta(EPOCH, 0), tx.meta(ERASE_DUE, False)
        manifests = list(tx.records(Manifest, "manifest"))
    if not due:
        clear_unerased(env.folder)  # an order that was never committed
    kept = {
        index_folder(env.path, manifest.scope) / manifest.generation
        for manifest in manifests
        if manifest.forget_epoch == epoch
    }
    for entry in (env.path / INDEX).glob("*/*"):
        if entry not in kept:
            remove(entry)
