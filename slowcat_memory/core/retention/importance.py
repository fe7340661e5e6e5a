"""How much a memory matters, whatever is asked: from its words, its use, and pins.

Pure, and made anew whenever it is needed, so that nothing has to be kept up to date on disk. It
decides which tier a text is kept in (see ``core.ageing``), not its rank. In the ranking the patterns
cost LoCoMo 0.4 points of R@300w: they mark questions, and questions answer little. And what was
offered often must not be offered more for that alone.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

ORDINARY = 0.5
USE_HALF_LIFE_DAYS = 14.0
USE_MOST = 0.4  # what use can add, however often
DAY_S = 86_400.0


class Pattern(Struct, frozen=True):
    """Words that speak of memory.

    Attributes:
        name: What they do.
        words: A regular expression, not sensitive to case.
        adds: To the importance, once per text.
    """

    name: str
    words: "re.Pattern[str]"
    adds: float


def _pattern(name: str, words: str, adds: float) -> Pattern:
    return Pattern(name, re.compile(words, re.IGNORECASE), adds)


# Which words, is the requirements'; how much each adds, is ours: together they stay below a pin.
PATTERNS = (
    _pattern("speaks of memory", r"\b(?:remember|recall|told you|mention(?:ed)?|said)\b", 0.15),
    _pattern("asks for one's own", r"\bwhat (?:is|was|are|were) my\b|\bdo you know my\b", 0.15),
    _pattern("looks back", r"\b(?:last time|before|previously|earlier)\b", 0.10),
    _pattern("asks", r"\?", 0.05),
)


def said(text: str) -> float:
    """Judge a text by its words.

    Args:
        text: What was said.

    Returns:
        From ``ORDINARY`` to 1.
    """
    return min(1.0, ORDINARY + sum(p.adds for p in PATTERNS if p.words.search(text)))


def used(at: Iterable[float], now: float) -> float:
    """Judge a memory by how often, and how lately, it was put before the LLM.

    Args:
        at: When it was, in seconds since the epoch.
        now: The time, likewise.

    Returns:
        0 when never; each time counts 1 and halves in ``USE_HALF_LIFE_DAYS``.
    """
    return sum(2.0 ** (-max(0.0, now - then) / (USE_HALF_LIFE_DAYS * DAY_S)) for then in at)


def importance(words: float, use: float, pinned: bool) -> float:
    """Put the three together.

    Args:
        words: From ``said``, or what a person gave.
        use: From ``used``.
        pinned: A person asked that it always counts.

    Returns:
        0 to 1; 1 when pinned.
    """
    if pinned:
        return 1.0
    return min(1.0, words + USE_MOST * use / (1.0 + use))
