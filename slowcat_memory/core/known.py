"""Is anything remembered about what is asked at all?

Another question than which memory is the likeliest (see `calibrate`): whether to say that there is
none. Being wrong costs more here: who is told "I do not remember" about what they said themselves
will not ask again. So it looks at more: at how near the best memory comes by words, by its vector
and by its tokens, at how far it stands out from the others, and above all at what was never said
here. Somebody asked about by a name that nobody ever mentioned is not remembered.

A logistic regression, fitted by ``python -m benchmarks.unknown`` on RealMem and MADial: each of their
questions asked where it belongs, and of somebody else's memory, where nothing answers, of all sizes
from one session up. LoCoMo never fits, and judges (docs/performance.md). What asks about something
near to what was said, and not said itself, cannot be told by it: LoCoMo's adversarial questions.
"""

import math
import re

import numpy as np
from msgspec import Struct

from slowcat_memory.core.calibrate import largeness
from slowcat_memory.core.queries import EMPTY

Array = np.ndarray
OTHERS = 60  # of the nearest memories, what the best one is compared with
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_BEGINNING = re.compile(r"(?:^|[.!?…:;。！？؟\n*\"“(])\s*$")
_POSSESSIVE = re.compile(r"['’]s?$")


class Signs(Struct, frozen=True, kw_only=True):
    """What speaks for and against a query being answered by anything.

    Attributes:
        coverage: Share of the query's weight in words that the best candidate by words and its
            neighbours hold.
        gap: The best cosine above the median of the ``OTHERS`` nearest; NaN without vectors.
        near: MaxSim of the nearest candidate's tokens; NaN without tokens.
        heard: Share of the query's weight in words that were ever said.
        strange: Share of the query's names that never were; 0 for no names.
        words: How many words of it are searched for.
        memories: How many are searched.
    """

    coverage: float
    gap: float
    near: float
    heard: float
    strange: float
    words: int
    memories: int


NAMES = ("bias", "coverage", "heard", "strange", "words", "size", "gap", "near")
FULL: tuple[float, ...] = (0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
WORDS: tuple[float, ...] = (0.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # where there are no vectors, or none of tokens


def features(signs: Signs) -> tuple[float, ...]:
    """Lay out what the regression is of.

    Args:
        signs: Of a query.

    Returns:
        In the order of ``NAMES``, without the bias; NaN for what is missing.
    """
    return (
        signs.coverage,
        signs.heard,
        signs.strange,
        math.log1p(signs.words),
        largeness(signs.memories) - 1.0,
        signs.gap,
        signs.near,
    )


def probability(signs: Signs) -> float:
    """Estimate how likely anything remembered answers.

    Args:
        signs: Of a query.

    Returns:
        0 to 1; 0 where there are no memories.
    """
    if not signs.memories:
        return 0.0
    measured = features(signs)
    fit = WORDS if math.isnan(signs.gap + signs.near) else FULL
    sum_ = fit[0] + sum(a * b for a, b in zip(fit[1:], measured, strict=False))
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, sum_))))


def outstanding(cosines: Array | None) -> float:
    """Measure how far the nearest memory stands out.

    Args:
        cosines: Of the candidates, shape (n,), NaN where one has no vector; None for no vectors.

    Returns:
        See ``Signs.gap``.
    """
    held = np.sort(cosines[~np.isnan(cosines)])[::-1][:OTHERS] if cosines is not None else ()
    return float(held[0] - np.median(held)) if len(held) else math.nan


def names_in(text: str) -> list[str]:
    """Find the words of a query that are written as names are.

    Args:
        text: A query.

    Returns:
        Capitalised words within a sentence, and possessives at its beginning, without their s; none
        where everything is capitalised. A recogniser that writes no capitals tells no names.
    """
    if text.isupper():
        return []
    found = []
    for match in _WORD.finditer(text):
        bare = _POSSESSIVE.sub("", match[0])
        begins = bool(_BEGINNING.search(text[max(0, match.start() - 8) : match.start()]))
        if begins and bare == match[0]:
            continue
        if len(bare) > 1 and bare[0].isupper() and bare.lower() not in EMPTY:
            found.append(bare)
    return found
