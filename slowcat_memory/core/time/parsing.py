"""Finds the expressions of time among the tokens of a text, by the grammar."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise, zip_longest

from msgspec import Struct

from slowcat_memory.core.time import calendar
from slowcat_memory.core.time.calendar import Anchor, Span
from slowcat_memory.core.time.grammar import EXPRESSION, FIRST_YEAR, LAST_YEAR, TO_SPAN, Piece
from slowcat_memory.core.time.lexer import Token

BEGINNING = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
END = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)


class Atom(Struct):
    """An expression: its tokens from ``start`` to ``end``, the rule that read it, its span."""

    start: int
    end: int
    rule: str
    span: Span


def parse(tokens: Sequence[Token], anchor: Anchor, join: bool = True) -> list[Atom]:
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


def _is_modified(match: re.Match[str], rule: str, tokens: Sequence[Token]) -> bool:
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


def _span(rule: str, tokens: Sequence[Token], anchor: Anchor) -> Span | None:
    piece = Piece("".join(token.kind for token in tokens), [token.value for token in tokens])
    try:
        span = TO_SPAN[rule](piece, anchor)
    except (ValueError, OverflowError):  # beyond any calendar: "5000 years ago"
        return None
    return span if span is not None and span.start < span.end else None


def _narrow(atom: Atom, tokens: Sequence[Token], kinds: str) -> None:
    """Narrow a span by a preceding "early" or "the end of"."""
    place = atom.start
    while place and kinds[place - 1] in "ifT":
        place -= 1
    if place and kinds[place - 1] == "E":
        atom.span = calendar.third(atom.span, *tokens[place - 1].value)
        atom.start = place - 1


def _ranges(
    atoms: list[Atom], tokens: Sequence[Token], kinds: str, anchor: Anchor
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


def _range(atom: Atom, other: Atom, tokens: Sequence[Token], anchor: Anchor) -> Atom | None:
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
    atom: Atom, tokens: Sequence[Token], kinds: str, anchor: Anchor
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


def _beside(span: Span, unit: Token, count: Token | None, link: str) -> Span | None:
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
        made = Span(span.start, anchor.now, exact=True)
    elif link == "k":
        made = Span(span.end, anchor.now if span.end < anchor.now else end)
    else:
        made = Span(beginning, span.end if link == "u" else span.start)
    return made if made.start < made.end else None
