"""Rows as the page shows them: plain values, times in ISO 8601, texts as they are; and pages of them.

The page is on this machine, so local-only texts are shown; whether one is local-only is shown too.
A page has some 50 rows, the newest first, and the place of the last one as a cursor.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from slowcat_memory.core.catalogue import place
from slowcat_memory.core.graph.portrait import predicate_in_words
from slowcat_memory.core.memory import BLOCK, FACT, NOTE, QUARANTINED, chunk_id, family
from slowcat_memory.records import Memory, Session, Turn
from slowcat_memory.store import Snapshot
from slowcat_memory.web.context import PAGE, PageContext

JOBS = {  # what a job does, in words for "by which rule or model"
    "facts": "facts, people and things from what was said",
    "summaries": "summaries",
    "merge": "facts compared",
    "note_facts": "facts from notes",
    "blocks": "what the agent keeps in mind",
}

_SHOWN = ("id", "scope", "text", "speaker", "pinned", "muted", "local_only")


def time_of(at: datetime | None) -> str | None:
    return None if at is None or at.year < 2 else at.isoformat()


def memory_row(page: PageContext, memory: Memory) -> dict[str, Any]:
    """Return a memory with all that is shown of it beside its words: see ``proof`` for these."""
    memory = page.present(memory)
    facets, made = memory.facets, memory.made
    return {
        **{name: getattr(memory, name) for name in _SHOWN},
        "family": family(memory.kind),
        "type": memory.kind.partition("/")[2].replace("_", " "),
        "since": time_of(memory.valid_from),
        "until": time_of(memory.valid_to),
        "retired": time_of(memory.retired_at),
        "replaced_by": facets.get("superseded_by", ""),
        "why": facets.get("why", ""),
        "sure": memory.statement.confidence,
        "quote": memory.statement.quote,
        "how": how_known(memory),
        "by": {
            "job": JOBS.get(made.job, made.job.replace("_", " ")) if made else "",
            "version": made.version if made else 0,
            "model": made.model if made else "",
        },
        "turns": list(memory.sources[:8]),
    }


def how_known(memory: Memory) -> str:
    """Return "said" (its words are there), "inferred" (from several), or "yours" (written by hand)."""
    if memory.made is None:
        own = family(memory.kind) in (NOTE, BLOCK) or not memory.sources
        return "yours" if own else "said"
    return "said" if memory.statement.quote else "inferred"


def turn_row(page: PageContext, turn: Turn, chunk: Memory | None = None) -> dict[str, Any]:
    """Return a turn, with the marks of its memory if it has any."""
    return {
        "id": chunk_id(turn.id),
        "turn": turn.id,
        **{name: getattr(turn, name) for name in ("scope", "session", "role", "text")},
        "speaker": page.name(turn.scope, turn.speaker),
        "at": time_of(turn.at),
        "pinned": bool(chunk and chunk.pinned),
        "muted": bool(chunk and chunk.muted),
        "retired": time_of(chunk.retired_at) if chunk else None,
        "local_only": chunk.local_only if chunk else turn.local_only,
    }


def relation_words(page: PageContext, memory: Memory, snapshot: Snapshot) -> dict[str, str]:
    """Return a relation's two sides by name, and what it says of them."""
    fact = page.present(memory).statement
    words = {"what": predicate_in_words(fact.predicate)}
    sides = (("subject", fact.subject, fact.subject_id), ("object", fact.object, fact.object_id))
    for side, named, id_ in sides:
        entity = snapshot.memory(memory.scope, id_) if id_ else None
        name = entity.facets.get("name", "") if entity else ""
        words[side] = page.name(memory.scope, name or named)
    return words


def session_row(session: Session, first: Turn | None) -> dict[str, Any]:
    """Return a conversation, with the words that it begins with."""
    return {
        "id": session.id,
        "started": time_of(session.started),
        "open": session.ended is None,
        "turns": session.turns,
        "words": first.text[:160] if first else "",
    }


def fact_row(page: PageContext, snapshot: Snapshot, memory: Memory, people: bool) -> dict[str, Any]:
    """Return a fact and what took its place; of people as a relation in words."""
    new = snapshot.memory(memory.scope, memory.facets.get("superseded_by", "") or "-")
    sides = relation_words(page, memory, snapshot) if people else {}
    return memory_row(page, memory) | {"replacement": page.present(new).text if new else ""} | sides


def weighed_row(
    page: PageContext, memory: Memory | None, offer: Any, verdict: str
) -> dict[str, Any]:
    """Return what recall decided of a memory, which the page may not show if another's."""
    shown = memory if memory and page.shows(memory.scope) else None
    return {
        "id": shown.id if shown else "",
        "memory": memory_row(page, shown) if shown else None,
        "verdict": verdict,
        "likely": round(offer.probability, 3) if offer else None,
    }


def reply_to(snapshot: Snapshot, turn: Turn | None) -> Turn | None:
    """Return the agent's reply, which is among the few turns after the user's."""
    if turn is None:
        return None
    near = snapshot.turns(turn.scope, turn.id, turn.id + 8)
    agent = (reply for reply in near if reply.role == "assistant" and reply.session == turn.session)
    return next((reply for reply in agent if reply.reply_to in (0, turn.id)), None)


# ------------------------------------------------------------------- pages of a catalogue


def newest(
    snapshot: Snapshot,
    rows: Sequence[Memory],
    wanted: Callable[[Memory], bool] = lambda row: True,
    n: int = PAGE,
    after: str = "",
    upto: datetime | None = None,
) -> tuple[list[Memory], str]:
    """Return the newest ``n`` rows that are wanted, as stored, and the cursor of the page behind.

    Args:
        rows: Of a catalogue, in the order of time; those that are gone since are left out.
        after: A cursor, "" for the first page.
        upto: Only what is true since this moment, or since before.
    """
    end = bisect_left(rows, place_of(after), key=place) if after else len(rows)
    if upto is not None:
        end = min(end, bisect_left(rows, (upto, "\U0010ffff"), key=place))
    shown = list(islice((row for row in reversed(rows[:end]) if wanted(row)), n + 1))
    behind = cursor_of(*place(shown[n - 1])) if len(shown) > n else ""
    return stored(snapshot, shown[:n]), behind


def is_fact(memory: Memory) -> bool:
    """Return whether it is a fact that may be shown: neither quarantined nor a repetition."""
    repeats = memory.facets.get("why") == "same"
    return family(memory.kind) == FACT and memory.kind != QUARANTINED and not repeats


def is_current(memory: Memory) -> bool:
    return memory.retired_at is None and memory.kind != QUARANTINED


def stored(snapshot: Snapshot, rows: Sequence[Memory]) -> list[Memory]:
    return [memory for row in rows if (memory := snapshot.read(row.scope, row.id))]


def cursor_of(at: datetime, id: str) -> str:
    return f"{at.isoformat()}|{id}"


def place_of(cursor: str) -> tuple[datetime, str]:
    at, _, id = cursor.partition("|")
    return datetime.fromisoformat(at).astimezone(UTC), id
