"""Reads the transcripts of a file, a folder or a zip archive, whole."""

from collections.abc import Iterator
from pathlib import Path

from slowcat_memory.errors import TranscriptError
from slowcat_memory.transfer.formats import NotATranscriptError
from slowcat_memory.transfer.grouping import Channel
from slowcat_memory.transfer.reading import Options, Reading
from slowcat_memory.transfer.sources import sources
from slowcat_memory.transfer.survey import dated, survey
from slowcat_memory.transfer.transcript import Note, Report, Transcript, TranscriptSession


def _ignore(error: TranscriptError) -> None:
    pass


def readings(path: Path, options: Options, report: Report, beside: Report) -> Iterator[Reading]:
    """Yield the files that a path stands for, each with its format recognised.

    Args:
        path: A file, a folder or a zip archive.
        options: How they are read.
        report: Called with an error for each file of a folder or an archive that cannot be read.
        beside: Called for each that is no transcript, such as a picture or a list of accounts.

    Raises:
        TranscriptError: The path, or the only file that it stands for, cannot be read.
    """
    for source in sources(path, report):
        try:
            yield Reading(source, options)
        except NotATranscriptError as error:
            if source.alone:
                raise
            beside(error)
        except TranscriptError as error:
            if source.alone:
                raise
            report(error)


def read(path: Path, on_error: Report = _ignore, *, scoped: bool = True) -> Iterator[Transcript]:
    """Read transcripts, whatever their format; see ``transfer.formats``.

    Yields conversations; every session has a start, if necessary from the file's last change.

    Args:
        path: A file, a folder or a zip archive.
        on_error: Called with an error for each unreadable part; the rest is read.
        scoped: Whether a line's own scope must be a valid name, as it will be used.

    Raises:
        TranscriptError: The file cannot be read at all.
    """
    for reading in readings(Path(path), Options(scoped=scoped), on_error, _ignore):
        found = survey(reading)
        for error in found.faults:
            on_error(error)
        sessions: dict[Channel, list[TranscriptSession]] = {place: [] for place in found.chats}
        notes: dict[Channel, list[Note]] = {place: [] for place in found.chats}
        for one in dated(reading, found, None):
            place = (one.conversation, one.scope)
            if isinstance(one.what, Note):
                notes[place].append(one.what)
            else:
                sessions[place].append(one.what)
        for place, chat in sessions.items():
            yield Transcript(
                conversation=place[0] or reading.name,
                sessions=tuple(chat),
                notes=tuple(notes[place]),
                scope=place[1],
            )
