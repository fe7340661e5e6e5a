"""What did we say? Conversations by time, their turns, and search with what found each hit."""

from collections.abc import Iterator, Mapping
from typing import Any

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.render.memory_block import mark_of
from slowcat_memory.records import Session
from slowcat_memory.runtime.conversation.audience import guest_scope
from slowcat_memory.store import Snapshot
from slowcat_memory.web.context import PageContext
from slowcat_memory.web.replies import PAGE, Refusal, moment, number
from slowcat_memory.web.shapes import memory_row, session_row, turn_row


def conversations(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of conversations, the latest first.

    Parameters: ``before`` (a turn's number: only conversations that ended before it).
    """
    scope, before = page.scope(given), number(given, "before")
    with page.memory.snapshot() as snapshot:
        rows: list[dict[str, Any]] = []
        after = 0
        for session, cursor in _latest_sessions(snapshot, scope, before):
            if len(rows) == PAGE:
                break
            rows.append(session_row(page, session, snapshot.turn(session.first_turn)))
            after = cursor
        else:
            after = 0
    rows.sort(key=lambda row: row["last"], reverse=True)  # an import stores them in its own order
    return {"rows": rows, "before": after}


def _latest_sessions(snapshot: Snapshot, scope: str, before: int) -> Iterator[tuple[Session, int]]:
    """Yield conversations by their last turn, the latest first, and where the walk goes on.

    It goes from a conversation's last turn to before its first one. Where another conversation was
    held meanwhile, or this one was resumed, it goes turn by turn.
    """
    while True:
        turn = next(snapshot.latest_turns(scope, before), None)
        if turn is None:
            return
        session = snapshot.session(turn.session)
        if session is None:
            before = turn.id
            continue
        within = snapshot.logged_between(scope, session.first_turn, turn.id)
        alone = turn.id == session.last_turn and within == session.turns
        before = session.first_turn if alone else turn.id
        if turn.id == session.last_turn:
            yield session, before


def turns(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of a conversation's turns, the earliest first.

    Parameters: ``session``; ``after`` (a turn's number), or ``at`` (a turn to begin shortly before).
    """
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        session = snapshot.session(given.get("session", ""))
        if session is None or session.scope != scope:
            raise Refusal(404, "That conversation is not remembered any more.")
        after = max(number(given, "after"), number(given, "at", 6) - 6, session.first_turn - 1)
        rows: list[dict[str, Any]] = []
        more = 0
        for turn in snapshot.turns(scope, after, session.last_turn):
            if turn.session != session.id:
                continue
            if len(rows) == PAGE:
                more = rows[-1]["turn"]
                break
            rows.append(turn_row(page, turn, snapshot.memory(scope, chunk_id(turn.id))))
        return {
            "rows": rows,
            "after": more,
            "session": session_row(page, session, snapshot.turn(session.first_turn)),
        }


def search(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the memories that answer a question best, and by what each was found.

    Parameters: ``q``; ``since`` and ``until`` (times).
    """
    scope, words = page.scope(given), given.get("q", "").strip()[:400]
    if not words or scope == guest_scope(page.memory.config.people):
        return {"rows": []}
    since, until = moment(given, "since"), moment(given, "until")
    found = page.memory.search(words, scope, PAGE, local=True, since=since, until=until)
    with page.memory.snapshot() as snapshot:
        rows = []
        for hit in found.hits:
            turn = snapshot.turn(hit.memory.sources[0]) if hit.memory.sources else None
            rows.append(
                {
                    **memory_row(page, hit.memory),
                    "over": mark_of(hit.memory, page.memory.clock(), page.memory.zone),
                    "score": round(hit.score, 3),
                    "likely": round(hit.probability, 3),
                    "views": {name: round(value, 3) for name, value in hit.views.items()},
                    "session": turn.session if turn else "",
                }
            )
    return {"rows": rows, "stage": found.stage}
