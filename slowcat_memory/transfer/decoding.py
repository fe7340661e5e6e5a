"""Decodes a source: gzip and zstandard, UTF-8, UTF-16, or the encoding that the user names."""

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import IO

import zstandard

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.formats import NotATranscriptError, Sample, refuse
from slowcat_memory.transfer.formats.json_reader import JsonReader
from slowcat_memory.transfer.formats.refused import OTHER, by_bytes
from slowcat_memory.transfer.sources import Source
from slowcat_memory.transfer.transcript import Line, Report, fault

SAMPLE = 256_000  # bytes by which a format is recognised
MOST_LINE = 16_000_000  # bytes of a line
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)
UTF8 = "utf-8-sig"
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b\x00")  # a few NULs are accepted


class Decoded:
    """A source as text; see ``formats.format.Text``."""

    def __init__(self, source: Source, encoding: str = "") -> None:
        """Read its beginning.

        Args:
            encoding: As the user names it; "" to find out.

        Raises:
            TranscriptError: It cannot be opened, is empty, is no text, or its encoding is unknown.
        """
        self._source = source
        with _opened(source) as bytes_:
            start = _start(bytes_)
            _check(source.name, start)
            self.encoding = encoding or _encoding(source.name, start)
            _check_text(source.name, start, self.encoding)
        text = codecs.getincrementaldecoder(self.encoding)("replace").decode(start)
        self.sample = Sample(source.name, text)

    def lines(self, report: Report | None = None) -> Iterator[Line]:
        """Yield the numbered lines without their ends; report those that cannot be decoded."""
        with _opened(self._source) as bytes_:
            if not self.encoding.startswith("utf-8"):
                text = io.TextIOWrapper(bytes_, self.encoding, errors="replace")
                yield from ((n, line.rstrip("\r\n")) for n, line in enumerate(text, start=1))
                return
            yield from _utf8_lines(bytes_, report or _ignore)

    def json(self) -> JsonReader:
        return JsonReader(self._characters())

    def _characters(self) -> Callable[[int], str]:
        """Return a function that reads on; the file is open until it is read to its end."""
        parts = self._chunks()
        kept = ""

        def read(size: int) -> str:
            nonlocal kept
            while len(kept) < size and (part := next(parts, "")):
                kept += part
            out, kept = kept[:size], kept[size:]
            return out

        return read

    def _chunks(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder(self.encoding)("strict")
        with _opened(self._source) as bytes_:
            while part := bytes_.read(SAMPLE):
                try:
                    text = decoder.decode(part)
                except UnicodeDecodeError:
                    raise ValueError(f"not {self.encoding.upper()} from here on") from None
                if text:
                    yield text


def _ignore(error: TranscriptError) -> None:
    pass


def _utf8_lines(bytes_: BufferedReader, report: Report) -> Iterator[Line]:
    number = 0
    try:
        while raw := bytes_.readline(MOST_LINE):
            number += 1
            if len(raw) == MOST_LINE and not raw.endswith(b"\n"):
                report(fault(number, f"longer than {MOST_LINE // 10**6} MB"))
                while raw and not raw.endswith(b"\n"):
                    raw = bytes_.readline(MOST_LINE)
                continue
            try:
                yield number, raw.decode(UTF8 if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                report(fault(number, "not UTF-8"))
    except BROKEN as error:
        report(fault(number + 1, f"the compressed file is truncated here ({error})"))


@contextmanager
def _opened(source: Source) -> Iterator[BufferedReader]:
    try:
        with source.open() as file:
            yield _plain(BufferedReader(file, SAMPLE))  # type: ignore[arg-type]  # any raw reader
    except OSError as error:
        if isinstance(error, BROKEN):
            raise TranscriptError(f"{source.name} is damaged: {error}") from error
        raise TranscriptError(f"cannot read {source.name}: {error.strerror or error}") from error
    except BROKEN as error:
        raise TranscriptError(f"{source.name} is damaged: {error}") from error


def _plain(file: BufferedReader) -> BufferedReader:
    magic = file.peek(4)[:4]
    if magic.startswith(GZIP):
        return BufferedReader(gzip.GzipFile(fileobj=file), SAMPLE)
    if magic == ZSTD:
        unpack = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return BufferedReader(unpack, SAMPLE)
    return file


def _start(bytes_: IO[bytes]) -> bytes:
    parts, size = list[bytes](), 0
    try:
        while size < SAMPLE and (part := bytes_.read(SAMPLE - size)):
            parts.append(part)
            size += len(part)
    except BROKEN:
        if not parts:
            raise
    return b"".join(parts)


def _check(name: str, start: bytes) -> None:
    if not start.strip():
        raise NotATranscriptError(f"{name} is empty")
    if kind := by_bytes(start):
        raise refuse(name, kind)


def _encoding(name: str, start: bytes) -> str:
    """Return how a file's beginning is encoded; one wrong line among others is reported later."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for encoding, nulls in (("utf-16-le", start[1:400:2]), ("utf-16-be", start[0:400:2])):
        if len(nulls) > 3 and nulls.count(0) > 0.7 * len(nulls):
            return encoding
    lines = start.split(b"\n")[: -1 if len(start) >= SAMPLE else None]  # the last may be cut
    wrong = [number for number, line in enumerate(lines, start=1) if not _is_utf8(line)]
    others = any(not line.isascii() and _is_utf8(line) for line in lines)
    if not wrong or others or _is_binary(start):
        return UTF8
    raise TranscriptError(
        f"{name} is not UTF-8: by line {wrong[0]} it is Latin-1 (Windows-1252)",
        hint="`--encoding cp1252` reads it as that.",
    )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_binary(start: bytes) -> bool:
    odd = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in start[:64_000])
    return odd + start[:64_000].count(0) > min(len(start), 64_000) / 50


def _check_text(name: str, start: bytes, encoding: str) -> None:
    if not encoding.startswith("utf-16") and _is_binary(start):
        raise NotATranscriptError(f"{name} is not a text file", hint=OTHER)
