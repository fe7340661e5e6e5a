"""The files of an import: a file, a folder's, or a zip archive's, nested as they may be.

Nothing is unpacked to disk. What reading a path may cost is limited as a whole: archives in
archives, compressed files and their padding count once they are unpacked.
"""

import codecs
import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import BufferedReader, BytesIO
from pathlib import Path, PurePath
from typing import IO, Any, Generic, TypeVar

import zstandard

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.formats import HINT
from slowcat_memory.transfer.transcript import NotATranscriptError, Report, Text, fault

MOST_BYTES = 100_000_000  # of what one path stands for, unpacked
DEEPEST = 3  # archives in archives
UTF8 = "utf-8"
ZIP, GZIP, ZSTD = b"PK\x03\x04", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BROKEN = (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error,
          zstandard.ZstdError)  # fmt: skip
START, PART = 4096, 1_000_000  # bytes of a file's first read, which tells text, and of others
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b\x00")  # a few NULs are accepted

Result = TypeVar("Result")


class TooMuchError(TranscriptError):
    """A path stands for more than may be read of one."""


class Files(Generic[Result]):
    """The files of a path, in the order of their names, each as it is read."""

    def __init__(
        self, path: Path, read: Callable[[Text], Result], report: Report, beside: Report
    ) -> None:
        """Only look at the path while it is iterated.

        Args:
            path: A file, a folder or a zip archive.
            read: Reads the text of a file.
            report: Called with an error for each file of a folder or an archive that cannot be read.
            beside: Called for each of them that is no transcript, such as a picture.
        """
        self._path, self._read, self._report, self._beside = path, read, report, beside
        self._bytes = MOST_BYTES

    def __iter__(self) -> Iterator[Result]:
        """Read one file after the other.

        Raises:
            TranscriptError: The path, or the only file that it stands for, cannot be read; or there
                is too much of it.
        """
        path = self._path
        if path.exists() and not path.is_file() and not path.is_dir():
            raise TranscriptError(f"cannot read {path}: it is no file and no folder")
        if not path.is_dir():
            try:
                with path.open("rb") as file:
                    yield from self._opened(str(path), _changed(path), file, 0)
            except OSError as error:
                raise TranscriptError(f"cannot read {path}: {error.strerror or error}") from error
            return
        for inside in sorted(path.rglob("*")):
            name = inside.relative_to(path)
            if not _is_hidden(name) and not inside.is_symlink() and inside.is_file():
                yield from self._inside(str(name), inside, lambda file=inside: file.open("rb"), 0)  # type: ignore[misc]  # mypy

    def _inside(
        self, name: str, where: Path | zipfile.ZipInfo, open_: Callable[[], IO[bytes]], depth: int
    ) -> Iterator[Result]:
        """Read a file of a folder or an archive; report what cannot be read."""
        try:
            with open_() as file:
                yield from self._opened(name, _changed(where), file, depth)
        except TooMuchError:
            raise
        except NotATranscriptError as error:
            self._beside(error)
        except TranscriptError as error:
            self._report(error)
        except OSError as error:
            self._report(TranscriptError(f"cannot read {name}: {error.strerror or error}"))
        except BROKEN as error:
            self._report(TranscriptError(f"{name} is damaged: {error}", hint="Unpack the archive."))

    def _opened(
        self, name: str, changed: datetime, file: IO[bytes], depth: int
    ) -> Iterator[Result]:
        """Read a file, or those of an archive."""
        start: Any = BufferedReader(file, PART)
        if start.peek(4)[:4] != ZIP:
            yield self._read(self._text(name, changed, start))
            return
        if depth > DEEPEST - 1:
            raise TranscriptError(f"{name} is an archive in {DEEPEST} archives", hint="Unpack it.")
        try:
            archive = zipfile.ZipFile(BytesIO(b"".join(self._parts(start))) if depth else start)
        except BROKEN as error:
            raise TranscriptError(f"{name} is damaged: {error}") from error
        for member in sorted(archive.infolist(), key=lambda entry: entry.filename):
            if not member.is_dir() and not _is_hidden(PurePath(member.filename)):
                full = f"{name}/{member.filename}"
                opened = lambda member=member: archive.open(member)  # noqa: E731
                yield from self._inside(full, member, opened, depth + 1)

    def _spend(self, size: int) -> None:
        """Count bytes that were read; raises ``TooMuchError`` when they are too many."""
        self._bytes -= size
        if self._bytes < 0:
            raise TooMuchError(
                f"{self._path} is more than {MOST_BYTES // 10**6} MB when it is unpacked",
                hint="Import its files one by one, and a long chat in parts.",
            )

    def _parts(self, file: Any) -> Iterator[bytes]:
        """Yield a file part by part, first a few bytes; before it breaks off, all there is."""
        part = file.read(START)
        while part:
            self._spend(len(part))
            yield part
            part = file.read1(PART)

    def _text(self, name: str, changed: datetime, file: BufferedReader) -> Text:
        """Return the text of a file; one that ends too soon is reported, and is what there is."""
        content, encoding = bytearray(), UTF8
        try:
            for part in self._parts(_unpacked(file)):
                encoding = encoding if content else _encoding(name, part)
                content += part
        except BROKEN as error:
            if not content:
                raise TranscriptError(f"{name} is damaged: {error}") from error
            self._report(fault(content.count(b"\n") + 1, f"the file is truncated here ({error})"))
        if not content.strip():
            raise NotATranscriptError(f"{name} is empty")
        if encoding != UTF8:
            content = bytearray(content.decode(encoding, errors="replace"), UTF8)
            self._spend(len(content))
        _check_utf8(name, content)
        kept = bytes(content.removeprefix(codecs.BOM_UTF8))
        return Text(name, kept, encoding, changed)


def _is_hidden(name: PurePath) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.parts)


def _changed(file: Path | zipfile.ZipInfo) -> datetime:
    if isinstance(file, Path):
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    try:
        return datetime(*file.date_time, tzinfo=UTC)
    except ValueError:  # an archive without dates
        return datetime(1980, 1, 1, tzinfo=UTC)


def _unpacked(file: BufferedReader) -> Any:
    """Return what reads the file unpacked; a decompressor's is no whole ``IO``."""
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
