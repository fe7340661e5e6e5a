"""Kinds of memories, and which of them recall and search may find.

A kind is a family and, behind a slash, a subtype: "block/persona", "summary/session".
"""

from slowcat_memory.records import Memory

BLOCK = "block"
FACT = "fact"
QUARANTINED = "fact/quarantined"  # reads like a prompt injection or a link: only the audit shows it
ICEBREAKER = "icebreaker"
NOTE = "note"
SESSION_SUMMARY = "summary/session"
SUMMARY = "summary"
READING, ENTITY, RELATION = "reading", "entity", "relation"
_GRAPH = frozenset({READING, ENTITY, RELATION})  # looked up by name; recall finds their turns
_NOT_INDEXED = frozenset({BLOCK, ICEBREAKER, SUMMARY}) | _GRAPH


def family(kind: str) -> str:
    """Return the family of a kind: "block" for "block/persona"."""
    return kind.partition("/")[0]


def findable(memory: Memory) -> bool:
    """Return whether recall and search may find a memory.

    Not: what the session preamble holds anyway; summaries, which come with a question that asks for
    an overview (``core.query.overview``); what is quarantined; a fact that only points to the turn
    that says it; and what is looked up by name.
    """
    if memory.kind == QUARANTINED or memory.facets.get("recalled") == "no":
        return False
    return family(memory.kind) not in _NOT_INDEXED


def searchable(memory: Memory) -> bool:
    """Return whether a search through retired memories may find a memory: facts are included."""
    if family(memory.kind) == FACT:
        return memory.kind != QUARANTINED and memory.facets.get("why") != "same"
    return findable(memory)
