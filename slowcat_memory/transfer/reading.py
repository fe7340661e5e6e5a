"""Reads a source: which format it has, and its pieces as the user wants them taken."""

import codecs
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from io import BufferedReader
from typing import IO

import zstandard
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import ConfigError, TranscriptError
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.transfer.formats import NotATranscriptError, Sample, recognise, refuse
from slowcat_memory.transfer.formats.format import Break, Piece, Placed
from slowcat_memory.transfer.formats.json_reader import JsonReader
from slowcat_memory.transfer.formats.refused import OTHER, by_bytes
from slowcat_memory.transfer.sources import Source
from slowcat_memory.transfer.transcript import Line, Report, Utterance, fault

SAMPLE = 256_000  # bytes by which a format is recognised
MOST_LINE = 16_000_000  # bytes of a line
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BROKEN = (EOFError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, zstandard.ZstdError)
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


class Options(Struct, frozen=True, kw_only=True):
    """How a file is read.

    Attributes:
        scoped: Whether a line's own scope must be a valid name, as it will be used.
        encoding: Of the file; "" to find out.
        me: The name in the file of the user; "" when the file says it, or nothing does.
        agents: The names in the file of agents, besides "Assistant" and the like.
        latest: Turns later than this are left out and reported; None to take them.
        zone: Of times without a zone.
    """

    scoped: bool = True
    encoding: str = ""
    me: str = ""
    agents: frozenset[str] = frozenset()
    latest: datetime | None = None
    zone: tzinfo = UTC


class Reading:
    """A source whose format is known; its pieces can be read several times."""

    def __init__(self, source: Source, options: Options) -> None:
        """Recognise the format.

        Raises:
            TranscriptError: The source cannot be read, or is of no known format.
        """
        self.source, self._options = source, options
        self._text = Decoded(source, options.encoding)
        self.encoding = self._text.encoding
        self.format = recognise(self._text.sample)

    @property
    def name(self) -> str:
        """The name of a conversation that the file does not name: the file's, without endings."""
        return self.source.name.replace("\\", "/").rpartition("/")[2].split(".")[0]

    def pieces(self, report: Report) -> Iterator[Piece]:
        """Yield the pieces; report what cannot be read, or is not taken.

        Raises:
            TranscriptError: The source cannot be opened any more.
        """
        refused_from: Break | None = None
        try:
            for piece in self.format.read(self._text, report):
                if isinstance(piece, Break):
                    refused_from = piece if self._is_late(piece.started) else None
                    if refused_from:
                        report(self._late(piece.line, piece.started))
                if not isinstance(piece, Placed):
                    yield piece
                elif refused_from is None or piece.session not in ("", refused_from.label):
                    yield from self._taken(piece, report)
        except ValueError as error:
            report(TranscriptError(f"the rest cannot be read: {error}"))

    def _taken(self, piece: Placed, report: Report) -> Iterator[Placed]:
        if self._options.scoped and piece.scope:
            try:
                check_scope(piece.scope)
            except ConfigError as error:
                return report(fault(piece.line, error))
        if self._is_late(piece.said.at):
            return report(self._late(piece.line, piece.said.at))
        said = self._as_cast(piece.said) if isinstance(piece.said, Utterance) else piece.said
        yield replace(piece, said=said)

    def _as_cast(self, said: Utterance) -> Utterance:
        """Return an utterance with the role of its speaker, and the user's under no name."""
        name = said.speaker.casefold()
        if name and name == self._options.me.casefold():
            return replace(said, speaker="", role="user", written=said.who())
        if name in self._options.agents:
            return replace(said, role="assistant", written=said.who())
        return said

    def _is_late(self, at: datetime | None) -> bool:
        latest = self._options.latest
        return latest is not None and at is not None and self.utc(at) > latest

    def utc(self, at: datetime) -> datetime:
        """Return a time of the file, in UTC."""
        return (at if at.tzinfo else at.replace(tzinfo=self._options.zone)).astimezone(UTC)

    def _late(self, line: int, at: datetime | None) -> TranscriptError:
        return TranscriptError(
            f"line {line}: dated in the future: {at:%Y-%m-%d %H:%M}",
            hint="`--allow-future` takes it.",
        )
