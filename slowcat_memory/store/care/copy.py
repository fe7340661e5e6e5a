"""Copies of a store's file, row by row, here or elsewhere, and the swap of one without deleted text.

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
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import lmdb
from msgspec import Struct

from slowcat_memory.errors import StoreError
from slowcat_memory.store.disk import folder
from slowcat_memory.store.disk.environment import Environment, pages_of
from slowcat_memory.store.disk.transaction import (
    copy_and_swap,
    copy_out,
    open_alone,
    reading,
    transact,
    writing,
)
from slowcat_memory.store.sharing import is_locked
from slowcat_memory.store.snapshot import Snapshot

WORTH_SHRINKING = 1 / 5  # of the file, that a copy would save
ROW_BYTES = 10  # of a page, for each row, besides key and value
FULL = 0.9  # share of a copy's pages that rows fill
COPIES = 3  # made beside the writers, before one is made under their lock
NUMBERED = re.compile(r"(\d{6,})-")
STAMP = re.compile(r"(\d{8}T\d{6})\.\d+Z")
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
    without = 0
    if env.outbox is not None:
        without = env.outbox.sent  # before: the shipper goes on
        env.run(partial(transact, env, env.outbox.trim))
    for _ in range(COPIES):
        copied = env.env
        with folder.fresh_folder(env.path) as fresh:
            last = copy_out(env, fresh / folder.DATA)
            if env.run(partial(_swap, env, fresh, copied, last)):
                break
    else:
        env.run(partial(copy_and_swap, env))
    if env.outbox is not None:
        env.outbox.note_rewritten(without)
    return env.wait_for_readers(READER_TIMEOUT_S)


def _swap(env: Environment, fresh: Path, copied: lmdb.Environment, last: int) -> bool:
    """Swap in a copy if nothing was committed behind transaction ``last``; return whether it is."""
    with writing(env) as number:
        if env.env is not copied or number != last + 1:
            return False
        env.swap(fresh)
    return True


def shrink(env: Environment) -> bool:
    """Swap in a copy when it would be much smaller: without free pages, and with full ones.

    Returns False when it would not, or a reader kept the file open.

    Raises:
        StoreError: The copy could not be made; the file is as before.
    """
    return _saved_share(env) > WORTH_SHRINKING and rewrite(env)


def _saved_share(env: Environment) -> float:
    """Return the share of the file that a copy would save. Reads all vectors: 0.1 s for 200,000.

    Their rows, the most, fill pages to two thirds where several namespaces grow at once.
    """
    with reading(env) as tx:
        pages: float = sum(pages_of(tx.stat(table)) for table in tx.tables())
        held = tx.stat("vectors")
        used = sum(len(key) + len(value) + ROW_BYTES for key, value in tx.rows("vectors"))
    if used:
        needed = used / (FULL * held["psize"])
        pages -= max(0.0, held["leaf_pages"] + held["overflow_pages"] - needed)
    return float(1.0 - pages / (env.env.info()["last_pgno"] + 1))


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
    number, stamp = NUMBERED.match(file.name), STAMP.search(file.name)
    if stamp:
        at = datetime.strptime(stamp[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    else:
        at = datetime.fromtimestamp(file.lstat().st_mtime, UTC)
    return Backup(file, int(number[1]) if number else 0, at)


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
