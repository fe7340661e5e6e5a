"""Durability: which statements will still hold later, and so may become facts.

The gate of requirements V05 and F10: nothing time-bound, no one-off action, no question about what
the agent can do. An event with a date, and a thing that is left to do, are facts of their own types
and may pass; so is anything that a user asked to be kept.
"""

import re
from typing import Literal

from slowcat_memory.core.language import of_any

_META = re.compile(rf"\b(?:{of_any(lambda one: one.facts.reported)})\b", re.IGNORECASE)
_PASSING = re.compile(rf"\b(?:{of_any(lambda one: one.facts.passing)})\b", re.IGNORECASE)
_ORDER = re.compile(rf"^\W*(?:{of_any(lambda one: one.facts.orders)})\b", re.IGNORECASE)
_INSTRUCTS = re.compile(rf"\b(?:{of_any(lambda one: one.facts.instructs)})", re.IGNORECASE)
DATED = frozenset({"event", "open_thread", "task_completed", "decision", "plan"})
MIN_WORDS, MAX_WORDS = 3, 60
Transient = Literal["length", "order", "meta", "passing"]


def why_transient(type_: str, content: str) -> Transient | None:
    """Return why a sentence in the third person is no lasting fact of a type; None if it is one."""
    if not MIN_WORDS <= len(content.split()) <= MAX_WORDS:
        return "length"
    if _ORDER.search(content) or _INSTRUCTS.search(content):
        return "order"
    if _META.search(content):
        return "meta"
    return "passing" if type_ not in DATED and _PASSING.search(content) else None
