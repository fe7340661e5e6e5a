"""What a turn leaves open, in the words of a fact: "he's borrowing a van" (Ronan is borrowing …).

A turn is offered as it was said. Who "he" is, and which day "yesterday" was, stands in the facts
that an LLM read from it: one that has a name or a date which the turn lacks is added in brackets,
and of a turn that is cut, one with a number that is cut away, as far as there is room.
"""

import re

from slowcat_memory.core.text.normalize import estimate_tokens, fold, neutralise
from slowcat_memory.core.text.rare_words import is_common
from slowcat_memory.core.time.written_dates import MONTHS
from slowcat_memory.records import Disclosed
from slowcat_memory.text_caches import text_cache

FACTS = "facts"  # the facet with a turn's facts, one a line
MOST = 2  # facts of a turn
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_GAP = "…"


def in_clear_words(memory: Disclosed, line: str, room: int) -> str:
    """Return a memory's line with what facts add to it, if they fit a number of tokens."""
    facts = memory.facets.get(FACTS, "")
    if not facts:
        return line
    found, shown = list[str](), _words(f"{line} {memory.speaker}")
    for fact in facts.splitlines():
        new = _names(fact) - shown
        if len(found) < MOST and (any(map(_is_name, new)) or _restores(fact, line)):
            cost = estimate_tokens(fact) + 2
            if cost <= room:
                found.append(neutralise(fact))
                shown |= _words(fact)
                room -= cost
    return f"{line} ({' '.join(found)})" if found else line


def _restores(fact: str, line: str) -> bool:
    """Return whether a fact has a number that a cut line lacks."""
    return _GAP in line and any(number not in line for number in _NUMBER.findall(fact))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(fold(text)))


@text_cache(1024)
def _names(fact: str) -> frozenset[str]:
    """Return the words of a fact that may be names or months, folded."""
    found = _WORD.findall(fact)
    return frozenset(fold(word) for word in found if word[0].isupper() or fold(word) in MONTHS)


def _is_name(word: str) -> bool:
    return word in MONTHS or (len(word) > 1 and not is_common(word))
