"""Durability: which statements will still hold later, and so may become facts.

The gate of requirements V05 and F10: nothing time-bound, no one-off action, no question about what
the agent can do. An event with a date, and a thing that is left to do, are facts of their own types
and may pass; so is anything that a user asked to be kept.
"""

import re

from msgspec import Struct

_META = re.compile(
    r"\b(?:asked|asks|wonders (?:if|whether|what|how|why|who)|wants to know|inquired|"
    r"requested|greeted|thanked|said (?:hello|goodbye)|"
    r"the (?:assistant|agent|bot|ai)|this (?:conversation|chat|call)|can (?:you|the assistant)|"
    r"is (?:talking|speaking|chatting|asking)|fragte|bedankte|begrüßte|der assistent)\b",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:right now|at the moment|currently (?:sitting|eating|driving|walking|waiting|cooking)|"
    r"just (?:woke|got up|ate|had)|"
    r"is (?:tired|hungry|sleepy|bored|busy|late|here|back|ready|fine|ok)\b|"
    r"feels? (?:tired|hungry|sleepy|bored|better)|today|tonight|this (?:morning|afternoon|evening)|"
    r"gerade|im moment|heute)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^\W*(?:always|never|ignore|disregard|forget|remember to|from now on|you (?:must|should|are)|"
    r"do not|don't|please|system|instruction|act as|pretend|reveal|send|delete|execute|run|immer|"
    r"ignoriere|vergiss|ab jetzt|du (?:musst|sollst|bist))\b",
    re.IGNORECASE,
)
_INSTRUCTS = re.compile(
    r"\b(?:ignore (?:all|any|the|your|previous)|from now on|"
    r"your (?:instructions|rules|system prompt)|"
    r"(?:system|developer) (?:prompt|message)|jailbreak|password|api key|you must (?:always|never)|"
    r"(?:the )?(?:assistant|agent|ai|bot) (?:must|should|shall|has to|always|never|will)|"
    r"https?://|www\.)",
    re.IGNORECASE,
)
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
