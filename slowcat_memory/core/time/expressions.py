"""Finds time expressions and resolves them to intervals: by rules, in the user's time zone.

"What did I do last weekend?" yields two days. A text without time words costs a look-up of its
words; any other, one pass of a small grammar (``grammar``). Offline date parsers return moments and
cost 0.05 to 7 ms: docs/decisions/0013-time-expressions.md.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise, zip_longest

from msgspec import Struct

from slowcat_memory.core.language import LANGUAGES, Language, language_of
from slowcat_memory.core.language.time import TimeWords
from slowcat_memory.core.text.normalize import asking
from slowcat_memory.core.time import calendar
from slowcat_memory.core.time.calendar import Anchor, Span
from slowcat_memory.core.time.direction import Tenses
from slowcat_memory.core.time.grammar import EXPRESSION, FIRST_YEAR, LAST_YEAR, TO_SPAN, Piece
from slowcat_memory.core.time.lexer import Token, tokens_of

MAX_CHARS = 4000  # of a text, read for times
MAX_TIMES = 8  # of a text
BEGINNING = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)
END = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)

_WORDS = re.compile(r"[^\W\d_]+")
# Ends of a statement that looks for assent: "On Friday, right?", "Am Freitag, ja?".
_TAG = re.compile(
    r"^[^?]*,\s*(?:ja|gell|ne|nicht wahr|okay|ok|right|yeah|innit|you know|eh)\s*\?\s*$",
    re.IGNORECASE,
)
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
    """Return the intervals that a query, or the text of a memory, mentions.

    In a question "on Monday" and "in May" are the latest, or the coming ones if it is about plans
    ("will", "going to"). What is not asked is read as by ``statement_times``, but where the
    direction is unknown the latest counts.

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
    local = _local(now, zone)
    if local is None or _has_none(text, heard, language):
        return ()
    if not asking(text) or _TAG.search(text):
        return _stated(text, now, zone, options, by_default=False)
    ahead = not language.future.isdisjoint(heard) and language.past.isdisjoint(heard)
    tokens = list(tokens_of(text, language))
    found = _parse(tokens, Anchor(local, ahead, options.southern_hemisphere))
    return _intervals(text, tokens, found, now, local, zone)


def statement_times(
    text: str, at: datetime, zone: tzinfo, options: WhenOptions | None = None
) -> tuple[Interval, ...]:
    """Return the intervals that a statement mentions; the tense of each clause directs them.

    "I have the dentist on Friday" is the coming Friday, "I went on Friday" the last one
    (``direction``). A bare weekday or date whose direction is unknown, that returns ("usually on
    Friday") or that is a name is left out.

    Args:
        text: What was said; only its first ``MAX_CHARS`` characters count.
        at: When it was said, aware.
        options: None for the language that the text's words are of.

    Returns:
        As ``times``.
    """
    text = text[:MAX_CHARS]
    if options is None:
        options = WhenOptions(language=_language_of(_WORDS.findall(text.lower())).name)
    return _stated(text, at, zone, options)


def clause_around(text: str, place: int) -> str:
    """Return the clause of a statement around an offset."""
    language = _language_of(_WORDS.findall(text.lower()))
    return Tenses(text, language.tense).clause(max(0, place))


def possible_times(text: str, at: datetime, zone: tzinfo) -> tuple[Interval, ...]:
    """Return the intervals that a text may mean, whichever way a bare day or date is read."""
    text = text[:MAX_CHARS]
    words = _WORDS.findall(text.lower())
    language, local = _language_of(words).time, _local(at, zone)
    if local is None or _has_none(text, words, language):
        return ()
    tokens = list(tokens_of(text, language))
    return tuple(
        interval
        for way in (False, True)
        for interval in _intervals(
            text, tokens, _parse(tokens, Anchor(local, way)), at, local, zone
        )
    )


def _stated(
    text: str, at: datetime, zone: tzinfo, options: WhenOptions, by_default: bool | None = None
) -> tuple[Interval, ...]:
    """Read a statement; ``by_default`` is the direction where none is known, None for no date."""
    language, local = language_of(options.language), _local(at, zone)
    southern = options.southern_hemisphere
    if local is None or _has_none(text, _WORDS.findall(text.lower()), language.time):
        return ()
    tokens = list(tokens_of(text, language.time))
    tenses = Tenses(text, language.tense)
    moved = any(tenses.moved(token.start) for token in tokens if token.kind == "F")
    back, ahead = (
        {(a.start, a.end): a for a in _parse(tokens, Anchor(local, way, southern), not moved)}
        for way in (False, True)
    )
    found = [
        atom
        for place in sorted(back.keys() | ahead.keys())
        if (atom := _directed(back.get(place), ahead.get(place), tokens, tenses, by_default))
        and not (moved and _is_left(atom, tokens))
    ]
    return _intervals(text, tokens, found, at, local, zone)


def _directed(
    back: _Atom | None,
    ahead: _Atom | None,
    tokens: Sequence[Token],
    tenses: Tenses,
    by_default: bool | None,
) -> _Atom | None:
    """Choose between the readings of an expression by the tense of its clause."""
    either = back or ahead
    if either is None:
        return None
    start, end = tokens[either.start].start, tokens[either.end - 1].end
    if _names(either, start, end, tokens, tenses):
        return None
    if back and ahead and back.span.start == ahead.span.start and back.span.end == ahead.span.end:
        return back
    if tokens[either.start].kind == "c":  # since
        return back
    which = tenses.ahead(start, end)
    which = by_default if which is None else which
    if which is None or (which and tenses.returns(start)):
        return None
    return (ahead or back) if which else back


def _names(atom: _Atom, start: int, end: int, tokens: Sequence[Token], tenses: Tenses) -> bool:
    """Return whether words name somebody or something, as in "a man called Friday"."""
    words, text = tenses.words, tenses.text
    if words.names.search(text, max(0, start - 40), start):
        return True
    if words.is_name.match(text, end):
        return True
    if atom.rule in ("weekday", "feast", "season") and atom.end - atom.start == 1:
        if words.as_such.search(text, max(0, start - 40), start):
            return True
        alone = atom.start == 0 or tokens[atom.start - 1].kind not in "jJtL>S"
        if alone and words.compound.match(text, end):
            return True
    if atom.rule != "feast" or not words.follows or atom.end - atom.start > 1:
        return False
    before = tokens[atom.start - 1].kind if atom.start else ""
    led = bool(before) and before in "ijJcbkuBFoTtLS>" and tokens[atom.start - 1].end + 2 > start
    return not (led or words.may_follow.match(text, end))


def _is_left(atom: _Atom, tokens: Sequence[Token]) -> bool:
    """Return whether a day is the one that something is moved away from."""
    before = tokens[: atom.start]
    return bool(before) and before[-1].kind == "F"


def _language_of(heard: Sequence[str]) -> Language:
    """Return the language of which most words are."""
    return max(
        LANGUAGES,
        key=lambda one: sum(
            (word in one.tense.marks) + (word in one.time.triggers) for word in heard
        ),
    )


def _local(now: datetime, zone: tzinfo) -> datetime | None:
    try:
        return now.astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return None


def _has_none(text: str, heard: Iterable[str], words: TimeWords) -> bool:
    return words.triggers.isdisjoint(heard) and not _NUMERIC.search(text)


def _intervals(
    text: str,
    tokens: Sequence[Token],
    found: Iterable[_Atom],
    now: datetime,
    local: datetime,
    zone: tzinfo,
) -> tuple[Interval, ...]:
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


def _parse(tokens: Sequence[Token], anchor: Anchor, join: bool = True) -> list[_Atom]:
    """Find every expression, then join those that are limits of a longer one."""
    kinds = "".join(token.kind for token in tokens)
    atoms: list[_Atom] = []
    for match in EXPRESSION.finditer(kinds):
        rule = match.lastgroup or ""
        span = _span(rule, tokens[match.start() : match.end()], anchor)
        if span is not None and not _is_modified(match, rule, tokens):
            atoms.append(_Atom(match.start(), match.end(), rule, span))
    atoms = _without_weekdays(atoms, kinds)
    for atom in atoms:
        _narrow(atom, tokens, kinds)
    whole: list[_Atom] = []
    for atom in _ranges(atoms, tokens, kinds, anchor) if join else atoms:
        longer = _with_words_before(atom, tokens, kinds, anchor)
        if longer is not None:
            # The "Friday" of "the Friday before 15 July" was an expression of its own.
            while whole and whole[-1].end > longer.start:
                whole.pop()
            whole.append(longer)
    return whole


def _is_modified(match: re.Match[str], rule: str, tokens: Sequence[Token]) -> bool:
    """Return whether a neighbour changes the meaning in a way that no rule reads.

    "every Tuesday", "a Sunday", "on the awful Friday", "the Friday before the trip".
    """
    kinds, start, end = match.string, match.start(), match.end()
    before = kinds[:start][-3:]
    if before[-1:] == "e" or re.search(r"e[O>]$", before):
        return True
    if rule != "weekday" or not match[0].startswith(("W", "d")):
        return False
    if before[-1:] in ("a", "w", "N") or (before[-1:] == "T" and re.match("[bk]", kinds[end:])):
        return True
    if before.endswith("jT."):
        return True
    return before.endswith("J.") and tokens[start - 1].end - tokens[start - 1].start > 4


def _without_weekdays(atoms: Sequence[_Atom], kinds: str) -> list[_Atom]:
    """Leave out the weekday of "Friday, 12 June" and "Friday the 13th"."""
    return [
        atom
        for atom, other in zip_longest(atoms, atoms[1:])
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
    if anchor.ahead and first.floating and last.floating and last.end <= first.start:
        later = _span(other.rule, tokens[other.start : other.end], Anchor(first.start, ahead=True))
        last = later or last
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
