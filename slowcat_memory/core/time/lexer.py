"""Splits a text into tokens with a kind each, for the grammar of time expressions."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from slowcat_memory.core.language.time import TimeWords
from slowcat_memory.core.text.numerals import number_of
from slowcat_memory.core.time.grammar import FIRST_YEAR, LAST_YEAR

_DATE_SIGN = re.compile(r"[-/.]")
_TOKEN = re.compile(
    r"(?P<iso>\d{4}[-/]\d\d?(?:[-/]\d\d?)?(?!\d))"
    r"|(?P<dotted>\d\d?\.\d\d?\.\d{4}(?!\d))"
    r"|(?P<short>\d\d?\.\d\d?\.(?!\d))"
    r"|(?P<other>\d+[:.,/]\d[\d:.,/]*)"
    r"|(?P<place>\d\d?\.(?=\s+[^\W\d_]))"
    r"|(?P<number>\d+)(?P<ending>[^\W\d_]*)"
    r"|(?P<word>[^\W\d_]+)(?:['’]s\b)?"
    r"|(?P<comma>,)"
    r"|(?P<stop>[!?;]|(?<=[^\W\d_]{4})\.(?=\s))"
)


class Token(Struct):
    """A word, phrase or number with its offsets; ``kind`` is as in ``core.language.time``."""

    kind: str
    value: Any
    start: int
    end: int


def tokens_of(text: str, language: TimeWords) -> Iterator[Token]:
    """Yield words, numbers and ends of sentences; phrases and compound numbers are one token."""
    plain = list(_plain(text, language))
    place = 0
    while place < len(plain):
        word, token = plain[place]
        for phrase in language.phrases.get(word, ()):
            if tuple(other for other, _ in plain[place : place + len(phrase)]) == phrase:
                kind, value = language.table[" ".join(phrase)]
                place += len(phrase)
                token = Token(kind, value, token.start, plain[place - 1][1].end)
                break
        else:
            place += 1
        while place < len(plain) and (joined := _joined(token, plain[place][1])):
            token, place = joined, place + 1
        yield token


def _plain(text: str, language: TimeWords) -> Iterator[tuple[str, Token]]:
    ordinal = False
    nouns = language.capitalised and not text.islower()
    for match in _TOKEN.finditer(text):
        if match["comma"] and not (
            ordinal and not text[match.end() : match.end() + 3].lstrip()[:1].isdigit()
        ):
            continue
        start, end = match.span()
        word = (match["word"] or "").lower()
        if word:
            kind, value = language.table.get(word) or _number_word(word)
            if kind == "v" and start and match["word"][0].isupper():  # "In May we moved"
                kind = "m"
            if kind == "." and nouns and match["word"][0].isupper():
                kind = "." if _begins_sentence(text[end:], language) else "K"
        else:
            kind, value = _number(match, language)
        ordinal = kind in "Oq"
        yield word, Token(kind, value, start, end)


def _number_word(word: str) -> tuple[str, Any]:
    number, ordinal = number_of(word) or (0, False)
    if number in range(1, 100):
        return ("O", number) if ordinal else ("w", (number, number))
    return ("y", number) if number in range(1910, 2100) else (".", None)


def _begins_sentence(rest: str, language: TimeWords) -> bool:
    """Return whether a pronoun follows a word, which is then a verb at the beginning."""
    following = _TOKEN.match(rest.lstrip())
    return following is not None and (following["word"] or "").lower() in language.pronouns


def _number(match: re.Match[str], language: TimeWords) -> tuple[str, Any]:
    if match["stop"] or match["comma"]:
        return "," if match["comma"] else "|", None
    if match["iso"] or match["dotted"]:
        numbers = [int(part) for part in _DATE_SIGN.split(match[0])]
        year, month, day = numbers[::-1] if match["dotted"] else [*numbers, 0][:3]
        return "X", (year, month, day)
    if match["short"] or match["place"]:
        dotted = "." in language.ordinal  # 12.6. and 12. are a date and an ordinal
        parts = [int(part) for part in match[0].split(".") if part]
        if match["place"]:
            return ("q", parts[0]) if dotted else ("N", (parts[0], parts[0]))
        return ("X", (0, parts[1], parts[0])) if dotted else (".", None)
    if match["other"] or len(match["number"]) > 4:
        return ".", None
    value, ending = int(match["number"]), match["ending"].lower()
    if ending in ("s", "er", "ern") and value % 10 == 0:  # the 80s, 1980s, die 80er
        year = value if value >= FIRST_YEAR else 1900 + value
        return ("C", year) if FIRST_YEAR + 50 <= year <= LAST_YEAR else (".", None)
    if ending:
        return ("q", value) if ending in language.ordinal else (".", None)
    if len(match["number"]) == 4 and FIRST_YEAR <= value <= LAST_YEAR:
        return "Y", value
    return "N", (value, value)


def _joined(token: Token, other: Token) -> Token | None:
    """Join two words of one number: twenty-first, twenty three, (20)(23) and two thousand (and) (23) as a year."""
    units = other.value if other.kind == "O" else other.value[0] if other.kind == "w" else 0
    if token.kind == "Y" and other.kind == "w" and token.value % 10 == 0:
        if 1 <= units <= (9 if token.value % 100 else 99):
            return Token("Y", token.value + units, token.start, other.end)
    if token.kind != "w" or token.value[0] != token.value[1]:
        return None
    tens = token.value[0]
    if tens in range(20, 100, 10) and 1 <= units <= 9:
        value = tens + units
        joined = value if other.kind == "O" else (value, value)
        return Token(other.kind, joined, token.start, other.end)
    if other.kind == "w" and tens in (19, 20) and 10 <= units <= 99:
        return Token("Y", 100 * tens + units, token.start, other.end)
    return None
