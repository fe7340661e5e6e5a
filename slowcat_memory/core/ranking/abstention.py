"""Abstention: the probability that any stored memory answers the query.

Unlike `calibration`, this decides whether to report that nothing is remembered. Errors cost more
here: a user who hears "I do not remember" about their own words will not ask again. Two measures
are the most informative: the MaxSim of the nearest memory (the words shared with the query, without
token vectors), and names that were never said. Others (cosines, how far the nearest stands out, the
share of unseen words, lengths, the store's size) separate the fitted sets better, but generalise
worse: docs/decisions/0018-when-nothing-is-remembered.md.

A logistic regression, fitted by ``python -m benchmarks.unknown`` on RealMem and MADial: each of
their questions against its own memory, and against another person's, where nothing answers, of all
sizes from one session up. LoCoMo is never fitted on, and tests the fit (docs/performance.md).
"""

import math
import re

import numpy as np
from msgspec import Struct

from slowcat_memory.core.language import language_of
from slowcat_memory.core.language.english.vocabulary import COMMON_NAMES, EMPTY
from slowcat_memory.core.language.given_names import is_given_name
from slowcat_memory.core.language.ordinary import is_ordinary, is_word
from slowcat_memory.core.ranking.calibration import size_weight

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:;。！？؟\n*\"“(])\s*$")
_POSSESSIVE = re.compile(r"['’]s?$")
_OWNED = ("'", "'s", "’", "’s")  # how what it matches ends


class AnswerEvidence(Struct, frozen=True, kw_only=True):
    """Measures of whether any memory answers a query.

    Attributes:
        coverage: Share of the query's word weight that the best lexical candidate and its
            neighbours contain.
        max_similarity: MaxSim of the nearest candidate's tokens; NaN without tokens.
        unseen_names: Share of the query's names that were never said; 0 for no names.
        memories: Number of memories searched.
        lacks_value: How surely the query asks for an amount or a time that nothing offered has, 0
            to 1.
    """

    coverage: float
    max_similarity: float
    unseen_names: float
    memories: int
    lacks_value: float = 0.0


class Fit(Struct, frozen=True):
    """Coefficients of a logistic regression; ``best`` is of ``max_similarity``, or ``coverage``."""

    bias: float
    best: float
    unseen_names: float


TOKENS = Fit(bias=-8.48, best=15.12, unseen_names=-2.20)
WORDS = Fit(bias=-1.96, best=9.45, unseen_names=-1.96)  # without token vectors
# Added in a store of a few memories: the nearest of few comes less near by chance, and an answer in
# other words is no nearer than in a large store.
FEW_MEMORIES = 0.46
# Added where a question asks for a value that nothing offered has: even a near memory answers no
# question of its own subject then, but the words of an exact one weigh more. Half of it in a large
# store, where the answer may stand beside what is offered.
LACKS_VALUE = -5.0


def answer_probability(evidence: AnswerEvidence) -> float:
    """Return the probability that any memory answers, 0 to 1; 0 without memories."""
    if not evidence.memories:
        return 0.0
    by_words = math.isnan(evidence.max_similarity)
    fit, best = (WORDS, evidence.coverage) if by_words else (TOKENS, evidence.max_similarity)
    logit = fit.bias + fit.best * best + fit.unseen_names * evidence.unseen_names
    few = 1.0 - size_weight(evidence.memories)
    logit += FEW_MEMORIES * few
    logit += LACKS_VALUE * evidence.lacks_value * (0.5 + 0.5 * few)
    return 1.0 / (1.0 + math.exp(-logit))


def nearness_probability(similarity: np.ndarray, memories: int) -> np.ndarray:
    """Return the same for single memories by their MaxSim, shape (n,); 0 where it is NaN."""
    logit = TOKENS.bias + TOKENS.best * similarity + FEW_MEMORIES * (1.0 - size_weight(memories))
    return np.nan_to_num(1.0 / (1.0 + np.exp(-logit)))


def names_in(text: str, language: str = "english") -> list[str]:
    """Return the words of a query that are names, without a possessive "s".

    Where capitals mark names these are the capitalised words within a sentence, and possessives at
    its beginning. Where they do not (German nouns, STT that writes none, or nothing else), these
    are known given names, and words that are no ordinary ones where a name is expected.
    """
    talk = language_of(language).talk
    if talk.capital_nouns or text.isupper() or text.islower():
        return _uncased_names(text, talk.name_places)
    found = []
    for match in _WORD.finditer(text):
        if not match[0][0].isupper():
            continue
        bare = _POSSESSIVE.sub("", match[0])
        starts = bool(_SENTENCE_START.search(text[max(0, match.start() - 8) : match.start()]))
        if starts and bare == match[0]:
            continue
        if len(bare) > 1 and bare.lower() not in EMPTY:
            found.append(bare)
    return found


def _uncased_names(text: str, places: frozenset[str]) -> list[str]:
    found, before = [], ""
    for match in _WORD.findall(text):
        folded = match.casefold()
        owned = folded.endswith(_OWNED)
        word = _POSSESSIVE.sub("", match) if owned else match
        bare = word.casefold() if owned else folded
        if len(word) > 2 and _is_name(bare, expected=before in places or bare != folded):
            found.append(word)
        before = folded.replace("’", "'")
    return found


def _is_name(word: str, *, expected: bool) -> bool:
    """Return whether a word in lower case is a given name or, where one is expected, no word."""
    if word in COMMON_NAMES:  # "mark", "rose": words as well
        return False
    if is_given_name(word) and not is_word(word):
        return True
    return expected and word not in EMPTY and not is_ordinary(word)
