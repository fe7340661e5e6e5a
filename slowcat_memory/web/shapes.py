"""Records as the page shows them: plain values, times in ISO 8601, texts as they are.

The page is on this machine, so local-only texts are shown; whether one is local-only is shown too.
"""

from datetime import datetime
from typing import Any

from slowcat_memory.core.graph.portrait import predicate_in_words
from slowcat_memory.core.memory import BLOCK, NOTE, chunk_id, family
from slowcat_memory.records import Memory, Session, Turn
from slowcat_memory.store import Snapshot
from slowcat_memory.web.context import PageContext

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
