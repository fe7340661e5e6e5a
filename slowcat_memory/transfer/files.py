"""Reads a file of transcripts: plain, gzip or zstandard; JSON lines, plain text, a chat app's export."""

import codecs
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import IO

import zstandard
from msgspec.structs import replace

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer import json_exports, jsonl, plain_text
from slowcat_memory.transfer.text_exports import as_plain_text
from slowcat_memory.transfer.transcript import (
    PACE,
    Line,
    Report,
    Transcript,
    TranscriptSession,
    fault,
)

SAMPLE = 64_000  # bytes checked for being text
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError)
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b\x00")  # a few NULs are accepted


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, compressed or not, judged by its content.

    Raises:
        TranscriptError: It cannot be opened, is empty, or is not text.
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
            f"{path} is not a text file", hint="`slowcat-memory import --help` lists the formats."
        )


def lines(bytes_: IO[bytes], report: Report) -> Iterator[Line]:
    """Yield a file's numbered lines; report those that are not UTF-8, and a truncated file."""
    number = 0
    try:
        for number, raw in enumerate(bytes_, start=1):
            try:
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                report(fault(number, "not UTF-8"))
    except BROKEN as error:
        report(fault(number + 1, f"the compressed file is truncated here ({error})"))


JSON_NAMES = (".jsonl", ".ndjson", ".json")
_JSON_STARTS = ("{", '{"', "[", "[{")


def _ignore(error: TranscriptError) -> None:
    pass


def read(path: Path, on_error: Report = _ignore, *, scoped: bool = True) -> Iterator[Transcript]:
    """Read a file of transcripts, also .gz and .zst; see ``transfer.jsonl`` and ``plain_text``.

    Yields conversations; every session has a start, if necessary the file's modification time.

    Args:
        on_error: Called with an error for each unreadable line; the rest is read.
        scoped: Whether a line's own scope must be a valid name, as it will be used.

    Raises:
        TranscriptError: The file cannot be read at all.
    """
    path = Path(path)
    with opened(path) as bytes_:
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        name = path.name.split(".")[0]
        numbered = lines(bytes_, on_error)
        first = next((line for line in numbered if line[1].strip()), None)
        every = chain([first] if first else [], numbered)
        if _is_json(path, first):
            for transcript in _json(first, every, name, on_error, scoped):
                yield _dated(transcript, changed)
            return
        as_text = as_plain_text(first[1] if first else "", every)
        if (transcript := plain_text.transcript(as_text, name, on_error)).sessions:
            yield _dated(transcript, changed)


def _json(
    first: Line | None, every: Iterable[Line], name: str, on_error: Report, scoped: bool
) -> Iterator[Transcript]:
    """Read JSON lines, or one document that a chat app exported."""
    if first is None or _is_row(first[1]):
        return jsonl.transcripts(every, name, on_error, scoped=scoped)
    known = list(every)
    try:
        document = json.loads("\n".join(line for _, line in known))
    except (ValueError, RecursionError):  # lines, the first of which is damaged
        return jsonl.transcripts(known, name, on_error, scoped=scoped)
    try:
        rows = enumerate(json_exports.rows(document), start=1)
    except ValueError as error:
        on_error(fault(first[0], error))
        return iter(())
    return jsonl.from_rows(rows, name, on_error, scoped=scoped)


def _is_row(line: str) -> bool:
    """Return whether a line is a JSON object of its own, and not a whole exported document."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(row, dict)
        and not row.keys() & {"mapping", "chat_messages", "messages"}
        and (not isinstance(row.get("results"), list))
    )


def _is_json(path: Path, first: Line | None) -> bool:
    stem = path.name.removesuffix(".gz").removesuffix(".zst")
    return stem.endswith(JSON_NAMES) or (
        first is not None and first[1].lstrip()[:2] in _JSON_STARTS
    )


def _dated(transcript: Transcript, changed: datetime) -> Transcript:
    """Set each session's start: its own, its first turn's, or the end of the session before."""
    after = changed - PACE * transcript.turns  # so that no turn is later than the file
    sessions = []
    for session in transcript.sessions:
        first = session.utterances[0].at if session.utterances else None
        session = replace(session, started=session.started or first or after)
        after = _end(session)
        sessions.append(session)
    return replace(transcript, sessions=tuple(sessions))


def _end(session: TranscriptSession) -> datetime:
    assert session.started
    times = [u.at for u in session.utterances if u.at is not None]
    return times[-1] + PACE if times else session.started + PACE * len(session.utterances)
