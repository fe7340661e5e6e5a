"""Finds time expressions and resolves them to intervals: by rules, in the user's time zone.

"What did I do last weekend?" yields two days. A text without time words costs a look-up of its
words; any other, one pass of a small grammar (``grammar``). Offline date parsers return moments and
cost 0.05 to 7 ms: docs/decisions/0013-time-expressions.md.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cached_property
from itertools import islice, pairwise
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.language import LANGUAGES, Language, language_of
from slowcat_memory.core.language.time import TenseWords, TimeWords
from slowcat_memory.core.text.normalize import asking
from slowcat_memory.core.text.numerals import number_of
from slowcat_memory.core.time.calendar import Anchor, Span
from slowcat_memory.core.time.parsing import BEGINNING, END, Atom, TimeToken, parse, tokens_of

_SENTENCE_ENDS = re.compile(r"[;!?…\n]|(?<!\d)\.(?=\s|$)")


class Verb(Struct, frozen=True):
    """A sign of tense; ``ahead`` is None where it leaves open what happened."""

    start: int
    end: int
    ahead: bool | None
    weak: bool = False


class Tenses(Struct, frozen=True, dict=True):
    """The tenses of a text's clauses."""

    text: str
    words: TenseWords

    def ahead(self, start: int, end: int) -> bool | None:
        """Return whether a day named at ``text[start:end]`` lies ahead; None if that is unknown.

        Its clause decides, else the nearest clause before it in the sentence that has a verb, else
        the first behind it.
        """
        place = self._place(start)
        first, last = self._sentence(start)
        before = [part for part in reversed(self._clauses[:place]) if part[0] >= first]
        after = [part for part in self._clauses[place + 1 :] if part[1] <= last]
        for clause in (self._clauses[place], *before, *after):
            if verbs := self._within(*clause, start, end):
                return self._decide(verbs, self._clauses[place][0], start, end)
        # The past is a closed list of verbs, and the ending -ed: another verb is in the present.
        whole = self.words.begins.match(self.text, first, max(first, start))
        return True if whole or self.words.arranges.search(self.text, first, last) else None

    def clause(self, place: int) -> str:
        """Return the clause around an offset."""
        return self.text[slice(*self._clauses[self._place(place)])]

    def returns(self, start: int) -> bool:
        """Return whether the clause around a day says that it returns, or is always so."""
        return self.words.returns.search(self.text, *self._clauses[self._place(start)]) is not None

    def arranged(self, start: int) -> bool:
        """Return whether the sentence of a day names what is arranged beforehand."""
        return self.words.arranges.search(self.text, *self._sentence(start)) is not None

    def moved(self, start: int) -> bool:
        """Return whether the sentence of a day says that something is moved to another."""
        return self.words.moves.search(self.text, *self._sentence(start)) is not None

    def _decide(self, verbs: list[Verb], left: int, start: int, end: int) -> bool | None:
        strong = [verb for verb in verbs if not verb.weak] or verbs
        around = [verb for verb in strong if verb.start <= start and end <= verb.end]
        before = [verb for verb in strong if verb.start < start]
        nearest = (around or before[-1:] or strong)[0]
        arranged = self.words.before.search(self.text[left:start])
        return True if nearest.ahead is False and arranged else nearest.ahead

    def _within(self, left: int, right: int, start: int, end: int) -> list[Verb]:
        """Return the verbs of a clause, except words of the day itself ("in March")."""
        return [
            verb
            for verb in self._verbs
            if left <= verb.start < right and not start <= verb.start < end
        ]

    def _sentence(self, start: int) -> tuple[int, int]:
        ends = [0, *(match.end() for match in _SENTENCE_ENDS.finditer(self.text)), len(self.text)]
        place = bisect_right(ends, start, hi=len(ends) - 1)
        return ends[place - 1], ends[place]

    def _place(self, start: int) -> int:
        """Return which clause an offset is in."""
        return bisect_right(self._clauses, start, key=lambda clause: clause[0]) - 1

    @cached_property
    def _clauses(self) -> list[tuple[int, int]]:
        bounds = [0, *(match.end() for match in self.words.clauses.finditer(self.text))]
        return list(pairwise([*bounds, len(self.text)]))

    @cached_property
    def _verbs(self) -> list[Verb]:
        kinds = {"ahead": True, "back": False, "weak": True, "neither": None}
        return [
            Verb(*match.span(), kinds[match.lastgroup or "weak"], match.lastgroup == "weak")
            for match in self.words.verbs.finditer(self.text)
        ]


MAX_CHARS = 4000  # of a text, read for times
MAX_TIMES = 8  # of a text

_WORDS = re.compile(r"[^\W\d_]+")
# Ends of a statement that looks for assent: "On Friday, right?", "Am Freitag, ja?".
_TAG = re.compile(
    r"^[^?]*,\s*(?:ja|gell|ne|nicht wahr|okay|ok|right|yeah|innit|you know|eh)\s*\?\s*$",
    re.IGNORECASE,
)
_NUMERIC = re.compile(
    r"(?<!\d)(?:19|20)\d\d(?!\d)|\d(?:st|nd|rd|th)\b|\d0(?:s|ern?)\b|\d\.(?:\d|\s)"
)


class Interval(Struct, frozen=True):
    """A time span in UTC and its expression; ``end`` is the first moment after it.

    Attributes:
        vague: It is no part of the calendar ("recently", "the other day").
        near: Of a week that is counted ("a week ago"), the day that many weeks away.
    """

    start: datetime
    end: datetime
    words: str
    vague: bool = False
    near: datetime | None = None


def times(
    text: str, now: datetime, zone: tzinfo, language: str = "english"
) -> tuple[Interval, ...]:
    """Return the intervals that a query, or the text of a memory, mentions.

    In a question "on Monday" and "in May" are the latest, or the coming ones if it is about plans
    ("will", "going to"). What is not asked is read as by ``statement_times``, but where the
    direction is unknown the latest counts.

    Args:
        text: A query, or the text of a memory. Only its first ``MAX_CHARS`` characters count.
        now: When it was said, aware.
        language: Of the text, as in ``language_of``.

    Returns:
        Intervals in text order, none empty, within ``BEGINNING`` and ``END``; () for most texts.
    """
    table = language_of(language)
    passage = _read(text, now, zone, table.time)
    if passage is None:
        return ()
    if not asking(passage.text) or _TAG.search(passage.text):
        return _stated(passage, table.tense, by_default=False)
    heard = _words(passage.text)
    ahead = not table.time.future.isdisjoint(heard) and table.time.past.isdisjoint(heard)
    return passage.intervals(passage.parse(ahead))


def statement_times(
    text: str, at: datetime, zone: tzinfo, language: str = ""
) -> tuple[Interval, ...]:
    """Return the intervals that a statement mentions; the tense of each clause directs them.

    "I have the dentist on Friday" is the coming Friday, "I went on Friday" the last one
    (``direction``). A bare weekday or date whose direction is unknown, that returns ("usually on
    Friday") or that is a name is left out.

    Args:
        text: What was said; only its first ``MAX_CHARS`` characters count.
        at: When it was said, aware.
        language: As in ``language_of``; "" for the one that the text's words are of.

    Returns:
        As ``times``.
    """
    table = language_of(language) if language else _language_of(text[:MAX_CHARS])
    passage = _read(text, at, zone, table.time)
    return _stated(passage, table.tense) if passage else ()


def clause_around(text: str, place: int) -> str:
    """Return the clause of a statement around an offset."""
    return Tenses(text, _language_of(text).tense).clause(max(0, place))


def possible_times(text: str, at: datetime, zone: tzinfo) -> tuple[Interval, ...]:
    """Return the intervals that a text may mean, whichever way a bare day or date is read."""
    passage = _read(text, at, zone, _language_of(text[:MAX_CHARS]).time)
    if passage is None:
        return ()
    return tuple(
        interval for ahead in (False, True) for interval in passage.intervals(passage.parse(ahead))
    )


def much_nearer(readings: Sequence[Interval], at: datetime) -> Interval | None:
    """Return the reading that is much nearer to a moment than another one; None if none is."""
    if not readings:
        return None
    away = sorted(readings, key=lambda span: _distance(span, at))
    near, far = _distance(away[0], at), _distance(away[-1], at)
    return away[0] if far > 3 * near + timedelta(31) else None


def _distance(span: Interval, at: datetime) -> timedelta:
    return abs((span.end if span.start <= BEGINNING else span.start) - at)


def _stated(
    passage: "_Passage", words: TenseWords, by_default: bool | None = None
) -> tuple[Interval, ...]:
    """Read a statement; ``by_default`` is the direction where none is known, None for no date."""
    tokens, tenses = passage.tokens, Tenses(passage.text, words)
    moved = any(tenses.moved(token.start) for token in tokens if token.kind == "F")
    back, ahead = (
        {(atom.start, atom.end): atom for atom in passage.parse(way, join=not moved)}
        for way in (False, True)
    )
    directed = (
        _directed(back.get(place), ahead.get(place), tokens, tenses, by_default)
        for place in sorted(back.keys() | ahead.keys())
    )
    # Not the day that something is moved away from.
    places = {n + 1 for n, token in enumerate(tokens) if moved and token.kind == "F"}
    return passage.intervals(atom for atom in directed if atom and atom.start not in places)


def _directed(
    back: Atom | None,
    ahead: Atom | None,
    tokens: Sequence[TimeToken],
    tenses: Tenses,
    by_default: bool | None,
) -> Atom | None:
    """Choose between the readings of an expression by the tense of its clause."""
    either = back or ahead
    if either is None:
        return None
    start, end = tokens[either.start].start, tokens[either.end - 1].end
    if _names(either, start, end, tokens, tenses):
        return None
    if either.rule in ("month", "season") and tenses.returns(start):
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


def _names(atom: Atom, start: int, end: int, tokens: Sequence[TimeToken], tenses: Tenses) -> bool:
    """Return whether words name somebody or something, as in "a man called Friday"."""
    words, text = tenses.words, tenses.text
    if words.names.search(text, max(0, start - 40), start):
        return True
    before = tokens[atom.start - 1].kind if atom.start else ""
    alone = before not in tuple("ijJcbkuBEFALtS>o") and atom.end - atom.start == 1
    if alone and atom.rule == "month":  # "January is a cold month"
        return True
    if alone and atom.rule == "weekday" and words.in_general.match(text, end):
        return not tenses.arranged(start)
    if atom.rule in ("weekday", "feast", "season") and atom.end - atom.start == 1:
        if words.as_such.search(text, max(0, start - 40), start):
            return True
        if alone and words.compound and words.compound.match(text, end):
            return True
    if atom.rule != "feast" or not words.may_follow or atom.end - atom.start > 1:
        return False
    led = before in tuple("ijJcbkuBFotLS>") and tokens[atom.start - 1].end + 2 > start
    return not (led or words.may_follow.match(text, end))


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _language_of(text: str) -> Language:
    """Return the language of which most words are."""
    heard = _words(text)
    return max(
        LANGUAGES,
        key=lambda language: sum(
            (word in language.tense.marks) + (word in language.time.triggers) for word in heard
        ),
    )


class _Passage(Struct, frozen=True):
    """A text that may name times, and when it was said; ``local`` is that by the user's clock."""

    text: str
    tokens: Sequence[TimeToken]
    at: datetime
    local: datetime
    zone: tzinfo

    def parse(self, ahead: bool, *, join: bool = True) -> list[Atom]:
        return parse(self.tokens, Anchor(self.local, ahead), join)

    def intervals(self, atoms: Iterable[Atom]) -> tuple[Interval, ...]:
        return tuple(islice(filter(None, map(self._interval, atoms)), MAX_TIMES))

    def _interval(self, atom: Atom) -> Interval | None:
        span = atom.span
        try:
            start, end = self._moment(span.start, span), self._moment(span.end, span)
            near = self._moment(span.near, span) if span.near else None
        except (ValueError, OverflowError):
            return None
        # "Until Friday" has no beginning, in any zone.
        start = BEGINNING if start < BEGINNING + timedelta(1) else start
        end = END if end > END - timedelta(1) else end
        words = self.text[self.tokens[atom.start].start : self.tokens[atom.end - 1].end]
        return Interval(start, end, words, atom.rule == "while", near) if start < end else None

    def _moment(self, at: datetime, span: Span) -> datetime:
        if at == self.local or span.exact and at > self.local - timedelta(2):
            return self.at.astimezone(UTC) + (at - self.local)
        return at.replace(tzinfo=self.zone).astimezone(UTC)


def _read(text: str, at: datetime, zone: tzinfo, words: TimeWords) -> _Passage | None:
    """Read the beginning of a text; None if it names no time."""
    text = text[:MAX_CHARS]
    if _has_none(text, _words(text), words):
        return None
    try:
        local = at.astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return None
    return _Passage(text, list(tokens_of(text, words)), at, local, zone)


def _has_none(text: str, heard: Iterable[str], words: TimeWords) -> bool:
    if not words.triggers.isdisjoint(heard) or _NUMERIC.search(text):
        return False
    numbers = (number_of(word) or (0, False) for word in heard)
    return not any(ordinal or number in (19, 20) or number > 1900 for number, ordinal in numbers)


def asked_about(text: str, intervals: Sequence[Interval], now: datetime) -> tuple[Interval, ...]:
    """Return the intervals of a query by which memories may be ranked.

    They occur in a question (not as in "I slept badly last night. What now?"), are in the past and
    not vague. On LoCoMo 79 % of the questions with such an interval have evidence said close to it,
    where 20 % of all turns are. Times in statements do not help: on RealMem, favouring them cost 7
    points R@10 of the queries with one.

    Args:
        intervals: From ``times``.
    """
    asked = asking(text)
    return tuple(
        span
        for span in intervals
        if span.end <= now and not span.vague and any(span.words in sentence for sentence in asked)
    )


# ------------------------------------------------------------------- days and weeks

# Somebody who talks at one in the morning still means the previous day, so a day ends in the small
# hours. It has 23 or 25 hours when the clocks change. Weeks begin on Monday, numbered by ISO 8601.
DAY_BEGINS = 4  # o'clock, local time
MOST_DAYS = 62  # of a time that are searched, the last ones

PeriodKind = Literal["day", "week"]


class Period(Struct, frozen=True, order=True):
    """A day ("2026-05-12") or week ("2026-W20") in UTC; ``end`` is the first moment after it."""

    start: datetime
    end: datetime
    name: str
    kind: PeriodKind


def day_of(at: datetime, zone: tzinfo) -> Period:
    """Return the day of an aware moment."""
    local = at.astimezone(zone)
    day = local.date() - timedelta(days=local.hour < DAY_BEGINS)
    return _day(day, zone)


def week_of(at: datetime, zone: tzinfo) -> Period:
    day = date.fromisoformat(day_of(at, zone).name)
    monday = day - timedelta(days=day.weekday())
    year, week, _ = monday.isocalendar()
    first, last = (_day(monday + timedelta(days=n), zone) for n in (0, 6))
    return Period(first.start, last.end, f"{year}-W{week:02d}", "week")


def period_of(kind: PeriodKind, at: datetime, zone: tzinfo) -> Period:
    return (day_of if kind == "day" else week_of)(at, zone)


def _day(day: date, zone: tzinfo) -> Period:
    start, end = (
        datetime.combine(begin, time(DAY_BEGINS), zone).astimezone(UTC)
        for begin in (day, day + timedelta(days=1))
    )
    return Period(start, end, day.isoformat(), "day")


def periods_of(intervals: Sequence[Interval], now: datetime, zone: tzinfo) -> Iterator[str]:
    """Yield the periods ("week/2026-W20") whose summaries cover a time, the widest and latest first.

    Without ``intervals`` these are the latest periods.
    """
    spans = [(span.start, span.end) for span in intervals] or [(now - timedelta(days=8), now)]
    for start, end in spans:
        start = max(start, end - timedelta(days=MOST_DAYS))
        if end - start > timedelta(days=3):
            weeks = (week_of(at, zone) for at in _days(start, end))
            inside = {
                w.name for w in weeks if min(w.end, end) - max(w.start, start) >= timedelta(days=4)
            }
            yield from (f"week/{name}" for name in sorted(inside, reverse=True))
        noon = [at + timedelta(hours=12) for at in _days(start, end)]
        days = dict.fromkeys(day_of(at, zone).name for at in noon)
        yield from (f"day/{name}" for name in sorted(days, reverse=True))


def _days(start: datetime, end: datetime) -> Iterator[datetime]:
    for n in range(max(1, -(-(end - start) // timedelta(days=1)))):
        yield start + timedelta(days=n)
