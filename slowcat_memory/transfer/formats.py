"""A file to transcripts, whatever its format."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer import files, jsonl, plain_text
from slowcat_memory.transfer.files import Line
from slowcat_memory.transfer.transcript import Report, Transcript, TranscriptSession

PACE = timedelta(seconds=10)  # from turn to turn where a transcript names no times
JSON_NAMES = (".jsonl", ".ndjson", ".json")


def _ignore(error: TranscriptError) -> None:
    """Take no notice."""


def read(path: Path, on_error: Report = _ignore) -> Iterator[Transcript]:
    """Read a file of transcripts: JSON lines or plain text, gzip and zstandard too.

    The formats are described in ``transfer.jsonl`` and ``transfer.plain_text``.

    Args:
        on_error: Told of each line that cannot be read, by its number; the rest is read.

    Yields:
        Conversations; every session has a start, the file's time of change when nothing better is
        known.

    Raises:
        TranscriptError: The file cannot be read at all.
    """
    path = Path(path)
    with files.opened(path) as bytes_:
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        name = path.name.split(".")[0]
        lines = files.lines(bytes_, on_error)
        first = next((line for line in lines if line[1].strip()), None)
        every = chain([first] if first else [], lines)
        if _is_json(path, first):
            for transcript in jsonl.transcripts(every, name, on_error):
                yield _dated(transcript, changed)
        elif (transcript := plain_text.transcript(every, name, on_error)).sessions:
            yield _dated(transcript, changed)


def _is_json(path: Path, first: Line | None) -> bool:
    stem = path.name.removesuffix(".gz").removesuffix(".zst")
    return stem.endswith(JSON_NAMES) or (first is not None and first[1].lstrip().startswith("{"))


def _dated(transcript: Transcript, changed: datetime) -> Transcript:
    """Give each session a start: its own, its first turn's, the end of the one before."""
    after = changed - PACE * transcript.turns  # so that nothing was said after the file was written
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
