"""Abstention: the probability that any stored memory answers the query.

This is another question than which memory is the likeliest (see `calibration`): whether to say that
nothing is remembered. Being wrong costs more here: a user who is told "I do not remember" about
their own words will not ask again. Two measures tell most: how near the nearest memory's tokens
come (MaxSim; the words that it shares with the query, where there are no tokens), and names that
were never said. What else was tried (cosines, how far the nearest stands out, the share of unseen
words, lengths, the store's size) separates the fitted sets better, and carries over worse:
docs/decisions/0018-when-nothing-is-remembered.md.

A logistic regression, fitted by ``python -m benchmarks.unknown`` on RealMem and MADial: each of
their questions asked of its own memory, and of somebody else's, where nothing answers, of all sizes
from one session up. LoCoMo is never fitted on, and tests the fit (docs/performance.md).
"""

import math
import re

from msgspec import Struct

from slowcat_memory.core.language.english.vocabulary import EMPTY

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:;。！？؟\n*\"“(])\s*$")
_POSSESSIVE = re.compile(r"['’]s?$")


class AnswerEvidence(Struct, frozen=True, kw_only=True):
    """Evidence for and against a query being answered by any memory.

    Attributes:
        coverage: Share of the query's weight in words that the best candidate by words and its
            neighbours hold.
        max_similarity: MaxSim of the nearest candidate's tokens; NaN without tokens.
        unseen_names: Share of the query's names that were never said; 0 for no names.
        memories: How many are searched.
    """

    coverage: float
    max_similarity: float
    unseen_names: float
    memories: int


class Fit(Struct, frozen=True):
    """Coefficients of a logistic regression.

    Attributes:
        bias: The constant.
        best: Of ``max_similarity``, or of ``coverage``.
        unseen_names: Of ``unseen_names``.
    """

    bias: float
    best: float
    unseen_names: float


TOKENS = Fit(bias=-8.48, best=15.12, unseen_names=-2.20)
WORDS = Fit(bias=-1.96, best=9.45, unseen_names=-1.96)  # where no tokens are compared


def answer_probability(evidence: AnswerEvidence) -> float:
    """Return the probability that any memory answers, 0 to 1; 0 without memories."""
    if not evidence.memories:
        return 0.0
    by_words = math.isnan(evidence.max_similarity)
    fit, best = (WORDS, evidence.coverage) if by_words else (TOKENS, evidence.max_similarity)
    logit = fit.bias + fit.best * best + fit.unseen_names * evidence.unseen_names
    return 1.0 / (1.0 + math.exp(-logit))


def names_in(text: str) -> list[str]:
    """Return the words of a query that are written as names are.

    These are capitalised words within a sentence, and possessives at its beginning, without their
    "s"; none where everything is capitalised. STT that writes no capitals yields no names.
    """
    if text.isupper():
        return []
    found = []
    for match in _WORD.finditer(text):
        bare = _POSSESSIVE.sub("", match[0])
        starts = bool(_SENTENCE_START.search(text[max(0, match.start() - 8) : match.start()]))
        if starts and bare == match[0]:
            continue
        if len(bare) > 1 and bare[0].isupper() and bare.lower() not in EMPTY:
            found.append(bare)
    return found
