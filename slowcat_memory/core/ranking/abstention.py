"""Is anything remembered about what is asked at all?

Another question than which memory is the likeliest (see `calibrate`): whether to say that there is
none. Being wrong costs more here: who is told "I do not remember" about what they said themselves
will not ask again. Two signs tell most: how near the nearest memory's tokens come (MaxSim; the words
that it shares with the question, where there are no tokens), and what was *never* said. Somebody who
is asked about by a name that nobody ever mentioned is not remembered. What else was tried (cosines,
how far the nearest stands out, the share of unheard words, lengths, the store's size) tells the
fitted sets apart better, and carries over worse: docs/decisions/0018-when-nothing-is-remembered.md.

A logistic regression, fitted by ``python -m benchmarks.unknown`` on RealMem and MADial: each of their
questions asked where it belongs, and of somebody else's memory, where nothing answers, of all sizes
from one session up. LoCoMo never fits, and judges (docs/performance.md).
"""

import math
import re

from msgspec import Struct

from slowcat_memory.core.text.word_lists import EMPTY

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_BEGINNING = re.compile(r"(?:^|[.!?…:;。！？؟\n*\"“(])\s*$")
_POSSESSIVE = re.compile(r"['’]s?$")


class Signs(Struct, frozen=True, kw_only=True):
    """What speaks for and against a query being answered by anything.

    Attributes:
        coverage: Share of the query's weight in words that the best candidate by words and its
            neighbours hold.
        near: MaxSim of the nearest candidate's tokens; NaN without tokens.
        strange: Share of the query's names that nobody ever said; 0 for no names.
        memories: How many are searched.
    """

    coverage: float
    near: float
    strange: float
    memories: int


class Fit(Struct, frozen=True):
    """Coefficients of a logistic regression.

    Attributes:
        bias: The constant.
        best: Of ``Signs.near``, or of ``Signs.coverage``.
        strange: Of ``Signs.strange``.
    """

    bias: float
    best: float
    strange: float


TOKENS = Fit(bias=-8.48, best=15.12, strange=-2.20)
WORDS = Fit(bias=-1.96, best=9.45, strange=-1.96)  # where no tokens are compared


def probability(signs: Signs) -> float:
    """Estimate how likely anything remembered answers.

    Args:
        signs: Of a query.

    Returns:
        0 to 1; 0 where there are no memories.
    """
    if not signs.memories:
        return 0.0
    fit, best = (WORDS, signs.coverage) if math.isnan(signs.near) else (TOKENS, signs.near)
    return 1.0 / (1.0 + math.exp(-(fit.bias + fit.best * best + fit.strange * signs.strange)))


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
