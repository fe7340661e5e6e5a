"""Evidence for a statement: its quote, whether it is a question, its date and its source turns."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from msgspec import Struct

from slowcat_memory.core.extraction.grounding import Ground, days_of, strays
from slowcat_memory.core.extraction.quoted import without_tag
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.text.numerals import values
from slowcat_memory.core.time.expressions import (
    BEGINNING,
    Interval,
    clause_around,
    much_nearer,
    possible_times,
    statement_times,
)
from slowcat_memory.core.time.written_dates import Written, written_dates, written_day
from slowcat_memory.records import Turn

LEAST_WORDS, LEAST_CHARS = 2, 5  # of a quote: a shorter one occurs in any turn
STEM = 4  # common first letters of two forms of a word
_WEEKS = 62  # days; a date further from what its words mean is of another year
ROUGHLY = timedelta(days=3)  # what "in two weeks" may mean before or after that day
_SENTENCES = re.compile(r"[^.!?…。！？\n]*[.!?…。！？\n]*")


class Dated(Struct, frozen=True):
    """When a statement is true.

    Attributes:
        day: "2026-05-12", "2026-05", "2026", or "" if it names none.
        since: Since when it is true: its day if that is past, else when it was said.
        begins: Since when what holds at a time is true: its day, also one that lies ahead ("I start
            there on 1 December").
        last: The last day of a span of several ("2026-05-17"); "" for one day.
    """

    day: str
    since: datetime
    begins: datetime
    last: str = ""


def quoted(quote: str, text: str) -> bool:
    """Return whether a quote is verbatim, but for case and punctuation, and long enough."""
    words = fingerprint(quote)
    enough = len(words.split()) >= LEAST_WORDS and len(words) >= LEAST_CHARS
    return enough and f" {words} " in f" {fingerprint(text)} "


def asks(quote: str, text: str) -> bool:
    """Return whether a quote ends in a question of the text, which is no statement.

    A question that only seeks assent is one: "it's on the ninth, isn't it?"
    """
    words = fingerprint(quote)
    read = ""
    for sentence in _SENTENCES.findall(text):
        read = f"{read} {fingerprint(sentence)}".strip()
        if f" {words} " in f" {read} ":
            return bool({"?", "？"} & set(without_tag(sentence)))
    return False


def dated(quote: str, turn: Turn, date_written: str, ground: Ground, zone: tzinfo) -> Dated:
    """Return the day of a statement.

    The extractor's date counts if the quote can mean it, forward or backward, or names none and the
    date is near a day in the conversation; else, and if its year is wrong (see `_other_year`), the
    day that the quote, or the clause around it, means by its tense.

    Args:
        date_written: The extractor's date; "" for none.
    """
    written, span = written_day(date_written), _said(quote, turn, zone)
    if written is None:
        return _of_interval(span, turn, zone) if span else Dated("", turn.at, turn.at)
    words = _in_turn(quote, turn.text) or quote
    meant = [time for time in possible_times(words, turn.at, zone) if not time.vague]
    if not strays(written.text, ground):
        fits = [time for time in meant if _can_mean(time, written, zone)]
        in_numbers = written.first.year in values(turn.text)
        if fits and not in_numbers and (other := _other_year(quote, span, fits, written, turn, zone)):  # fmt: skip
            return _of_interval(other, turn, zone)
        if fits or not (span or meant or _holds(written, turn, zone)):
            return _of_written(written, turn, zone)
    span = span or much_nearer(meant, turn.at)
    return _of_interval(span, turn, zone) if span else Dated("", turn.at, turn.at)


def _other_year(
    quote: str,
    span: Interval | None,
    fits: Sequence[Interval],
    written: Written,
    turn: Turn,
    zone: tzinfo,
) -> Interval | None:
    """Return what words mean if a date is that day or month of a wrong year; else None.

    The year is clear if the quote alone and in its turn has the same tense; else if one year is much
    nearer: said in November, "the fifth of December" is not that of the year before.
    """
    alone = statement_times(quote, turn.at, zone)
    clear = len(alone) == 1 and span and days_of(alone[0], zone) == days_of(span, zone)
    meant = span if clear else much_nearer(fits, turn.at)
    if meant is None or abs((written.first - days_of(meant, zone)[0]).days) <= _WEEKS:
        return None
    return meant


def misdates(content: str, when: Dated) -> bool:
    """Return whether a statement names the day that its words mean in another year."""
    return any(
        date.year
        and date.day
        and when.day[5:] == f"{date.month:02}-{date.day:02}"
        and when.day[:4] != str(date.year)
        for date in written_dates(content)
    )


def _holds(written: Written, turn: Turn, zone: tzinfo) -> bool:
    """Return whether a date is a month or year in which the turn was said, and dates nothing."""
    day = turn.at.astimezone(zone).date()
    return written.first < written.last and written.first <= day <= written.last


def _can_mean(span: Interval, written: Written, zone: tzinfo) -> bool:
    """Return whether words can mean a date: its year, or the week of a weekday, is a choice."""
    first, last = days_of(span, zone)
    if first <= written.last and written.first <= last:
        return True
    if re.search(r"\d{4}", span.words):
        return False
    in_year = {(written.first.month, written.first.day), (written.last.month, written.last.day)}
    if (first.month, first.day) in in_year and (last - first).days < 62:
        return True
    far = abs((written.first - first).days)
    return first == last and far % 7 == 0 and far <= 14 and not re.search(r"\d", span.words)


def _of_written(written: Written, turn: Turn, zone: tzinfo) -> Dated:
    first = written.first
    begins = datetime(first.year, first.month, first.day, tzinfo=zone).astimezone(turn.at.tzinfo)
    if first == turn.at.astimezone(zone).date():
        begins = turn.at
    return Dated(written.text, min(begins, turn.at), begins)


def _of_interval(span: Interval, turn: Turn, zone: tzinfo) -> Dated:
    first, last = days_of(span, zone)
    if span.start <= BEGINNING:  # "until Friday"
        return Dated(last.isoformat(), turn.at, turn.at)
    if span.near:  # people who count weeks mean the day, more or less; it is over some days later
        until = (span.near + ROUGHLY).astimezone(zone).date().isoformat()
        day = span.near.astimezone(zone).date().isoformat()
        return Dated(day, min(span.near, turn.at), span.near, until if span.near > turn.at else "")
    begins = turn.at if first == turn.at.astimezone(zone).date() else span.start
    since = min(span.start, turn.at)
    if abs(span.end - turn.at) < timedelta(seconds=1) or (last - first).days > 3660:
        whole = first.strftime("%Y-%m") if first.day == 1 else first.isoformat()  # "since May"
        return Dated(whole, since, begins)
    # Of a longer span, the part of the date that all its days share.
    days = (last - first).days + 1
    form = "%Y-%m-%d" if days <= 7 else "%Y-%m" if days <= 31 else "%Y"
    return Dated(first.strftime(form), since, begins, last.isoformat() if 1 < days <= 31 else "")


def _said(quote: str, turn: Turn, zone: tzinfo) -> Interval | None:
    """Return the first time of a quote, or the only one of its clause, as its turn means it."""
    words = _in_turn(quote, turn.text)
    if not words:
        return next((day for day in statement_times(quote, turn.at, zone) if not day.vague), None)
    every = [time for time in statement_times(turn.text, turn.at, zone) if not time.vague]
    inside = [time for time in every if time.words in words]
    if inside:
        return inside[0]
    clause = clause_around(turn.text, turn.text.find(words))
    around = [time for time in every if time.words in clause]
    return around[0] if len(around) == 1 else None


def _in_turn(quote: str, text: str) -> str:
    """Return a quote as its turn has it, with other case and punctuation; "" if it does not."""
    words = fingerprint(quote).split()
    if not words:
        return ""
    match = re.search(r"[\W_]+".join(map(re.escape, words)), text, re.IGNORECASE)
    return match[0] if match else ""


def words_of(text: str) -> dict[str, str]:
    """Return the content words of a text by stem."""
    return {word[:STEM]: word for word in fingerprint(text).split() if word not in STOP_WORDS}


def shared(content: str, text: str, subject: str) -> bool:
    """Return whether a statement shares a content word with its turn, apart from its subject."""
    own = words_of(content).keys() - words_of(subject).keys()
    return bool(own & words_of(text).keys())


def needed(content: str, turn: Turn, seen: Sequence[Turn]) -> tuple[int, ...]:
    """Return the log ids of the turns that a statement was made from, its own turn first.

    Words missing in its own turn come from other turns; the statement must not outlive these.
    """
    missing = words_of(content).keys() - words_of(f"{turn.speaker} {turn.text}").keys()
    ids = [turn.id]
    for other in sorted(seen, key=lambda near: (abs(near.id - turn.id), near.id)):
        held = missing & words_of(other.text).keys()
        if other.id != turn.id and held:
            ids.append(other.id)
            missing -= held
    return tuple(ids)
