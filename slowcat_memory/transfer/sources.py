"""The files of an import: a file, a folder's, or a zip archive's, nested as they may be.

Nothing is unpacked to disk. What reading a path may cost is limited as a whole: archives in
archives, compressed files and their padding count once they are unpacked.
"""

import codecs
import gzip
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import BufferedReader, BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

import zstandard
from msgspec import Struct

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.formats import HINT, NotATranscriptError
from slowcat_memory.transfer.transcript import Report, fault

MOST_BYTES, MOST_S = 100_000_000, 60  # of what one path stands for, unpacked
DEEPEST = 3  # archives in archives
UTF8 = "utf-8"
ZIP, GZIP, ZSTD = b"PK\x03\x04", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BROKEN = (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error,
          zstandard.ZstdError)  # fmt: skip
START, PART = 4096, 1_000_000  # bytes of a file's first read, which tells text, and of others
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b\x00")  # a few NULs are accepted


class SupportsRead(Protocol):
    """A file as far as it is needed here; a decompressor's is no whole ``IO``."""

    def read(self, size: int, /) -> bytes: ...
    def read1(self, size: int, /) -> bytes: ...


class TooMuchError(TranscriptError):
    """A path stands for more than may be read of one."""


class Limits:
    """How many bytes and seconds are left for a path."""

    def __init__(self, path: Path) -> None:
        self._path, self._bytes, self._end = path, MOST_BYTES, time.monotonic() + MOST_S

    def spend(self, size: int = 0) -> None:
        """Count bytes that were read.

        Raises:
            TooMuchError: They are too many, or the time is over.
        """
        self._bytes -= size
        hint = "Import its files one by one, and a long chat in parts."
        if self._bytes < 0:
            most = f"{MOST_BYTES // 10**6} MB"
            raise TooMuchError(f"{self._path} is more than {most} when it is unpacked", hint=hint)
        if time.monotonic() > self._end:
            raise TooMuchError(f"{self._path} takes longer than {MOST_S} s to read", hint=hint)

    def parts(self, file: SupportsRead) -> Iterator[bytes]:
        """Yield a file part by part, first a few bytes; before it breaks off, all there is."""
        part = file.read(START)
        while part:
            self.spend(len(part))
            yield part
            part = file.read1(PART)


class Source(Struct, frozen=True, kw_only=True):
    """One file; it can be opened until the next is asked for."""

    name: str  # for a person, with its archive's name
    changed: datetime  # when it was last changed, as far as is known
    open: Callable[[], IO[bytes]]
    limits: Limits
    alone: bool = True  # whether the user named this file, and not a folder or an archive


def sources(path: Path, report: Report) -> Iterator[Source]:
    """Yield the files that a path stands for, in the order of their names.

    Args:
        path: A file, a folder or a zip archive.
        report: Called with an error for each archive in another or in a folder, that cannot be read.

    Raises:
        TranscriptError: It does not exist, cannot be read, or is too much.
    """
    limits = Limits(path)
    if not path.is_dir():
        yield from _of_file(path, str(path), limits, True, report)
        return
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path)
        if not _is_hidden(name) and not file.is_symlink() and file.is_file():
            try:
                yield from _of_file(file, str(name), limits, False, report)
            except TooMuchError:
                raise
            except TranscriptError as error:
                report(error)


def _is_hidden(name: Path | PurePosixPath) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.parts)


def _of_file(
    path: Path, name: str, limits: Limits, alone: bool, report: Report
) -> Iterator[Source]:
    try:
        if path.exists() and not path.is_file():
            raise TranscriptError(f"cannot read {name}: it is no file and no folder")
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        with path.open("rb") as file:
            is_zip = file.read(4) == ZIP
            file.seek(0)
            if is_zip:
                yield from _of_zip(file, name, limits, 1, report)
                return
    except OSError as error:
        raise TranscriptError(f"cannot read {name}: {error.strerror or error}") from error
    yield Source(
        name=name, changed=changed, open=lambda: path.open("rb"), limits=limits, alone=alone
    )


def _of_zip(
    file: IO[bytes], name: str, limits: Limits, depth: int, report: Report
) -> Iterator[Source]:
    if depth > DEEPEST:
        raise TranscriptError(f"{name} is an archive in {DEEPEST} archives", hint="Unpack it.")
    try:
        archive = zipfile.ZipFile(file)
    except BROKEN as error:
        raise TranscriptError(f"{name} is damaged: {error}") from error
    for member in sorted(archive.infolist(), key=lambda one: one.filename):
        limits.spend()
        if member.is_dir() or _is_hidden(PurePosixPath(member.filename)):
            continue
        full = f"{name}/{member.filename}"
        try:
            with BufferedReader(archive.open(member)) as inside:  # type: ignore[type-var]
                start = inside.read(4)
                if start == ZIP:
                    unpacked = BytesIO(start + b"".join(limits.parts(inside)))
                    yield from _of_zip(unpacked, full, limits, depth + 1, report)
        except TooMuchError:
            raise
        except TranscriptError as error:
            report(error)
        except BROKEN as error:
            report(TranscriptError(f"{full} is damaged: {error}", hint="Unpack the archive."))
        else:
            if start != ZIP:
                yield Source(
                    name=full,
                    changed=_changed(member),
                    open=lambda member=member: archive.open(member),  # type: ignore[misc]  # mypy
                    limits=limits,
                    alone=False,
                )


def _changed(member: zipfile.ZipInfo) -> datetime:
    try:
        return datetime(*member.date_time, tzinfo=UTC)
    except ValueError:  # an archive without dates
        return datetime(1980, 1, 1, tzinfo=UTC)


def content_of(source: Source, report: Report) -> tuple[bytes, str]:
    """Return the text of a file, unpacked and in UTF-8, and how it was encoded.

    Args:
        source: The file.
        report: Called with an error where a compressed file ends too soon; the rest is read.

    Raises:
        TranscriptError: It is damaged, empty, no text, too much, or its encoding is unknown.
    """
    name, limits, content, encoding = source.name, source.limits, bytearray(), UTF8
    try:
        with source.open() as file:
            for part in limits.parts(_unpacked(BufferedReader(file, PART))):  # type: ignore[arg-type]  # any reader
                if not content:
                    encoding = _encoding(name, part)
                content += part
    except BROKEN as error:
        if not content:
            raise TranscriptError(f"{name} is damaged: {error}") from error
        report(fault(content.count(b"\n") + 1, f"the file is truncated here ({error})"))
    if not content.strip():
        raise NotATranscriptError(f"{name} is empty")
    if encoding != UTF8:
        content = bytearray(content.decode(encoding, errors="replace"), UTF8)
        limits.spend(len(content))
    else:
        _check_utf8(name, content)
    return bytes(content.removeprefix(codecs.BOM_UTF8)), encoding


def _unpacked(file: BufferedReader) -> SupportsRead:
    magic = file.peek(4)[:4]
    if magic.startswith(GZIP):
        return gzip.GzipFile(fileobj=file)
    if magic == ZSTD:
        return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return file


def _encoding(name: str, start: bytes) -> str:
    """Return how a file that begins so is encoded.

    Raises:
        NotATranscriptError: It is no text.
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, uneven = (
        half.count(0) > 0.7 * len(half) > 2 for half in (start[0:400:2], start[1:400:2])
    )
    if even != uneven:
        return "utf-16-be" if even else "utf-16-le"
    odd = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in start)
    if odd + start.count(0) > len(start) / 50:
        raise NotATranscriptError(f"{name} is not a text file", hint=HINT)
    return UTF8


def _check_utf8(name: str, content: bytearray) -> None:
    """Refuse a file whose beginning is in another encoding; a wrong line among others is a fault."""
    start = content[:PART]
    try:
        start[: start.rfind(b"\n") + 1 or None].decode()
    except UnicodeDecodeError as error:
        if start.decode(errors="ignore").isascii():
            line = start.count(b"\n", 0, error.start) + 1
            raise TranscriptError(
                f"{name} is not UTF-8: by line {line} it is Latin-1 (Windows-1252)",
                hint="`iconv -f cp1252 -t UTF-8` converts it.",
            ) from None
