"""The files of an import: a file, a folder's, or a zip archive's, nested as they may be.

Nothing is unpacked to disk under a name from an archive. An archive that claims more than it may
hold, or names files outside itself, is refused whole.
"""

import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO

from msgspec import Struct

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.formats import refuse
from slowcat_memory.transfer.formats.refused import OFFICE

ZIP = b"PK\x03\x04"
MOST_FILES = 20_000  # of a folder or an archive
MOST_BYTES = 4_000_000_000  # of an archive, unpacked
MOST_RATIO = 400  # how much longer than packed a large file of an archive may be
LARGE = 10_000_000  # bytes from which the ratio counts
DEEPEST = 3  # archives in archives
IN_MEMORY = 16_000_000  # bytes of a nested archive that are kept in memory

Opener = Callable[[], AbstractContextManager[IO[bytes]]]
OnSkip = Callable[[TranscriptError], None]


class Source(Struct, frozen=True, kw_only=True):
    """One file, which can be opened several times."""

    name: str  # for a person, with its archive's name
    changed: datetime  # when it was last changed, as far as is known
    open: Opener
    alone: bool = True  # whether the user named this file, and not a folder or an archive


def sources(path: Path, report: OnSkip) -> Iterator[Source]:
    """Yield the files that a path stands for, in the order of their names.

    Args:
        path: A file, a folder or a zip archive.
        report: Called with an error for each archive in a folder that cannot be read.

    Raises:
        TranscriptError: It does not exist, cannot be read, or is an archive that is refused.
    """
    if not path.is_dir():
        yield from _of_file(path, str(path), alone=True)
        return
    files = [file for file in sorted(path.rglob("*")) if _is_plain(file, path)]
    if len(files) > MOST_FILES:
        raise TranscriptError(f"{path} contains more than {MOST_FILES:,} files")
    for file in files:
        try:
            yield from _of_file(file, str(file.relative_to(path)), alone=False)
        except TranscriptError as error:
            report(error)


def _is_plain(file: Path, folder: Path) -> bool:
    """Return whether a folder's file is one to read: no link, and nothing hidden."""
    hidden = any(part.startswith((".", "__MACOSX")) for part in file.relative_to(folder).parts)
    return not hidden and not file.is_symlink() and file.is_file()


def _of_file(path: Path, name: str, *, alone: bool) -> Iterator[Source]:
    def open_file() -> IO[bytes]:
        return path.open("rb")

    try:
        mode = path.stat()
        if not stat.S_ISREG(mode.st_mode):
            raise TranscriptError(f"cannot read {name}: it is no file and no folder")
        with open_file() as file:
            is_zip = file.read(4) == ZIP
    except OSError as error:
        raise TranscriptError(f"cannot read {name}: {error.strerror or error}") from error
    changed = datetime.fromtimestamp(mode.st_mtime, UTC)
    if is_zip:
        yield from _of_zip(open_file, name, 1)
    else:
        yield Source(name=name, changed=changed, open=open_file, alone=alone)


def _of_zip(open_: Opener, name: str, depth: int) -> Iterator[Source]:
    if depth > DEEPEST:
        raise TranscriptError(f"{name} is an archive in {DEEPEST} archives", hint="Unpack it.")
    try:
        with open_() as file, zipfile.ZipFile(file) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            _check(name, archive, members)
            for member in sorted(members, key=lambda one: one.filename):
                if not _is_hidden(member.filename):
                    yield from _of_member(open_, name, member, depth)
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise TranscriptError(f"{name} is damaged: {error}") from error


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def _check(name: str, archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> None:
    """Refuse an archive that is none of chats, a bomb, locked, or names files outside itself."""
    if "[Content_Types].xml" in archive.namelist():
        raise refuse(name, OFFICE)
    for member in members:
        place = PurePosixPath(member.filename.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or not place.parts or ":" in place.parts[0]:
            raise TranscriptError(f"{name} names a file outside itself: {member.filename[:80]!r}")
        if member.flag_bits & 1:
            raise TranscriptError(f"{name} has a password", hint="Unpack it first.")
        swollen = member.file_size > MOST_RATIO * max(1, member.compress_size)
        if swollen and member.file_size > LARGE:
            raise TranscriptError(f"{name} is a zip bomb: {member.filename[:80]!r} is too large")
    total = sum(member.file_size for member in members)
    if total > MOST_BYTES or len(members) > MOST_FILES:
        raise TranscriptError(
            f"{name} is too large: {len(members):,} files of {total / 1e9:.1f} GB in all",
            hint="Unpack it, and import the files that hold the chats.",
        )


def _of_member(open_: Opener, name: str, member: zipfile.ZipInfo, depth: int) -> Iterator[Source]:
    @contextmanager
    def open_member() -> Iterator[IO[bytes]]:
        with open_() as file, zipfile.ZipFile(file) as archive, archive.open(member) as inside:
            yield inside

    @contextmanager
    def open_copy() -> Iterator[IO[bytes]]:
        """Open a copy, for an archive is read from its end."""
        with open_member() as inside, tempfile.SpooledTemporaryFile(IN_MEMORY) as copy:
            while part := inside.read(1_000_000):
                copy.write(part)
            copy.seek(0)
            yield copy

    full = f"{name}/{member.filename}"
    try:
        with open_member() as inside:
            is_zip = inside.read(4) == ZIP
    except (zlib.error, EOFError):  # damaged: its reader says so, and the others are read
        is_zip = False
    if is_zip:
        yield from _of_zip(open_copy, full, depth + 1)
    else:
        yield Source(name=full, changed=_changed(member), open=open_member, alone=False)


def _changed(member: zipfile.ZipInfo) -> datetime:
    try:
        return datetime(*member.date_time, tzinfo=UTC)
    except ValueError:  # an archive without dates
        return datetime(1980, 1, 1, tzinfo=UTC)
