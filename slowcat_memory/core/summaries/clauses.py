"""Cuts sentences into clauses that can stand alone, without fillers.

A clause ends at a semicolon or dash, and where a conjunction or a new subject begins one. An opening
that says nothing ("well, I think"), a tail ("you know") and words of emphasis ("really") are left
out. What is left are the speaker's own words in their order; nothing is reworded.
"""

import re
from functools import cache

from slowcat_memory.core.language import ENGLISH, Language, language_of

_MARKS = " \t,;:–—-"
_EDGE = re.compile(r"^\W+|\W+$")


def clauses(sentence: str, language: Language = ENGLISH) -> list[str]:
    """Return the clauses of a sentence without fillers; none of a sentence that has no others."""
    cuts, opening, tail = _patterns(language.name)
    parts = (part.strip(_MARKS) for part in cuts.split(sentence) if part)
    trimmed = (_without_fillers(tail.sub("", opening.sub("", part)), language) for part in parts)
    return [part for part in trimmed if any(map(str.isalnum, part))]


def as_sentence(clause: str) -> str:
    """Return a clause with a capital letter at its beginning and a mark at its end."""
    whole = clause[:1].upper() + clause[1:]
    return whole if whole[-1:] in ".!?…" else f"{whole.rstrip(_MARKS)}."


def _without_fillers(clause: str, language: Language) -> str:
    """Drop emphasis; one that is the last word may be what the clause says ("it is enough")."""
    fillers, words = language.extracts.fillers, clause.split()
    bare = (_EDGE.sub("", word).casefold() for word in words)
    kept = [
        word
        for place, (word, plain) in enumerate(zip(words, bare, strict=True))
        if plain not in fillers or place == len(words) - 1
    ]
    return " ".join(kept).strip(_MARKS)


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    words = language_of(language).extracts
    subject = _any(words.subjects)
    cuts = (
        rf"\s*(?:[;:]\s|(?:\s[-–—]+\s|—|--)(?=\s*(?:{_any(words.conjunctions)}|{subject})\b))\s*"
        rf"|,\s*(?=(?:{_any(words.conjunctions)}|{subject})\b)"
        rf"|\s+(?=(?:{_any(words.contrasts)})\b)"
        rf"|\s+(?=(?:{_any(words.additions)}) (?:{subject})\b)"
    )
    opening = rf"^(?:(?:{_any(words.openings)})(?![\w'’])[\s,]*)+"
    tail = rf"(?:[\s,]+(?:{_any(words.tails)}))+(?=[.!?…]*$)"
    return _compiled(cuts), _compiled(opening), _compiled(tail)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _any(phrases: tuple[str, ...]) -> str:
    longest_first = sorted(phrases, key=len, reverse=True)
    return "|".join(re.escape(one).replace("'", "['’]") for one in longest_first)
