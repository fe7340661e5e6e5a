"""Finds what of a transcript's session is in the log already.

A session is known by its scope, its name and its first words, never by the ids of its utterances: a
chat program may begin them anew. Beside the log, a cursor for each imported session keeps how many
utterances were imported and a hash over them. So a file that has grown continues exactly after
them, and what was forgotten stays forgotten. A session without a cursor, or whose file was edited,
is compared with the log itself.
"""

import hashlib
import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import chain, count

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.memory import session_in
from slowcat_memory.records import Cursor, Session, Turn
from slowcat_memory.store import Snapshot
from slowcat_memory.transfer.transcript import TranscriptSession, Utterance

ID_BYTES = 200  # longest id that is taken over from a file; table keys hold at most 511
_UNMARKED = "unmarked "  # begins a cursor's note until pins are written


class Match(Struct, frozen=True, kw_only=True):
    """A session of a transcript and its counterpart in the log.

    Attributes:
        id: Its id in the log.
        cursor: The name of its cursor.
        row: Its row, None if nothing of it is in the log.
        new: The positions of the utterances to import.
        unmarked: Whether an earlier import was stopped before it marked its turns.
    """

    id: str
    cursor: str
    row: Session | None
    new: Sequence[int]
    unmarked: bool = False


def find(
    snapshot: Snapshot, scope: str, session: TranscriptSession, *, again: bool = False
) -> Match:
    """Find the session in the log.

    It has its own id if it was exported from this scope, else a hash of scope, name and first
    words. A number tells sessions apart that begin alike. The number of an unnamed session with
    dates is no part of its name: sessions may be added before it.

    Args:
        again: Also import utterances that were imported before and are not in the log: forgotten.
    """
    first = session.utterances[0] if session.utterances else None
    name = "" if session.numbered and first and first.at else session.id
    begin = [scope, name, first and [first.text, str(first.at)]]
    own = [session.id] if session.scope == scope and len(session.id.encode()) <= ID_BYTES else []
    for id in chain(own, (f"import-{_hash([*begin, number], 6)}" for number in count(1))):
        there = (snapshot.session(id), snapshot.session(session_in(id, scope)))
        row = next((one for one in there if one and one.scope == scope), None)
        known = f"import/{_hash([scope, id], 16)}"  # an id may contain words
        match = Match(id=row.id if row else id, cursor=known, row=row, new=())
        cursor = None if again else snapshot.cursor(known)
        if row is None and cursor is None:
            return replace(match, new=range(len(session.utterances)))
        if (new := _new(snapshot, row, cursor, session)) is not None:
            unmarked = cursor is not None and cursor.note.startswith(_UNMARKED)
            return replace(match, new=new, unmarked=unmarked)
    raise AssertionError


def _new(
    snapshot: Snapshot, row: Session | None, cursor: Cursor | None, session: TranscriptSession
) -> Sequence[int] | None:
    """Return the positions to import; None if this is another session that begins alike."""
    said, every = session.utterances, len(session.utterances)
    if cursor is not None:
        if cursor.note.removeprefix(_UNMARKED) == _digest(said[: cursor.position]):
            return range(cursor.position, every)
        if row is None and every < cursor.position:  # an older copy of a forgotten session
            return ()
    if row is None:
        return None
    logged = _logged(snapshot, row)
    found = _aligned(logged, said)
    forgotten = _forgotten(row, logged, cursor)
    if not found or len(found) < min(len(logged), every - forgotten) / (1 if forgotten else 2):
        return None
    if not forgotten:
        return [place for place in range(every) if place not in found]
    if cursor is not None and every <= cursor.position:
        return ()
    return range(max(found) + 1, every)


class Overlaps:
    """What the log held before a file is imported, to find turns of an overlapping export in it.

    An app that exports the latest messages begins each export elsewhere, in the middle of a session.
    A session that the log has by its name is the file's own, of an import that was stopped, and no
    other export.
    """

    def __init__(self) -> None:
        """Know nothing yet: a scope's sessions are read when they are needed first."""
        self._sessions: dict[str, dict[str, Session]] = {}

    def without(
        self,
        snapshot: Snapshot,
        scope: str,
        session: TranscriptSession,
        times: Sequence[datetime],
        match: Match,
    ) -> Match:
        """Return a match without utterances that are in the log at the same time.

        Args:
            times: Of the session's utterances, in UTC.
            match: The session's by its name.
        """
        if scope not in self._sessions:
            rows = sorted(snapshot.sessions(scope), key=lambda row: row.started)
            self._sessions[scope] = {row.id: row for row in rows if row.turns}
        before = self._sessions[scope]
        if match.row is not None:
            before.pop(match.id, None)
            return match
        if not match.new or any(said.at is None for said in session.utterances):
            return match
        keys = [(at, one.role, one.text) for at, one in zip(times, session.utterances, strict=True)]
        logged, found, gaps = Counter[tuple[datetime, str, str]](), list[Session](), list[Session]()
        for row in before.values():
            if row.started <= max(times) and row.last >= min(times):
                turns = _logged(snapshot, row)
                held = Counter((turn.at, turn.role, turn.text) for turn in turns)
                logged += held
                if not held.keys().isdisjoint(keys):
                    found.append(row)
                    gaps += [row] if _forgotten(row, turns, None) else []
        if not found:
            return match
        new = list[int]()
        for place, key in enumerate(keys):
            if logged[key]:
                logged[key] -= 1
            elif not any(row.started <= key[0] <= row.last for row in gaps):
                new.append(place)
        return replace(match, id=found[0].id, row=found[0], new=new)


def done(match: Match, said: Sequence[Utterance], *, marked: bool) -> Cursor:
    """Return the cursor that says that these utterances of the session are imported."""
    note = ("" if marked else _UNMARKED) + _digest(said)
    return Cursor(name=match.cursor, position=len(said), note=note, in_log=False)


def in_log(snapshot: Snapshot, match: Match, session: TranscriptSession) -> dict[int, int]:
    """Return the log id of each utterance that is in the log, by its position."""
    row = snapshot.session(match.id)
    return {} if row is None else _aligned(_logged(snapshot, row), session.utterances)


def _forgotten(row: Session, logged: Sequence[Turn], cursor: Cursor | None) -> int:
    """Return how many turns of a session are gone; an import numbers its turns without gaps."""
    if cursor is not None:
        return max(0, cursor.position - len(logged))
    return row.last_turn - row.first_turn + 1 - len(logged)


def _logged(snapshot: Snapshot, row: Session) -> list[Turn]:
    turns = snapshot.turns(row.scope, after=row.first_turn - 1, upto=row.last_turn)
    return [turn for turn in turns if turn.session == row.id]


def _aligned(logged: Sequence[Turn], said: Sequence[Utterance]) -> dict[int, int]:
    """Pair the session's turns with utterances, in order: positions to log ids."""
    places = defaultdict[tuple[str, str], list[int]](list)
    for place, one in enumerate(said):
        places[one.role, one.text].append(place)
    found, least = dict[int, int](), 0
    for turn in logged:
        alike = places[turn.role, turn.text]
        for place in alike[bisect_left(alike, least) :]:
            if said[place].speaker in ("", turn.speaker):
                found[place], least = turn.id, place + 1
                break
    return found


def _digest(said: Sequence[Utterance]) -> str:
    return _hash([[one.text, str(one.at)] for one in said], 16)


def _hash(value: object, size: int) -> str:
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=size).hexdigest()
