"""A transcript's file: plain, gzip or zstandard, read as numbered lines of UTF-8."""

import codecs
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO

import zstandard

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.transcript import Report, fault

Line = tuple[int, str]
SAMPLE = 64_000  # bytes that tell text from anything else
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b\x00")  # a NUL may stand in a text, but not many


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, compressed or not; what is inside decides, not the name.

    Yields:
        Its bytes.

    Raises:
        TranscriptError: It cannot be opened, is empty, or holds no text.
    """
    try:
        with path.open("rb") as file, _plain(file) as bytes_:
            sample = bytes_.peek(SAMPLE)[:SAMPLE]
            _check(path, sample)
            yield bytes_
    except OSError as error:
        if isinstance(error, BROKEN):
            raise TranscriptError(f"{path} is damaged: {error}") from error
        raise TranscriptError(f"cannot read {path}: {error.strerror or error}") from error
    except BROKEN as error:
        raise TranscriptError(f"{path} is damaged: {error}") from error


def _plain(file: BufferedReader) -> BufferedReader:
    magic = file.peek(4)[:4]
    if magic.startswith(GZIP):
        return BufferedReader(gzip.GzipFile(fileobj=file), SAMPLE)
    if magic == ZSTD:
        unpack = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return BufferedReader(unpack, SAMPLE)
    return BufferedReader(file, SAMPLE)


def _check(path: Path, sample: bytes) -> None:
    if not sample.strip():
        raise TranscriptError(f"{path} is empty")
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TranscriptError(f"{path} is UTF-16", hint="Save it as UTF-8.")
    odd = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in sample)
    if odd + sample.count(0) > len(sample) / 50:
        raise TranscriptError(
            f"{path} is not a text file", hint="`slowcat-memory import --help` shows what can be."
        )


def lines(bytes_: IO[bytes], report: Report) -> Iterator[Line]:
    """Number a file's lines, and leave out those that are not UTF-8.

    Args:
        report: Told of each line that is not, and of an end that is missing.

    Yields:
        Number from 1, and the line without its end.
    """
    number = 0
    try:
        for number, raw in enumerate(bytes_, start=1):
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                report(fault(number, "not UTF-8"))
    except BROKEN as error:
        report(fault(number + 1, f"the compressed file breaks off here ({error})"))


def fingerprint(path: Path) -> str:
    """Name a file by what is in it.

    Returns:
        Its SHA-256 in hexadecimal.

    Raises:
        TranscriptError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TranscriptError(f"cannot read {path}: {error.strerror or error}") from error
