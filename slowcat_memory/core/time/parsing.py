"""Splits a text into tokens with a kind each, and finds the expressions of time among them."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, zip_longest
from typing import Any

from msgspec import Struct

from slowcat_memory.core.language.time import TimeWords
from slowcat_memory.core.text.numerals import number_of
from slowcat_memory.core.time import calendar
from slowcat_memory.core.time.calendar import Anchor, Span
from slowcat_memory.core.time.grammar import EXPRESSION, FIRST_YEAR, LAST_YEAR, TO_SPAN, Piece

BEGINNING = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
END = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)


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


class TimeToken(Struct):
    """A word, phrase or number with its offsets; ``kind`` is as in ``core.language.time``."""

    kind: str
    value: Any
    start: int
    end: int


def tokens_of(text: str, language: TimeWords) -> Iterator[TimeToken]:
    """Yield words, numbers and ends of sentences; phrases and compound numbers are one token."""
    plain = list(_plain(text, language))
    place = 0
    while place < len(plain):
        word, token = plain[place]
        for phrase in language.phrases.get(word, ()):
            if tuple(other for other, _ in plain[place : place + len(phrase)]) == phrase:
                kind, value = language.table[" ".join(phrase)]
                place += len(phrase)
                token = TimeToken(kind, value, token.start, plain[place - 1][1].end)
                break
        else:
            place += 1
        while place < len(plain) and (joined := _joined(token, plain[place][1])):
            token, place = joined, place + 1
        yield token


def _plain(text: str, language: TimeWords) -> Iterator[tuple[str, TimeToken]]:
    ordinal = False
    nouns = bool(language.pronouns) and not text.islower()
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
        yield word, TimeToken(kind, value, start, end)


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


def _joined(token: TimeToken, other: TimeToken) -> TimeToken | None:
    """Join two words of one number: twenty-first, twenty three, (20)(23) and two thousand (and) (23) as a year."""
    units = other.value if other.kind == "O" else other.value[0] if other.kind == "w" else 0
    if token.kind == "Y" and other.kind == "w" and token.value % 10 == 0:
        if 1 <= units <= (9 if token.value % 100 else 99):
            return TimeToken("Y", token.value + units, token.start, other.end)
    if token.kind != "w" or token.value[0] != token.value[1]:
        return None
    tens = token.value[0]
    if tens in range(20, 100, 10) and 1 <= units <= 9:
        value = tens + units
        joined = value if other.kind == "O" else (value, value)
        return TimeToken(other.kind, joined, token.start, other.end)
    if other.kind == "w" and tens in (19, 20) and 10 <= units <= 99:
        return TimeToken("Y", 100 * tens + units, token.start, other.end)
    return None


# ------------------------------------------------------------------- expressions


class Atom(Struct):
    """An expression: its tokens from ``start`` to ``end``, the rule that read it, its span."""

    start: int
    end: int
    rule: str
    span: Span


def parse(tokens: Sequence[TimeToken], anchor: Anchor, join: bool = True) -> list[Atom]:
    """Find every expression, then join those that are limits of a longer one."""
    kinds = "".join(token.kind for token in tokens)
    atoms: list[Atom] = []
    for match in EXPRESSION.finditer(kinds):
        rule = match.lastgroup or ""
        span = _span(rule, tokens[match.start() : match.end()], anchor)
        if span is not None and not _is_modified(match, rule, tokens):
            atoms.append(Atom(match.start(), match.end(), rule, span))
    atoms = _without_weekdays(atoms, kinds)
    for atom in atoms:
        _narrow(atom, tokens, kinds)
    whole: list[Atom] = []
    for atom in _ranges(atoms, tokens, kinds, anchor) if join else atoms:
        longer = _with_words_before(atom, tokens, kinds, anchor)
        if longer is not None:
            # The "Friday" of "the Friday before 15 July" was an expression of its own.
            while whole and whole[-1].end > longer.start:
                whole.pop()
            whole.append(longer)
    return whole


_RANGE_ENDS = re.compile(r"e[O>]$")
_PAIR = re.compile(r"(.?)[mv][Ao]$")


def _is_modified(match: re.Match[str], rule: str, tokens: Sequence[TimeToken]) -> bool:
    """Return whether a neighbour changes the meaning in a way that no rule reads.

    "every Tuesday", "a Sunday", "on the awful Friday", "the Friday before the trip".
    """
    kinds, start, end = match.string, match.start(), match.end()
    before = kinds[:start][-3:]
    if before[-1:] == "e" or _RANGE_ENDS.search(before):
        return True
    pair = _PAIR.search(before)
    if (
        rule == "month" and pair and pair[1] not in tuple("iJjcbkuBEFLtS>")
    ):  # "April and May are sisters"
        return True
    if rule != "weekday" or not match[0].startswith("W"):
        return False
    if before[-1:] in ("a", "w", "N") or (
        before[-1:] == "T" and kinds[end : end + 1] in ("b", "k")
    ):
        return True
    if before.endswith("jT."):
        return True
    return before.endswith("J.") and tokens[start - 1].end - tokens[start - 1].start > 4


def _without_weekdays(atoms: Sequence[Atom], kinds: str) -> list[Atom]:
    """Leave out the weekday of "Friday, 12 June" and "Friday the 13th", and clocks beside days."""
    days = [atom for atom in atoms if atom.rule != "clock"] or atoms[:1]
    return [
        atom
        for atom, other in zip_longest(days, days[1:])
        if other is None
        or atom.rule != "weekday"
        or other.rule not in ("date", "day", "nth_day", "iso")
        or kinds[atom.end : other.start].strip("TJj,")
    ]


def _span(rule: str, tokens: Sequence[TimeToken], anchor: Anchor) -> Span | None:
    piece = Piece("".join(token.kind for token in tokens), [token.value for token in tokens])
    try:
        span = TO_SPAN[rule](piece, anchor)
    except (ValueError, OverflowError):  # beyond any calendar: "5000 years ago"
        return None
    return span if span is not None and span.start < span.end else None


def _narrow(atom: Atom, tokens: Sequence[TimeToken], kinds: str) -> None:
    """Narrow a span by a preceding "early" or "the end of"."""
    place = atom.start
    while place and kinds[place - 1] in "ifT":
        place -= 1
    if place and kinds[place - 1] == "E":
        atom.span = calendar.third(atom.span, *tokens[place - 1].value)
        atom.start = place - 1


def _ranges(
    atoms: list[Atom], tokens: Sequence[TimeToken], kinds: str, anchor: Anchor
) -> Iterator[Atom]:
    """Join "between X and Y", "from X to Y", "X until Y"; "A", "B", "o", "u" are their kinds."""
    done = -1
    for place, (atom, other) in enumerate(pairwise([*atoms, None])):
        if place <= done or atom is None:
            continue
        link = kinds[atom.end : other.start].replace("T", "") if other else ""
        before = kinds[: atom.start].rstrip("T")[-1:]
        if other and ((link == "A" and before == "B") or link in ("o", "u")):
            joined = _range(atom, other, tokens, anchor)
            if joined is not None:
                yield joined
                done = place + 1
                continue
        yield atom


def _range(atom: Atom, other: Atom, tokens: Sequence[TimeToken], anchor: Anchor) -> Atom | None:
    first, last = atom.span, other.span
    if anchor.ahead and first.floating and last.floating and last.end <= first.start:
        later = _span(other.rule, tokens[other.start : other.end], Anchor(first.start, ahead=True))
        last = later or last
    if first.floating:  # "between May and July 2023": both of 2023
        near = Anchor(last.end - timedelta(microseconds=1))
        moved = _span(atom.rule, tokens[atom.start : atom.end], near)
        first = moved or first
    if not first.start < last.end:
        return None
    return Atom(atom.start, other.end, atom.rule, Span(first.start, last.end, exact=last.exact))


def _with_words_before(
    atom: Atom, tokens: Sequence[TimeToken], kinds: str, anchor: Anchor
) -> Atom | None:
    """Extend a span by a preceding "since", "before", "two weeks after".

    Kinds: c since, b before, k after, u until, V "ago" in front; U a unit, W a weekday.
    """
    place = atom.start
    while place and kinds[place - 1] == "T":
        place -= 1
    link = kinds[place - 1] if place else ""
    if link not in ("c", "b", "k", "u", "V") or atom.rule in ("ago", "few"):
        return atom
    place -= 1
    span: Span | None
    if link == "V" and place and kinds[place - 1] in "UW":  # "die Woche vor Ostern"
        link = "b"
    if link in "bk" and place and kinds[place - 1] in "UW":
        place -= 1
        unit = tokens[place]
        counted = place and kinds[place - 1] in "Nwa"
        span = _beside(atom.span, unit, tokens[place - 1] if counted else None, link)
        place -= bool(counted)
    else:
        span = _open(atom.span, link, anchor)
    return None if span is None else Atom(place, atom.end, atom.rule, span)


def _beside(span: Span, unit: TimeToken, count: TimeToken | None, link: str) -> Span | None:
    """Resolve "the week before X", "two days after X", "the Friday before X"."""
    edge = span.start if link == "b" else span.end - timedelta(days=1)
    anchor = Anchor(edge, ahead=link == "k")
    try:
        if unit.kind == "W":
            return calendar.weekday(anchor, unit.value)
        if unit.value == "weekend":
            return calendar.unit(anchor, "weekend", -1 if link == "b" else 1)
        if count is None and unit.value != "day":
            near = Anchor(span.start if link == "b" else span.end)
            whole = calendar.rolling(near, unit.value, -1 if link == "b" else 1)
            return Span(whole.start, whole.end)
        low, high = (1, 1) if count is None else count.value
        signed = (-high, -low) if link == "b" else (low, high)
        return calendar.shifted(anchor, unit.value, *signed)
    except (ValueError, OverflowError):
        return None


def _open(span: Span, link: str, anchor: Anchor) -> Span | None:
    beginning, end = BEGINNING.replace(tzinfo=None), END.replace(tzinfo=None)
    if link == "c":
        whole = Span(span.start, anchor.now, exact=True)
    elif link == "k":
        whole = Span(span.end, anchor.now if span.end < anchor.now else end)
    else:
        whole = Span(beginning, span.end if link == "u" else span.start)
    return whole if whole.start < whole.end else None
