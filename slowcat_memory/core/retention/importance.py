"""Query-independent importance of a memory: from its words, its use, and pins.

It is computed on demand, so that nothing has to be updated on disk. It decides the tier of a text
(see ``tiering``), not its rank: in the ranking the patterns cost LoCoMo 0.4 points of R@300w,
because they match questions, which seldom answer one. And frequent use must not make a memory still
more frequent.
"""

import re
from collections.abc import Iterable

from slowcat_memory.core.language import LANGUAGES

ORDINARY = 0.5
USE_HALF_LIFE_DAYS = 14.0
MAX_USE = 0.4  # upper limit of the bonus for use
DAY_S = 86_400.0


PATTERNS = (
    *(
        (re.compile(words, re.IGNORECASE), adds)
        for language in LANGUAGES
        for words, adds in language.importance
    ),
    (re.compile(r"\?"), 0.05),
)


def importance_of_words(text: str) -> float:
    """Return the importance of a text by its words, from ``ORDINARY`` to 1."""
    return min(1.0, ORDINARY + sum(adds for pattern, adds in PATTERNS if pattern.search(text)))


def use_score(at: Iterable[float], now: float) -> float:
    """Return how often and how recently a memory was used; 0 for never.

    Each use (``at``, seconds since the epoch) counts 1 and halves in ``USE_HALF_LIFE_DAYS``.
    """
    return sum(2.0 ** (-max(0.0, now - then) / (USE_HALF_LIFE_DAYS * DAY_S)) for then in at)


def importance(words: float, use: float, pinned: bool) -> float:
    """Return the importance, 0 to 1, from words (or set by a user), use and pin; 1 if pinned."""
    if pinned:
        return 1.0
    return min(1.0, words + MAX_USE * use / (1.0 + use))
