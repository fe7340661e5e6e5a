"""Files with text of the memory that are being written outside its folder.

A killed backup or export leaves an unfinished file somewhere. So its path is noted in the store's
folder before its first byte is written, and the note is locked while the file is being written.
Opening the store for writing removes the files of dead writers, a forget those of all: a writer
whose file is gone reports that something was forgotten.
"""

import fcntl
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from slowcat_memory.errors import StoreError
from slowcat_memory.store.disk.folder import DRAFTS, append_whole, create, sync_dir
from slowcat_memory.store.sharing import is_locked
from slowcat_memory.store.snapshot import Snapshot

Snapshots = Callable[[], AbstractContextManager[Snapshot]]
ENDINGS = (".tmp", ".unfinished")  # what a note may name; nothing else is ever removed


@contextmanager
def noted(folder: Path, draft: Path) -> Iterator[None]:
    """Record a file that is about to be written, for the store in ``folder``.

    Without a note where the folder cannot be written to: there nothing can be forgotten either.
    """
    try:
        (folder / DRAFTS).mkdir(mode=0o700, exist_ok=True)
        note = folder / DRAFTS / uuid.uuid4().hex
        fd = create(note)
    except OSError:
        yield
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        append_whole(fd, os.fsencode(draft.absolute()))
        sync_dir(note.parent)
        yield
    finally:
        note.unlink(missing_ok=True)
        os.close(fd)


@contextmanager
def drafting(folder: Path, snapshots: Snapshots, draft: Path, to: Path) -> Iterator[None]:
    """Record a file that is written in the block, and give it its name at the end.

    It is deleted when the block fails.

    Raises:
        StoreError: Something was forgotten meanwhile, which the file could still have.
    """
    with noted(folder, draft):
        epoch, named = _epoch(snapshots), draft
        try:
            yield
            if _epoch(snapshots) == epoch:
                with suppress(FileNotFoundError):  # a forget has deleted it
                    named = draft.replace(to)
            if _epoch(snapshots) != epoch or named is draft:  # also between the two
                raise StoreError("something was forgotten meanwhile", hint="Do it again.")
        except BaseException:
            named.unlink(missing_ok=True)
            raise


def _epoch(snapshots: Snapshots) -> int:
    with snapshots() as snapshot:
        return snapshot.settled_epoch()


def remove_drafts(folder: Path, *, running: bool) -> list[Path]:
    """Remove the noted files; return those that are still there.

    ``running`` includes the files of writers that still run.
    """
    notes = sorted((folder / DRAFTS).glob("*"))
    return [left for note in notes if (left := _remove(note, running))]


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
