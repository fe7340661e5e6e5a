"""What a turn leaves open, in the words of a fact: "he's borrowing a van" (Ronan is borrowing …).

A turn is offered as it was said. Who "he" is, and which day "yesterday" was, stands in the facts
that an LLM read from it: one that has a name or a date which the turn lacks is added in brackets,
and of a turn that is cut, one with a number that is cut away, as far as there is room.
"""

import re
from collections.abc import Iterator

from slowcat_memory.core.text.normalize import estimate_tokens, fold, neutralise
from slowcat_memory.core.text.rare_words import is_common
from slowcat_memory.core.time.written_dates import MONTHS
from slowcat_memory.records import Disclosed

FACTS = "facts"  # the facet with a turn's facts, one a line
MOST = 2  # facts of a turn
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_GAP = "…"


def in_clear_words(memory: Disclosed, line: str, room: int) -> str:
    """Return a memory's line with what facts add to it, if they fit a number of tokens."""
    facts = memory.facets.get(FACTS, "")
    found = list[str]()
    for fact in facts.splitlines() if facts else ():
        shown = " ".join((line, *found))
        cost = estimate_tokens(fact) + 2
        if len(found) < MOST and cost <= room and _adds(fact, memory, shown):
            found.append(neutralise(fact))
            room -= cost
    return f"{line} ({' '.join(found)})" if found else line


def _adds(fact: str, memory: Disclosed, shown: str) -> bool:
    words = set(_WORD.findall(fold(f"{shown} {memory.speaker}")))
    if any(name not in words for name in _names(fact)):
        return True
    return _GAP in shown and any(number not in shown for number in _NUMBER.findall(fact))


def _names(fact: str) -> Iterator[str]:
    """Yield the names and months of a fact, folded."""
    for match in _WORD.finditer(fact):
        word = fold(match[0])
        is_name = match[0][0].isupper() and len(word) > 1 and not is_common(word)
        if is_name or word in MONTHS:
            yield word
