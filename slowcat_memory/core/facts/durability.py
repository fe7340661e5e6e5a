"""Durability: which statements will still hold later, and so may become facts.

The gate of requirements V05 and F10: nothing time-bound, no one-off action, no question about what
the agent can do. An event with a date, and a thing that is left to do, are facts of their own types
and may pass; so is anything that a user asked to be kept.
"""

import re

from msgspec import Struct

from slowcat_memory.core.language import of_any

_META = re.compile(rf"\b(?:{of_any(lambda one: one.facts.reported)})\b", re.IGNORECASE)
_PASSING = re.compile(rf"\b(?:{of_any(lambda one: one.facts.passing)})\b", re.IGNORECASE)
_ORDER = re.compile(rf"^\W*(?:{of_any(lambda one: one.facts.orders)})\b", re.IGNORECASE)
_INSTRUCTS = re.compile(rf"\b(?:{of_any(lambda one: one.facts.instructs)})", re.IGNORECASE)
DATED = frozenset({"event", "open_thread", "task_completed", "decision", "plan"})
MIN_WORDS, MAX_WORDS = 3, 60


class Kept(Struct, frozen=True):
    """Whether a statement may become a fact.

    Attributes:
        keep: Whether.
        why: The reason why not: "meta", "passing", "order", "length"; "" when it may.
    """

    keep: bool
    why: str = ""


def keepable(type_: str, content: str) -> Kept:
    """Decide whether a sentence in the third person becomes a fact of a type."""
    words = len(content.split())
    if not MIN_WORDS <= words <= MAX_WORDS:
        return Kept(False, "length")
    if _ORDER.search(content) or _INSTRUCTS.search(content):
        return Kept(False, "order")
    if _META.search(content):
        return Kept(False, "meta")
    if type_ not in DATED and _PASSING.search(content):
        return Kept(False, "passing")
    return Kept(True)
