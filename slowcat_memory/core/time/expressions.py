"""Finds time expressions and resolves them to intervals: by rules, in the user's time zone.

"What did I do last weekend?" yields two days. A text without time words costs a look-up of its
words; any other, one pass of a small grammar (``grammar``). Offline date parsers return moments and
cost 0.05 to 7 ms: docs/decisions/0013-time-expressions.md.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise

from msgspec import Struct

from slowcat_memory.core.language import language_of
from slowcat_memory.core.text.normalize import asking
from slowcat_memory.core.time import calendar
from slowcat_memory.core.time.calendar import Anchor, Span
from slowcat_memory.core.time.grammar import EXPRESSION, FIRST_YEAR, LAST_YEAR, TO_SPAN, Piece
from slowcat_memory.core.time.lexer import Token, tokens_of

MAX_CHARS = 4000  # of a text, read for times
MAX_TIMES = 8  # of a text
BEGINNING = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
END = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)

_WORDS = re.compile(r"[^\W\d_]+")
_NUMERIC = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|\d(?:st|nd|rd|th)\b|\d\.(?:\d|\s)")


class WhenOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How time expressions are parsed.

    Attributes:
        language: Language of the text, as in ``language_of``.
        southern_hemisphere: Whether summer begins in December.
    """

    language: str = "english"
    southern_hemisphere: bool = False


class Interval(Struct, frozen=True):
    """A time span in UTC and its expression; ``end`` is the first moment after it.

    ``vague`` spans are no part of the calendar ("recently", "the other day").
    """

    start: datetime
    end: datetime
    words: str
    vague: bool = False


class _Atom(Struct):
    start: int
    end: int
    rule: str
    span: Span


def times(
    text: str, now: datetime, zone: tzinfo, options: WhenOptions | None = None
) -> tuple[Interval, ...]:
    """Return the intervals that a text mentions.

    By default "on Monday" and "in May" are the latest, or the coming ones in a text about plans
    ("will", "going to").

    Args:
        text: A query, or the text of a memory. Only its first ``MAX_CHARS`` characters count.
        now: When it was said, aware.

    Returns:
        Intervals in text order, none empty, within ``BEGINNING`` and ``END``; () for most texts.
    """
    options = options or WhenOptions()
    language = language_of(options.language).time
    text = text[:MAX_CHARS]
    heard = _WORDS.findall(text.lower())
    if language.triggers.isdisjoint(heard) and not _NUMERIC.search(text):
        return ()
    tokens = list(tokens_of(text, language))
    ahead = not language.future.isdisjoint(heard) and language.past.isdisjoint(heard)
    try:
        local = now.astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return ()
    anchor = Anchor(local, ahead, options.southern_hemisphere)
    found = _parse(tokens, anchor)
    made = (_interval(text, tokens, atom, now, local, zone) for atom in found)
    return tuple(interval for interval in made if interval is not None)[:MAX_TIMES]


def asked_about(text: str, intervals: Sequence[Interval], now: datetime) -> tuple[Interval, ...]:
    """Return the intervals of a query by which memories may be ranked.

    They occur in a question (not as in "I slept badly last night. What now?"), are in the past and
    not vague. On LoCoMo 79 % of the questions with such an interval have evidence said close to it,
    where 20 % of all turns are. Times in statements do not help: on RealMem, favouring them cost 7
    points R@10 of the queries with one.

    Args:
        intervals: From ``times``.
    """
    if not intervals:
        return ()
    asked = asking(text)
    return tuple(
        one
        for one in intervals
        if one.end <= now and not one.vague and any(one.words in sentence for sentence in asked)
    )


def _parse(tokens: Sequence[Token], anchor: Anchor) -> list[_Atom]:
    """Find every expression, then join those that are limits of a longer one."""
    kinds = "".join(token.kind for token in tokens)
    atoms: list[_Atom] = []
    for match in EXPRESSION.finditer(kinds):
        rule = match.lastgroup or ""
        span = _span(rule, tokens[match.start() : match.end()], anchor)
        if span is not None:
            atoms.append(_Atom(match.start(), match.end(), rule, span))
    for atom in atoms:
        _narrow(atom, tokens, kinds)
    whole: list[_Atom] = []
    for atom in _ranges(atoms, tokens, kinds, anchor):
        longer = _with_words_before(atom, tokens, kinds, anchor)
        if longer is not None:
            # The "Friday" of "the Friday before 15 July" was an expression of its own.
            while whole and whole[-1].end > longer.start:
                whole.pop()
            whole.append(longer)
    return whole


def _span(rule: str, tokens: Sequence[Token], anchor: Anchor) -> Span | None:
    piece = Piece("".join(token.kind for token in tokens), [token.value for token in tokens])
    try:
        span = TO_SPAN[rule](piece, anchor)
    except (ValueError, OverflowError):  # beyond any calendar: "5000 years ago"
        return None
    return span if span is not None and span.start < span.end else None


def _narrow(atom: _Atom, tokens: Sequence[Token], kinds: str) -> None:
    """Narrow a span by a preceding "early" or "the end of"."""
    place = atom.start
    while place and kinds[place - 1] in "ifT":
        place -= 1
    if place and kinds[place - 1] == "E":
        atom.span = calendar.third(atom.span, *tokens[place - 1].value)
        atom.start = place - 1


def _ranges(
    atoms: list[_Atom], tokens: Sequence[Token], kinds: str, anchor: Anchor
) -> Iterator[_Atom]:
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


def _range(atom: _Atom, other: _Atom, tokens: Sequence[Token], anchor: Anchor) -> _Atom | None:
    first, last = atom.span, other.span
    if first.floating:  # "between May and July 2023": both of 2023
        near = Anchor(last.end - timedelta(microseconds=1), southern=anchor.southern)
        moved = _span(atom.rule, tokens[atom.start : atom.end], near)
        first = moved or first
    if not first.start < last.end:
        return None
    return _Atom(atom.start, other.end, atom.rule, Span(first.start, last.end, exact=last.exact))


def _with_words_before(
    atom: _Atom, tokens: Sequence[Token], kinds: str, anchor: Anchor
) -> _Atom | None:
    """Extend a span by a preceding "since", "before", "two weeks after".

    Kinds: c since, b before, k after, u until, V "ago" in front; U a unit, W a weekday.
    """
    place = atom.start
    while place and kinds[place - 1] == "T":
        place -= 1
    link = kinds[place - 1] if place else ""
    if link not in ("c", "b", "k", "u", "V") or atom.rule in ("ago", "last_few"):
        return atom
    place -= 1
    span: Span | None
    if link in "bk" and place and kinds[place - 1] in "UW":
        place -= 1
        unit = tokens[place]
        counted = place and kinds[place - 1] in "Nwa"
        span = _beside(atom.span, unit, tokens[place - 1] if counted else None, link)
        place -= bool(counted)
    else:
        span = _open(atom.span, link, anchor)
    return None if span is None else _Atom(place, atom.end, atom.rule, span)


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


def _interval(
    text: str, tokens: Sequence[Token], atom: _Atom, now: datetime, local: datetime, zone: tzinfo
) -> Interval | None:
    def moment(at: datetime) -> datetime:
        if at == local or atom.span.exact and at > local - timedelta(2):
            return now.astimezone(UTC) + (at - local)
        return at.replace(tzinfo=zone).astimezone(UTC)

    try:
        start, end = moment(atom.span.start), moment(atom.span.end)
    except (ValueError, OverflowError):
        return None
    start, end = max(start, BEGINNING), min(end, END)
    said = text[tokens[atom.start].start : tokens[atom.end - 1].end]
    return Interval(start, end, said, atom.rule == "while") if start < end else None
