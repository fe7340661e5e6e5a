"""Erases: from the row that says what, to the last copy of its bytes.

Theory of operation. One transaction writes the row of the erasure (``rows.pending``), which hides
what is selected. The rows are deleted in slices, and then every copy of their bytes: sealed
indexes, backups, files of former stores, unfinished files, and free pages of the store's own file.
The row is deleted last. Whatever interrupts this, ``Erasure.finish`` continues; the next open for
writing calls it before anything is read. Every step may be repeated.

Selecting, copying and deleting files run on the caller's thread. The writer's thread only runs the
slices, and swaps the file.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import lmdb
from loguru import logger
from msgspec.structs import replace

from slowcat_memory.errors import StoreError, describe_error
from slowcat_memory.records import Forget, Forgotten, Manifest
from slowcat_memory.store.care import backups, copy
from slowcat_memory.store.care.backups import Erased
from slowcat_memory.store.care.copy import Run
from slowcat_memory.store.care.drafts import remove_drafts
from slowcat_memory.store.disk import unerased
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
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import Transaction, reading, transact
from slowcat_memory.store.rows import forget, pending
from slowcat_memory.store.rows.forget import Change
from slowcat_memory.store.rows.forget_select import Deletion, select
from slowcat_memory.store.rows.pending import Pending
from slowcat_memory.store.sharing import CONFIRM_S, unconfirmed

T = TypeVar("T")
OnHidden = Callable[[Forgotten], object]
READER = "a program reads the store and does not stop"


def run_here(change: Callable[[], T]) -> T:
    """Run on this thread: it owns the writes of an environment without a writer thread."""
    return change()


def _ignore(gone: Forgotten) -> None:
    pass


class Erasure:
    """Erases in one environment; one thread at a time."""

    def __init__(
        self, env: Environment, run: Run = run_here, on_deleted: Callable[[], object] = lambda: None
    ) -> None:
        """Connect the parts; ``on_deleted`` is called when no row is left."""
        self._env, self._run, self._on_deleted = env, run, on_deleted

    # ------------------------------------------------------------------- rows

    def forget(
        self,
        requests: Sequence[Forget],
        *,
        keep_backups: bool = False,
        on_hidden: OnHidden = _ignore,
    ) -> Forgotten:
        """Delete the rows that checked requests cover; the bytes are erased by ``finish``.

        ``on_hidden`` is called with the result once nothing of it is shown any more.

        Raises:
            StoreError: Nothing is deleted.
        """
        self._resume()
        gone = self._read(partial(forget.select, requests))
        if gone.is_empty():
            return gone.result()
        self._write(partial(forget.order, gone, requests, keep_backups))
        try:
            self._delete(gone, on_hidden)
        except (OSError, StoreError, lmdb.Error) as error:
            why = describe_error(error)
            logger.error("what is forgotten is hidden, but could not be deleted yet: {}", why)
        return gone.result()

    def _delete(self, gone: Deletion, on_hidden: OnHidden = _ignore) -> None:
        self._read(partial(forget.add_derived, gone))
        on_hidden(gone.result())
        for change in forget.slices(gone):
            self._write(change)
        pending.decode.cache_clear()
        self._on_deleted()

    def _resume(self) -> None:
        """Delete the rows that an interrupted erasure has left."""
        found = self.pending()
        if found is not None and not found.deleted:
            self._delete(self._read(lambda tx: select(found.requests, tx, found)))

    def pending(self) -> Pending | None:
        return self._read(forget.read_pending)

    def is_due(self) -> bool:
        """Return whether deleted text may still be somewhere: from a forget until it is erased."""
        return self._read(lambda tx: bool(tx.meta(ERASE_DUE, False)))

    def _read(self, read: Callable[[Transaction], T]) -> T:
        with reading(self._env) as tx:
            return read(tx)

    def _write(self, change: Change) -> None:
        self._run(partial(transact, self._env, change))

    # ------------------------------------------------------------------- bytes

    def finish(self, sparing: str = "") -> Erased:
        """Erase what is due: the rest of the rows, and every copy of the bytes.

        ``sparing`` names a workshop in the folder that is in use and needs no erasure. What cannot
        be erased now stays due.
        """
        if not self.is_due():
            return Erased()
        try:
            self._resume()
            erased = self._erase_copies(sparing)
            if not copy.rewrite(self._env, self._run):
                erased = replace(erased, problems=(*erased.problems, READER))
            epoch = self._read(lambda tx: int(tx.meta(EPOCH, 0)))
            generation = self._env.holding.name
            behind = unconfirmed(self._env.path, epoch, generation, CONFIRM_S)
            late = tuple(f"process {one.pid} ({one.program}) may still hold it" for one in behind)
            erased = replace(erased, problems=(*erased.problems, *late))
        except (OSError, StoreError, lmdb.Error) as error:
            erased = Erased(problems=(str(error),))
        if erased.problems:
            logger.error("deleted text could not be erased yet: {}", "; ".join(erased.problems))
        else:
            self._write(_forget_erasure)
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


def _forget_erasure(tx: Transaction) -> None:
    tx.drop("meta", pending.PENDING_KEY)
    tx.set_meta(ERASE_DUE, False)


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
        manifests = [tx.read(Manifest, "manifest", key) for key in tx.keys("manifest")]
    if not due:
        unerased.clear(env.folder)  # an order that was never committed
    kept = {
        index_folder(env.path, manifest.scope) / manifest.generation
        for manifest in manifests
        if manifest is not None and manifest.forget_epoch == epoch
    }
    for entry in (env.path / INDEX).glob("*/*"):
        if entry not in kept:
            remove(entry)
