"""Imports a whole file in steps that can be interrupted: one transaction per session.

A cursor for each file, conversation and scope counts the sessions done; it is updated in the
transaction that logs the session.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import TranscriptError
from slowcat_memory.records import Cursor
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.transfer import files, ingest
from slowcat_memory.transfer.transcript import Note, Report, Transcript, TranscriptSession

BY_CONVERSATION = "{conversation}"
_NOT_IN_SCOPES = re.compile(r"[^a-z0-9_-]+")


class Step(Struct, frozen=True):
    """Progress after a session; ``of_turns`` is the number of turns in the file."""

    sessions: int
    turns: int
    of_turns: int


class Imported(Struct):
    """The result of an import; ``sessions`` counts those that are new, or longer than before."""

    sessions: int = 0
    turns: int = 0
    notes: int = 0
    known_turns: int = 0
    scopes: set[str] = field(default_factory=set)
    conversations: int = 0


def _ignore(step: Step) -> None:
    pass


def import_file(
    engine: MemoryEngine,
    path: Path,
    *,
    scope: str = "",
    conversations: Sequence[str] = (),
    again: bool = False,
    on_error: Report,
    progress: Callable[[Step], None] = _ignore,
) -> Imported:
    """Import every session of a file that is not in the log yet. Blocks.

    Args:
        scope: The namespace; "{conversation}" in it is replaced by each conversation's name. ""
            means the scope a line was exported from, else the configured one.
        again: Ignore the cursor, which imports wholly forgotten sessions again.
        on_error: Called with an error for each unreadable line.
        progress: Called after each session. If it raises, the sessions done are kept.

    Raises:
        TranscriptError: The file cannot be read, or has no such conversation.
        StoreError: The store cannot be written.
    """
    digest = files.fingerprint(path)
    found = list(files.read(path, on_error))
    chosen = [(n, t) for n, t in enumerate(found) if _is_chosen(t, conversations)]
    if conversations and not chosen:
        raise TranscriptError(f"{path} has no such conversation", hint=f"It has: {_names(found)}.")
    done = Imported(conversations=len(chosen))
    total, walked = sum(t.turns for _, t in chosen), Step(0, 0, 0)
    for number, transcript in chosen:
        target = check_scope(target_scope(scope, transcript, engine.config.memory.user_id))
        done.scopes.add(target)
        name = f"import/{digest[:16]}/{target}/{number}"
        for cursor, session in _steps(engine, transcript, name, path.name, again):
            if cursor is not None:
                _log(engine, target, session, cursor, done)
            else:
                done.known_turns += len(session.utterances)
            turns = walked.turns + len(session.utterances)
            walked = Step(walked.sessions + 1, turns, total)
            progress(walked)
        done.notes += _keep_notes(engine, target, transcript.notes)
    return done


def target_scope(scope: str, transcript: Transcript, default: str) -> str:
    """Return the scope of a conversation; ``scope`` as in ``import_file``."""
    name = _NOT_IN_SCOPES.sub("-", transcript.conversation.casefold())[:64]
    return scope.replace(BY_CONVERSATION, name) or transcript.scope or default


def _is_chosen(transcript: Transcript, conversations: Sequence[str]) -> bool:
    return not conversations or transcript.conversation in conversations


def _names(transcripts: Sequence[Transcript]) -> str:
    names = [transcript.conversation for transcript in transcripts]
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _steps(
    engine: MemoryEngine, transcript: Transcript, name: str, file: str, again: bool
) -> list[tuple[Cursor | None, TranscriptSession]]:
    """Pair each session with the cursor that marks it done; None when it is done already."""
    with engine.snapshot() as snapshot:
        cursor = snapshot.cursor(name)
    start = cursor.position if cursor and not again else 0
    return [
        (Cursor(name=name, position=at, note=file) if at > start else None, session)
        for at, session in enumerate(transcript.sessions, start=1)
    ]


def _log(
    engine: MemoryEngine, scope: str, session: TranscriptSession, cursor: Cursor, done: Imported
) -> None:
    """Log one session and wait for the disk, so that at most one is pending."""
    acks = ingest.ingest(engine, scope, session, cursor=cursor)
    if acks:
        acks[-1].wait()
        done.sessions += 1
    for memory_id in ingest.pins(session, acks):
        engine.mark(scope, memory_id, pinned=True)
    turns = max(0, len(acks) - 2)  # without the session's start and end
    done.turns += turns
    done.known_turns += len(session.utterances) - turns


def _keep_notes(engine: MemoryEngine, scope: str, notes: Sequence[Note]) -> int:
    for note in notes:
        engine.remember(
            note.text,
            scope,
            speaker=note.speaker,
            pinned=note.pinned,
            importance=note.importance,
            at=ingest.utc(note.at, engine.zone) if note.at else None,
            local_only=note.local_only,
        )
    return len(notes)
