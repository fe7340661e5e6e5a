"""Finds the namespaces that changed since a job's cursor, and their last sessions."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from slowcat_memory.core.blocks.rules import SUMMARY, SessionView
from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.memory import NOTE, chunk_id
from slowcat_memory.idle.job import JobContext, Plan, new_task
from slowcat_memory.records import Cursor, Memory, Session, Turn
from slowcat_memory.store import Snapshot

MOST_TURNS = 400  # of one session


def recent_sessions(
    snapshot: Snapshot, scope: str, memories: Iterable[Memory], most: int
) -> list[SessionView]:
    """Return the last sessions of a namespace that have ended, the earliest first.

    Turns and summaries that are retired or local-only are excluded: blocks are sent to any LLM.
    """
    ended = [one for one in snapshot.sessions(scope) if one.ended is not None and one.turns]
    summaries = [m for m in memories if m.kind == SUMMARY and not m.retired_at]
    return [
        SessionView(
            at=one.started,
            turns=tuple(latest_turns(snapshot, one)),
            summary=summary_of(one, summaries),
        )
        for one in (ended[-most:] if most else [])
    ]


def user_of(snapshot: Snapshot, scope: str) -> str:
    """Return what a scope's user is called: as in the latest turn that no recogniser named.

    Without such a turn, as in the latest turn, or in a note.
    """
    latest = islice(snapshot.latest_turns(scope), MOST_TURNS)
    turns = sorted((one for one in latest if one.role == "user"), key=lambda one: not one.unnamed)
    notes = (one.speaker for one in snapshot.memories(scope, f"{NOTE}/"))
    return next(chain((one.speaker for one in turns), notes), "User")


def summary_of(session: Session, summaries: Iterable[Memory]) -> Memory | None:
    found = [m for m in summaries if not is_withheld(m) and _is_of(m, session)]
    return max(found, key=lambda m: (m.recorded_at or m.valid_from, m.id), default=None)


def _is_of(memory: Memory, session: Session) -> bool:
    if memory.id == f"{SUMMARY}/{session.id}":
        return True
    return any(session.first_turn <= turn <= session.last_turn for turn in memory.sources)


def latest_turns(snapshot: Snapshot, session: Session) -> list[Turn]:
    """Return a session's readable turns in order; of a very long one the latest."""
    first = max(session.first_turn, session.last_turn - 2 * MOST_TURNS)
    return readable_turns(snapshot, session, first, session.last_turn)


def readable_turns(snapshot: Snapshot, session: Session, first: int, last: int) -> list[Turn]:
    """Return a session's readable turns between two log ids, both included, in order."""
    found = snapshot.turns(session.scope, first - 1, last)
    return [turn for turn in found if _readable(snapshot, session, turn)]


def readable_among(snapshot: Snapshot, session: Session, ids: Iterable[int]) -> list[Turn]:
    """Return those of some turns that are readable turns of a session, in order."""
    found = (snapshot.turn(id_) for id_ in ids)
    return [turn for turn in found if turn and _readable(snapshot, session, turn)]


def _readable(snapshot: Snapshot, session: Session, turn: Turn) -> bool:
    if turn.session != session.id or turn.aside:
        return False
    memory = snapshot.memory(turn.scope, chunk_id(turn.id))
    return memory is None or not (memory.retired_at or is_withheld(memory))


FAR = 5_000  # events; with more, checking every namespace is cheaper than reading them


def cursor_of(job: str, snapshot: Snapshot, mark: str = "") -> Cursor:
    """Return the position of a job that has read everything up to now.

    Args:
        mark: Anything else that must not have changed, in the job's own format.
    """
    return Cursor(name=job, position=snapshot.last_id(), note=f"{snapshot.last_change()} {mark}")


def plan_changed(
    job: str, mark: str, writes: str, keys: Sequence[str], rank: int, snapshot: Snapshot,
    context: JobContext,
) -> Plan | None:  # fmt: skip
    """Plan a task for each key in each namespace that changed; None if nothing did.

    Args:
        mark: As in ``cursor_of``.
        writes: As ``ignoring`` in ``touched``.
    """
    scopes = touched(snapshot, job, mark, context.scopes(), writes)
    cursor = cursor_of(job, snapshot, mark)
    if snapshot.cursor(job) == cursor:
        return None
    tasks = (new_task(job, scope, key, context.now, rank) for scope in scopes for key in keys)
    return Plan(tasks=tuple(tasks), cursor=cursor)


def epoch_and_day(snapshot: Snapshot, context: JobContext) -> str:
    """Return a mark that changes with a forget, and daily: statements hold from or until a day."""
    return f"{snapshot.forget_epoch()} {context.now.astimezone(context.zone).date()}"


def touched(
    snapshot: Snapshot,
    job: str,
    mark: str,
    scopes: Iterable[str],
    ignoring: str = "\0",
    *,
    made: bool = True,
) -> list[str]:
    """Return the namespaces with new turns or changed memories since a job's cursor, in order.

    All namespaces if the job has no cursor yet.

    Args:
        mark: As in ``cursor_of``; if it differs, every namespace counts.
        ignoring: Prefix of the ids that this job writes; they count only if the user wrote them.
        made: Whether memories and vectors count, besides turns.
    """
    cursor = snapshot.cursor(job)
    if cursor is None or snapshot.last_id() - cursor.position > FAR:
        return list(scopes)
    changes, _, before = cursor.note.partition(" ")
    if before != mark:
        return list(scopes)
    said = {event.scope for event in snapshot.events(after=cursor.position)}
    return [
        scope
        for scope in scopes
        if scope in said or (made and _changed(snapshot, scope, int(changes), ignoring))
    ]


def _changed(snapshot: Snapshot, scope: str, after: int, ignoring: str) -> bool:
    """Return whether memories or vectors changed; publishing an index prunes older changes."""
    manifest = snapshot.manifest(scope)
    if manifest and manifest.changes > after:
        return True
    return any(
        not id_.startswith(ignoring) or _by_hand(snapshot, scope, id_)
        for id_ in snapshot.changed(scope, after)
    )


def _by_hand(snapshot: Snapshot, scope: str, id_: str) -> bool:
    """Return whether the user wrote a memory; they may have released it to the job."""
    memory = snapshot.memory(scope, id_)
    return memory is not None and memory.made is None and memory.retired_at is None
