"""Grounding: checks that a text names only people, numbers and dates that occur in a conversation.

LLMs invent details now and then, weak ones often. Words alone hardly separate an invention from a
paraphrase; a *name*, *number* or *date* that does not occur, and does not follow from the day of
the conversation, does. In doubt the text passes: names cannot be checked in a language that
capitalises every noun. Of 2,601 carefully written contexts and questions about LoCoMo it rejects
14, of contexts from another session 41 %.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta, tzinfo
from fractions import Fraction
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.derived_text import content_of, keepable, repeats
from slowcat_memory.core.extraction.prompt_injection import orders_in, without_orders
from slowcat_memory.core.language.english.vocabulary import ROLES, STOP_WORDS
from slowcat_memory.core.language.names import is_ordinary
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.core.text.numerals import DATED, Number, numbers
from slowcat_memory.core.text.rare_words import capitalised_names
from slowcat_memory.core.time import expressions
from slowcat_memory.core.time.written_dates import (
    MONTHS,
    PATTERN,
    WrittenDate,
    written_date,
    written_dates,
)
from slowcat_memory.records import Turn

NEAR_DAYS = 8  # tolerance of a day: "last Saturday" is one of two
# Of the time said for a year, a month, a day: "last year" names no day.
WIDEST_DAYS = (10**5, 100, 45)
ENGLISH = 0.15  # share of function words in any English text
SHARED = 4  # common first letters of two forms of a name: Sweden, Swedish; Mel, Melanie
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_PERCENT = re.compile(r"\s?(?:%|per\s?cent|prozent)", re.IGNORECASE)
_HOURS = re.compile(r"\s?(?:uhr\b|o['’]?clock\b|h\b|[ap]\.?m\b)", re.IGNORECASE)
_BEGINNING = re.compile(r"(?:^|[.!?…:;\"“(*]\s*)$")


class Ground(Struct, frozen=True):
    """What a text about a conversation may name.

    Attributes:
        words: In lower case, those of the speakers' names included.
        numbers: In all their readings.
        minutes: Times of day, modulo twelve hours.
        days: Of the turns.
        spans: First and last day of each date named, however it can be read, and of the turns.
        orders: Content words of each order in the turns.
    """

    words: frozenset[str]
    numbers: frozenset[Fraction]
    minutes: frozenset[int]
    days: tuple[date, ...]
    spans: tuple[tuple[date, date], ...]
    orders: tuple[tuple[str, ...], ...] = ()


def ground(turns: Iterable[Turn], zone: tzinfo, known: Iterable[str] = ()) -> Ground:
    """Collect the names, numbers and dates of the turns that a text is based on.

    Args:
        known: Other texts whose names, numbers and dates count as said, such as what a prompt
            tells of earlier conversations; a date without a year is near that of a turn.
    """
    # Words that occur only in an order do not count as known.
    turns = list(turns)
    ordered = tuple(content_of(order) for turn in turns for order in orders_in(turn.text))
    turns = [replace(turn, text=without_orders(turn.text)) for turn in turns]
    others = [without_orders(text) for text in known]
    days = tuple(sorted({turn.at.astimezone(zone).date() for turn in turns}))
    told = [f"{turn.speaker} {turn.text}" for turn in turns] + others
    counts = [number for text in told for number in numbers(PATTERN.sub(_without_year, text))]
    spans = {(day, day) for day in days}
    for turn in turns:
        spans |= _spans(turn, zone)
    for written in (written for text in others for written in written_dates(text)):
        spans |= {span for day in days for span in written.near(day)}
    return Ground(
        words=frozenset(_bare(match[0]) for text in told for match in _WORD.finditer(text)),
        numbers=frozenset(value for number in counts for value in number.values),
        minutes=frozenset(minute for number in counts for minute in number.minutes),
        days=days,
        spans=tuple(sorted(spans)),
        orders=ordered,
    )


def _without_year(match: re.Match[str]) -> str:
    """Return the day of a date: its year is that of no other day."""
    written = written_date(match)
    return f" {written.day or ''} " if written.month else match[0]


def _spans(turn: Turn, zone: tzinfo) -> set[tuple[date, date]]:
    """Return the first and last day of each time that a turn may mean.

    Of two years, the much nearer one and that of the tense count; both if neither is known.
    """
    stated = expressions.statement_times(turn.text, turn.at, zone)
    clear = {span.words for span in stated}
    intervals = list(stated)
    readings: dict[str, list[expressions.Interval]] = {}
    for interval in expressions.possible_times(turn.text, turn.at, zone):
        readings.setdefault(interval.words, []).append(interval)
    for words, either in readings.items():
        if near := expressions.much_nearer(either, turn.at):
            intervals.append(near)
        elif words not in clear:
            intervals += either
    spans = ((interval, *days_of(interval, zone)) for interval in intervals)
    return {(first, first if span.end >= expressions.END else last) for span, first, last in spans}


def days_of(interval: expressions.Interval, zone: tzinfo) -> tuple[date, date]:
    """Return the first and last day of an interval; of "until Friday", that Friday."""
    ends = (interval.start, interval.end - timedelta(seconds=1))
    first, last = (moment.astimezone(zone).date() for moment in ends)
    return (last, last) if interval.start <= expressions.BEGINNING else (first, max(first, last))


def strays(text: str, ground: Ground) -> list[str]:
    """Return the names, numbers and dates of a text, as written, that are not grounded."""
    dates = [written.text for written in written_dates(text) if not _dated(written, ground)]
    rest = PATTERN.sub(lambda match: " " * len(match[0]), text)
    names = [name for name in names_in(rest) if not _known(name, ground)]
    return dates + _uncounted(rest, ground) + names


def _uncounted(text: str, ground: Ground) -> list[str]:
    """Return the numbers of a text of which no reading was said."""
    every = list(numbers(text))
    wholes = [number for number in every if _is_said(number, text, ground)]
    return [
        text[number.start : number.end]
        for number in every
        # A number in words may be a way to speak: "a hundred", not "fifty-two".
        if not number.joined
        and (number.in_digits or any(v > 12 and v not in (100, 1000, 10**6) for v in number.values))
        if not any(whole.start <= number.start and number.end <= whole.end for whole in wholes)
    ]


def _is_said(number: Number, text: str, ground: Ground) -> bool:
    if number.values & ground.numbers or number.minutes & ground.minutes:
        return True
    hours = (minute // 60 for minute in number.minutes if minute % 60 == 0)
    if any(not ground.numbers.isdisjoint({hour, hour + 12, hour + 24}) for hour in hours):
        return True
    if _PERCENT.match(text, number.end):
        return any(value / 100 in ground.numbers for value in number.values)
    if _HOURS.match(text, number.end):
        return any(
            value - 12 in ground.numbers or value + 12 in ground.numbers for value in number.values
        )
    return False


def names_in(text: str) -> Iterator[str]:
    """Yield the words written as names, of those of other languages than English the certain ones."""
    words = [match[0].lower() for match in _WORD.finditer(text)]
    if text.isupper():
        return
    if sum(word in STOP_WORDS for word in words) < ENGLISH * len(words):
        yield from capitalised_names(text)
        return
    for match in _WORD.finditer(text):
        word = _bare(match[0])
        if match[0][0].isupper() and not _ordinary(word, text[: match.start()]):
            yield match[0]


def _ordinary(word: str, before: str) -> bool:
    if word in STOP_WORDS or word in ROLES or word in DATED or len(word) < 2:
        return True
    return bool(_BEGINNING.search(before)) and is_ordinary(word)


def _known(name: str, ground: Ground) -> bool:
    word = _bare(name)
    if word in ground.words:
        return True
    root = word[:SHARED]
    return len(root) > 2 and any(spoken.startswith(root) for spoken in ground.words)


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word.lower())


def _dated(written: WrittenDate, ground: Ground) -> bool:
    """Return whether a date can be what was said, in its year too."""
    slack = timedelta(days=NEAR_DAYS if written.month else 0)
    widest = timedelta(days=WIDEST_DAYS[bool(written.month) + bool(written.day)])
    for first, last in ground.spans:
        if last - first > widest:
            continue
        for span in written.near(first):
            if span[0] <= last + slack and first - slack <= span[1]:
                return True
    if not written.month:
        nineties = written.years > 1 and written.year % 100 in ground.numbers
        return nineties or written.year in ground.numbers
    # Its parts may be said apart: "the third of May in twenty nineteen".
    numbers = {written.day, written.year} - {0}
    named = any(MONTHS.get(word) == written.month for word in ground.words)
    return named and numbers <= ground.numbers


# Not within "am 17. März", nor behind an abbreviation.
_SHORT = "Dr Mr Mrs Ms St Nr No Prof Hr Fr bzw ca vgl usw evtl inkl Jr Sr Str".split()
_SENTENCE = re.compile(
    r"(?<!\b\d\.)(?<!\b\d\d\.)(?<!\b[^\W\d_]\.)"
    + "".join(rf"(?<!\b{short}\.)" for short in _SHORT)
    + r"(?<=[.!?…。！？])\s+(?=[^\W\d_a-z]|[\"“(])"
)
# A sentence without its end: "Sorcha sold the boat because".
_OPEN = re.compile(
    r"\b(?:the|an?|and|or|but|because|although|their|my|our|its|whose|dem|des|eine?|einen|einem|einer|"
    r"und|oder|aber|weil|dass|von|für|im|am|zum|zur|bei|mein|meine)[\s\"“,:-]*$",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^(?:\[\d+\]|(?:context|question|note|summary)\s*\d*:)\s*", re.IGNORECASE)


def holds(text: str, ground: Ground) -> bool:
    """Return whether a tidy sentence is whole, keepable, grounded, and repeats no order."""
    fits = not _OPEN.search(text) and keepable(text) and not repeats(text, ground.orders)
    return fits and not strays(text, ground)


def held(text: str, ground: Ground) -> list[str]:
    """Return the sentences of an LLM's text that are whole, harmless and grounded."""
    return [sentence for sentence in sentences(text) if holds(sentence, ground)]


def sentences(text: str) -> list[str]:
    """Split an LLM's text into tidy sentences: at least one, which may be empty."""
    return _SENTENCE.split(tidy(text))


def tidy(text: str) -> str:
    """Return a text as one clean line, without a label that the LLM put in front."""
    return _LABEL.sub("", one_line(text))


def one_line(text: str) -> str:
    """Return a text in clean words, with single spaces between them."""
    return " ".join(clean(text)[0].split())


def within(kept: Sequence[str], most: int) -> str:
    """Join sentences up to a number of words; a longer first one ends with a clause, if it can."""
    counts = accumulate(len(sentence.split()) for sentence in kept)
    whole = [sentence for sentence, count in zip(kept, counts, strict=True) if count <= most]
    if whole or not kept:
        return " ".join(" ".join(whole).split())
    cut = " ".join(kept[0].split()[:most])
    ends = max(cut.rfind(mark) for mark in (";", ",", ":"))
    return cut[:ends] if len(cut[: max(0, ends)].split()) * 2 >= most else cut
