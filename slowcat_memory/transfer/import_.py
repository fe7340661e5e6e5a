"""Imports files in steps that can be interrupted: at most ``ingest.BATCH`` turns a transaction.

A session that cannot be stored is reported, and the others are imported. A path is read whole before
anything of it is written (``transfer.reading``), within the limits of ``transfer.sources``.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import Turn
from slowcat_memory.runtime.namespaces.registry import check_scope, scope_of_user
from slowcat_memory.transfer import ingest
from slowcat_memory.transfer.reading import Options, Reading, readings
from slowcat_memory.transfer.session_match import Overlaps
from slowcat_memory.transfer.transcript import Note, Report, TranscriptSession

Progress = Callable[[int, int], object]


class Imported(Struct):
    """The result of an import; ``sessions`` counts those that are new, or longer than before."""

    sessions: int = 0
    turns: int = 0
    notes: int = 0
    known_turns: int = 0
    scopes: set[str] = field(default_factory=set)
    conversations: int = 0


class Where(Struct, frozen=True, kw_only=True):
    """Where an import goes, and what of a file it takes.

    Attributes:
        scope: The namespace; "" for the scope that a line was exported from, else ``own``.
        own: That of lines that name none; "" for the configured one.
        conversations: The only ones to take; none for all.
        again: Also import what was imported before and forgotten since.
        undated: When a conversation without any date began; None for when the file was changed.
    """

    scope: str = ""
    own: str = ""
    conversations: Sequence[str] = ()
    again: bool = False
    undated: datetime | None = None


def import_file(
    memory: MemoryEngine,
    path: Path,
    *,
    scope: str = "",
    conversations: Sequence[str] = (),
    again: bool = False,
    on_error: Report,
    progress: Progress = lambda turns, of_turns: None,
) -> Imported:
    """Import every session of a file, folder or archive that is not in the log yet. Blocks.

    Args:
        memory: Where to.
        path: A file, a folder or a zip archive.
        scope: As in ``Where``, like ``conversations`` and ``again``.
        on_error: Called with an error for each unreadable line, and each session that cannot be
            stored.
        progress: Called after each session with the turns so far, and those of the file. If it
            raises, the sessions done are kept.

    Raises:
        TranscriptError: The file cannot be read, or has no such conversation.
        StoreError: The store cannot be written.
    """
    where = Where(scope=scope, conversations=conversations, again=again)
    options = Options(scoped=not scope, zone=memory.zone)
    done, known = Imported(), set[str]()
    for reading in readings(path, options, on_error, lambda error: None):
        for error in reading.faults:
            on_error(error)
        known |= set(reading.conversations)
        import_reading(memory, reading, where, done, on_error=on_error, progress=progress)
    if conversations and not done.conversations:
        raise TranscriptError(f"{path} has no such conversation", hint=f"It has: {_listed(known)}.")
    return done


def import_reading(
    memory: MemoryEngine,
    reading: Reading,
    where: Where,
    done: Imported,
    *,
    on_error: Report,
    progress: Progress = lambda turns, of_turns: None,
) -> None:
    """Import a file, and add to what is ``done``. Blocks.

    Raises:
        StoreError: The store cannot be written.
    """
    own, turns = where.own or scope_of_user(memory.config.memory.user_id), 0
    overlaps = Overlaps()
    for chat in reading.transcripts(where.undated):
        name = chat.conversation
        if where.conversations and name not in where.conversations:
            continue
        done.conversations += 1
        scope = check_scope(where.scope or chat.scope or own)
        done.scopes.add(scope)
        for note in chat.notes:
            _keep_note(memory, scope, note)
        done.notes += len(chat.notes)
        for session in chat.sessions:
            try:
                _log(memory, scope, session, where.again, overlaps, done)
            except ValueError as error:
                on_error(TranscriptError(f"session {session.id}: {error}"))
            turns += len(session.utterances)
            progress(turns, reading.turns)


def _listed(known: set[str]) -> str:
    names = sorted(known)
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _log(
    memory: MemoryEngine,
    scope: str,
    session: TranscriptSession,
    again: bool,
    overlaps: Overlaps,
    done: Imported,
) -> None:
    """Log one session and wait for the disk, so that at most one is pending."""
    acks = ingest.ingest(memory, scope, session, again=again, overlaps=overlaps)
    turns = sum(isinstance(ack.event, Turn) for ack in acks)
    done.sessions += bool(turns)
    done.turns += turns
    done.known_turns += len(session.utterances) - turns


def _keep_note(memory: MemoryEngine, scope: str, note: Note) -> None:
    kept = memory.remember(
        note.text,
        scope,
        speaker=note.speaker,
        pinned=note.pinned,
        importance=note.importance,
        at=ingest.utc(note.at, memory.zone) if note.at else None,
        local_only=note.local_only,
    )
    if note.muted:
        memory.mark(scope, kept.id, muted=True)
