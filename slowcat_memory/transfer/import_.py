"""Imports a whole file in steps that can be interrupted: one transaction per session.

A session that cannot be stored is reported, and the others are imported.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from msgspec import Struct, field

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import TranscriptError
from slowcat_memory.runtime.namespaces.registry import check_scope, scope_of_user
from slowcat_memory.transfer import files, ingest
from slowcat_memory.transfer.transcript import Note, Report, Transcript, TranscriptSession

BY_CONVERSATION = "{conversation}"
SCOPE_CHARS, DIGEST_CHARS = 64, 8
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
    future_turns: int = 0  # dated later than tomorrow: most likely a wrong date
    scopes: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)  # by conversation, if it names its scope
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
        again: Also import what was imported before and forgotten since.
        on_error: Called with an error for each unreadable line, and each session that cannot be
            stored.
        progress: Called after each session. If it raises, the sessions done are kept.

    Raises:
        TranscriptError: The file cannot be read, or has no such conversation.
        StoreError: The store cannot be written.
    """
    found = list(files.read(path, on_error, scoped=not scope))
    chosen = [one for one in found if _is_chosen(one, conversations)]
    if conversations and not chosen:
        raise TranscriptError(f"{path} has no such conversation", hint=f"It has: {_names(found)}.")
    done = Imported(conversations=len(chosen))
    total, walked = sum(one.turns for one in chosen), Step(0, 0, 0)
    for transcript in chosen:
        target = check_scope(
            target_scope(scope, transcript, scope_of_user(engine.config.memory.user_id))
        )
        done.scopes.add(target)
        if BY_CONVERSATION in scope:
            done.names[transcript.conversation] = target
        for session in transcript.sessions:
            try:
                _log(engine, target, session, again, done)
            except ValueError as error:
                on_error(TranscriptError(f"session {session.id}: {error}"))
            turns = walked.turns + len(session.utterances)
            walked = Step(walked.sessions + 1, turns, total)
            progress(walked)
        done.notes += _keep_notes(engine, target, transcript.notes)
    return done


def target_scope(scope: str, transcript: Transcript, default: str) -> str:
    """Return the scope of a conversation; ``scope`` as in ``import_file``."""
    if BY_CONVERSATION not in scope:
        return scope or transcript.scope or default
    room = SCOPE_CHARS - len(scope.replace(BY_CONVERSATION, ""))
    return scope.replace(BY_CONVERSATION, scope_name(transcript.conversation, max(room, 1)))


def scope_name(name: str, limit: int = SCOPE_CHARS) -> str:
    """Return a scope's name for a conversation's.

    "Anna Lee" and "anna-lee" are one name; any other two differ: a name that needs more than small
    letters and hyphens ends in a digest of it ("Анна" becomes "u-69f8e0d9").
    """
    plain = unicodedata.normalize("NFC", name).lower().replace(" ", "-")
    if len(plain) <= limit and re.fullmatch(r"[a-z0-9_-]+", plain):
        return plain
    digest = hashlib.blake2b(plain.encode(), digest_size=DIGEST_CHARS // 2).hexdigest()
    slug = _NOT_IN_SCOPES.sub("-", plain).strip("-")[: max(0, limit - DIGEST_CHARS - 1)]
    return f"{slug or 'u'}-{digest}"


def _is_chosen(transcript: Transcript, conversations: Sequence[str]) -> bool:
    return not conversations or transcript.conversation in conversations


def _names(transcripts: Sequence[Transcript]) -> str:
    names = [transcript.conversation for transcript in transcripts]
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _log(
    engine: MemoryEngine, scope: str, session: TranscriptSession, again: bool, done: Imported
) -> None:
    """Log one session and wait for the disk, so that at most one is pending."""
    acks = ingest.ingest(engine, scope, session, again=again)
    done.sessions += bool(acks)
    turns = max(0, len(acks) - 2)  # without the session's start and end
    done.turns += turns
    done.known_turns += len(session.utterances) - turns
    tomorrow = engine.clock() + timedelta(days=1)
    done.future_turns += sum(at > tomorrow for at in ingest.moments(session, engine.zone))


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
