"""Kinds of memories, and which of them wait to be found.

A kind is a family and, behind a slash, what it is in it: "block/persona", "summary/session".
"""

from slowcat_memory.records import Memory

BLOCK = "block"
FACT = "fact"
QUARANTINED = "fact/quarantined"  # what reads like an order or a link: only the audit shows it
ICEBREAKER = "icebreaker"
NOTE = "note"
SESSION_SUMMARY = "summary/session"
SUMMARY = "summary"
READING, ENTITY, RELATION = "reading", "entity", "relation"
_OF_THE_GRAPH = frozenset({READING, ENTITY, RELATION})  # looked up by name; their turns are found
_APART = frozenset({BLOCK, ICEBREAKER, SUMMARY}) | _OF_THE_GRAPH


def family(kind: str) -> str:
    """Name the family of a kind.

    Args:
        kind: For example "block/persona".

    Returns:
        For example "block".
    """
    return kind.partition("/")[0]


def findable(memory: Memory) -> bool:
    """Tell whether recall and search may find a memory.

    Args:
        memory: Any memory.

    Returns:
        False for what the head of a session says by itself, once; for summaries, which come with a
        question that asks for an overview (``core.overview``); for what is quarantined, for a fact
        that only leads to the turn that says it, and for what is looked up by name.
    """
    if memory.kind == QUARANTINED or memory.facets.get("recalled") == "no":
        return False
    return family(memory.kind) not in _APART


def searchable(memory: Memory) -> bool:
    """Tell whether a search through what is over may find a memory.

    Args:
        memory: Any memory.

    Returns:
        As `findable`, and True for facts too: what somebody looks for is not offered unasked.
    """
    if family(memory.kind) == FACT:
        return memory.kind != QUARANTINED and memory.facets.get("why") != "same"
    return findable(memory)
