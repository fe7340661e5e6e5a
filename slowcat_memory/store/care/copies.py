"""Copies of a store's bytes: made, found, erased, and kept from bringing back what is forgotten.

LMDB never overwrites: a deleted text stays in a free page until the page is used again. Its own
compaction does not remove it either: LMDB reuses page buffers without clearing them, so that
fragments of one record remain in the unused end of another's last page, and pages are copied whole.
So a copy here is made row by row, into an environment of its own.
"""

import fcntl
import os
import re
import shutil
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp

import lmdb
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import turn_of
from slowcat_memory.errors import StoreError
from slowcat_memory.records import Forget, Forgotten, Manifest
from slowcat_memory.store.disk import codec, folder
from slowcat_memory.store.disk.environment import Environment, pages_of
from slowcat_memory.store.disk.folder import clear_unerased, remove, sync_dir
from slowcat_memory.store.disk.tables import EPOCH, ERASE_DUE
from slowcat_memory.store.disk.transaction import (
    Transaction,
    copy_and_swap,
    copy_out,
    drop_sent,
    open_alone,
    read_meta,
    reading,
    transact,
    writing,
)
from slowcat_memory.store.forget import end, forget, read_pending
from slowcat_memory.store.sharing import CONFIRM_S, is_locked, unconfirmed
from slowcat_memory.store.snapshot import Snapshot

WORTH_SHRINKING = 1 / 5  # of the file, that a copy would save
COPIES = 3  # made beside the writers, before one is made under their lock
BACKUP_NAME = re.compile(r"(\d{6,})-(\d{8}T\d{6})\.\d+Z\.mdb")
READER_TIMEOUT_S = 5.0  # how long a rewrite waits for who still reads the former file


def count_rows(file: Path, table: str = "log") -> int:
    """Return the number of rows of a table in an undamaged file without a writer."""
    with open_alone(file, readonly=True) as env:
        try:
            db = env.open_db(table.encode(), create=False)
        except lmdb.NotFoundError:
            return 0
        with env.begin() as txn:
            return int(txn.stat(db)["entries"])


def backup_name(now: datetime) -> str:
    """Return the name, without an ending, of something made now."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}"


def copy_file(source: Path, to: Path) -> None:
    """Copy a file that nobody writes to a new one, 0600."""
    os.close(folder.create(to))
    shutil.copyfile(source, to)


def put_aside(path: Path, name: str, now: datetime) -> Path:
    """Link a store's file into a folder of its own: a rename that follows unlinks it here."""
    aside = Path(mkdtemp(prefix=f"{name}{backup_name(now)}.", dir=path))
    try:
        os.link(folder.data_file(path), aside / folder.DATA)
    except OSError:  # a file system without links
        copy_file(folder.data_file(path), aside / folder.DATA)
    folder.sync_dir(aside)
    folder.sync_dir(path)  # before the switch: its only other name is in the new folder
    return aside


def rewrite(env: Environment) -> bool:
    """Swap in a fresh file that has the rows and nothing else.

    The rows are copied on this thread, beside the writers. A copy in which something is missing
    that was committed meanwhile is thrown away; the last one is made under the write lock.
    Returns False when a reader stayed inside.

    Raises:
        StoreError: The copy could not be made; the file is as before.
        OSError: Likewise.
    """
    if env.outbox is not None:
        env.run(partial(transact, env, partial(drop_sent, env.outbox.sent)))
    for _ in range(COPIES):
        copied = env.env
        with folder.fresh_folder(env.path) as fresh:
            last = copy_out(env, fresh / folder.DATA)
            if env.run(partial(_swap, env, fresh, copied, last)):
                break
    else:
        env.run(partial(copy_and_swap, env))
    return env.wait_for_readers(READER_TIMEOUT_S)


def _swap(env: Environment, fresh: Path, copied: lmdb.Environment, last: int) -> bool:
    """Swap in a copy if nothing was committed behind transaction ``last``; return whether it is."""
    with writing(env) as number:
        if env.env is not copied or number != last + 1:
            return False
        env.swap(fresh)
    return True


def shrink(env: Environment) -> bool:
    """Swap in a copy when it would be much smaller: without free pages.

    Returns False when it would not, or a reader kept the file open.

    Raises:
        StoreError: The copy could not be made; the file is as before.
    """
    with reading(env) as tx:
        pages = sum(pages_of(tx.stat(table)) for table in tx.tables())
    saved = 1 - pages / (int(env.env.info()["last_pgno"]) + 1)  # its free pages
    return saved > WORTH_SHRINKING and rewrite(env)


# ------------------------------------------------------------------- backups that are there
# A counter in their names orders them, never the time: a clock may have been wrong.


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
    backups = [_described(file) for file in (path / folder.BACKUPS).glob("*.mdb")]
    return sorted(backups, key=lambda backup: (backup.number, backup.file.name))


def _described(file: Path) -> Backup:
    if name := BACKUP_NAME.fullmatch(file.name):
        at = datetime.strptime(name[2], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        return Backup(file, int(name[1]), at)
    return Backup(file, 0, datetime.fromtimestamp(file.lstat().st_mtime, UTC))


def last_backup(path: Path) -> tuple[datetime, Path] | None:
    """Return time and file of the latest backup of a store's folder, if it still exists."""
    try:
        at, _, file = (path / folder.LAST_BACKUP).read_text().partition(" ")
        return (datetime.fromisoformat(at), Path(file)) if Path(file).is_file() else None
    except (OSError, ValueError):
        return None


# ------------------------------------------------------------------- files outside the folder
# A killed backup or export leaves an unfinished file somewhere. So its path is noted in the store's
# folder before its first byte is written, and the note is locked while the file is being written.
# Opening the store for writing removes the files of dead writers, a forget those of all: a writer
# whose file is gone reports that something was forgotten.

Snapshots = Callable[[], AbstractContextManager[Snapshot]]
ENDINGS = (".tmp", ".unfinished")  # what a note may name; nothing else is ever removed


@contextmanager
def noted(path: Path, draft: Path) -> Iterator[None]:
    """Record a file that is about to be written, for the store in ``path``.

    Without a note where the folder cannot be written to: there nothing can be forgotten either.
    """
    try:
        (path / folder.DRAFTS).mkdir(mode=0o700, exist_ok=True)
        note = path / folder.DRAFTS / uuid.uuid4().hex
        fd = folder.create(note)
    except OSError:
        yield
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        folder.append_whole(fd, os.fsencode(draft.absolute()))
        folder.sync_dir(note.parent)
        yield
    finally:
        note.unlink(missing_ok=True)
        os.close(fd)


@contextmanager
def drafting(path: Path, snapshots: Snapshots, draft: Path, to: Path) -> Iterator[None]:
    """Record a file that is written in the block, and give it its name at the end.

    It is deleted when the block fails.

    Raises:
        StoreError: Something was forgotten meanwhile, which the file could still have.
    """
    with noted(path, draft):
        epoch, named = _epoch(snapshots), draft
        with folder.or_undo(lambda: named.unlink(missing_ok=True)):
            yield
            if _epoch(snapshots) == epoch:
                with suppress(FileNotFoundError):  # a forget has deleted it
                    named = draft.replace(to)
            if _epoch(snapshots) != epoch or named is draft:  # also between the two
                raise StoreError("something was forgotten meanwhile", hint="Do it again.")


def _epoch(snapshots: Snapshots) -> int:
    with snapshots() as snapshot:
        return snapshot.forget_epoch()


def remove_drafts(path: Path, *, running: bool) -> list[Path]:
    """Remove the noted files; return those that are still there.

    ``running`` includes the files of writers that still run.
    """
    notes = sorted((path / folder.DRAFTS).glob("*"))
    return [file for note in notes if (file := _remove(note, running))]


def _remove(note: Path, running: bool) -> Path | None:
    """Remove the file of a note, and the note of a dead writer.

    A living writer keeps its note: it may be about to create the file, which the next forget, or
    the next opening after a kill, must find.
    """
    try:
        alive = is_locked(note)
        if alive and not running:
            return None
        draft = Path(os.fsdecode(note.read_bytes()))
    except OSError:
        return None  # its writer has just finished
    try:
        if draft.suffix in ENDINGS and draft.is_absolute():
            draft.unlink(missing_ok=True)
    except OSError:
        return draft
    if not alive:
        note.unlink(missing_ok=True)
    return None


# ------------------------------------------------------------------- erasing
# The transaction that deletes rows (``store.forget``) records that their bytes are to be erased. They
# may be in sealed indexes, backups, files of former stores, unfinished files, and free pages of the
# store's own file. The record is deleted last: whatever interrupts this, the next open for writing
# does it again before anything is read. Every step may be repeated. Copying and deleting files run on
# the caller's thread; the writer's thread only swaps the file.

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
        if not rewrite(env):
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
        clear_unerased(env.folder)
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
# file beside it knows (``disk.folder``).


def delete_forgotten(backup: Environment, tombstones: dict[bytes, bytes]) -> int:
    """Delete what has a tombstone, there or in a copy, from the copy.

    Returns how many turns and memories there were. The copy has all tombstones then.
    """
    tombstones = tombstones_of(backup) | tombstones
    requests = _requests(backup, tombstones)
    gone = forget(backup, requests) if requests else Forgotten()
    transact(backup, partial(_set_tombstones, tombstones))
    return len(gone.turns) + sum(not turn_of(id) for _, id in gone.memories)


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
