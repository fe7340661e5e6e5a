"""Grounding: checks that a text names only people, numbers and dates that occur in a conversation.

LLMs invent details now and then, weak ones often. Words alone hardly separate an invention from a
paraphrase; a *name*, *number* or *date* that does not occur, and does not follow from the day of
the conversation, does. In doubt the text passes: names cannot be checked in a language that
capitalises every noun. Of 2,601 carefully written contexts and questions about LoCoMo it rejects
14, of contexts from another session 41 %.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta, tzinfo
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.bounded_names import holds_false_name
from slowcat_memory.core.extraction.prompt_injection import injected, without_orders
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.english.vocabulary import DAYS, MONTHS, NUMBERS, ROLES, STOP_WORDS
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.core.text.rare_words import is_common
from slowcat_memory.core.time import expressions
from slowcat_memory.records import Turn

NEAR_DAYS = 8  # tolerance of a day: "last Saturday" is one of two
ENGLISH = 0.15  # share of function words in any English text
SHARED = 4  # common first letters of two forms of a name: Sweden, Swedish; Mel, Melanie
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_BEGINNING = re.compile(r"(?:^|[.!?…:;\"“(*]\s*)$")
_MONTHS = MONTHS | {
    word: value
    for one in LANGUAGES
    for word, (kind, value) in one.time.table.items()
    if kind in "Mmv"
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    r"\b(?P<y>\d{4})-(?P<m>\d\d)(?:-(?P<d>\d\d))?\b(?:\s?[-–]\s?\d\d?\b(?!-))?"
    r"|\b(?:\d\d?\s?[-–]\s?)?"  # 12-13 August
    rf"(?P<d2>\d\d?)(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<m2>{_MONTH})\b\.?(?:,?\s+(?P<y2>\d{{4}}))?"
    rf"|\b(?P<m3>{_MONTH})\.?\s+(?P<d3>\d\d?)(?:st|nd|rd|th)?\b(?:\s?[-–]\s?\d\d?\b)?(?:,?\s+(?P<y3>\d{{4}}))?"
    rf"|\b(?P<m4>{_MONTH})\.?,?\s+(?:of\s+)?(?P<y4>\d{{4}})\b"
    r"|\b(?P<y5>(?:19|20)\d\d)s?\b(?:-\d\d-\d\d)?",
    re.IGNORECASE,
)


class Ground(Struct, frozen=True):
    """The lower-case words, digits and dates that a text about a conversation may contain.

    ``words`` include the speakers' names; ``spans`` are the first and last day of each date named,
    and of the conversation itself; ``days`` are the month and day of those without a year, which
    may be of the year before or after.
    """

    words: frozenset[str]
    numbers: frozenset[str]
    spans: tuple[tuple[date, date], ...]
    days: frozenset[tuple[int, int]] = frozenset()


def ground(turns: Iterable[Turn], zone: tzinfo, known: Iterable[str] = ()) -> Ground:
    """Collect the names, numbers and dates of the turns that a text is based on.

    Args:
        known: Other texts whose names, numbers and dates count as said, such as what a prompt
            tells of earlier conversations; a date without a year is in the year of a turn.
    """
    words, numbers, spans = set[str](), set[str](), set[tuple[date, date]]()
    days, turn_days = set[tuple[int, int]](), set[date]()
    for turn in turns:
        # Words that occur only in an order do not count as known.
        turn = replace(turn, text=without_orders(turn.text))
        _add_words(f"{turn.speaker} {turn.text}", words, numbers)
        day = turn.at.astimezone(zone).date()
        turn_days.add(day)
        spans.add((day, day))
        spans |= {_dates(one, zone) for one in expressions.times(turn.text, turn.at, zone)}
        _add_dates(turn.text, day, spans, days)
    for text in map(without_orders, known):
        _add_words(text, words, numbers)
        for day in turn_days:
            _add_dates(text, day, spans, days)
    return Ground(frozenset(words), frozenset(numbers), tuple(sorted(spans)), frozenset(days))


def _add_words(text: str, words: set[str], numbers: set[str]) -> None:
    found = {_bare(match[0]) for match in _WORD.finditer(text)}
    words |= found
    numbers |= {_digits(match[0]) for match in _NUMBER.finditer(text)}
    numbers |= {NUMBERS[word] for word in found if word in NUMBERS}


def _add_dates(
    text: str, day: date, spans: set[tuple[date, date]], days: set[tuple[int, int]]
) -> None:
    for match in _DATE.finditer(text):
        if span := _said(match, day):
            spans.add(span)
            if match["d2"] or match["d3"]:
                days.add((span[0].month, span[0].day))


def strays(text: str, ground: Ground) -> list[str]:
    """Return the names, numbers and dates of a text, as written, that are not grounded."""
    dates = [match for match in _DATE.finditer(text)]
    found = [match[0] for match in dates if not _dated(match, ground)]
    rest = _DATE.sub(" ", text)
    found += [n[0] for n in _NUMBER.finditer(rest) if _digits(n[0]) not in ground.numbers]
    return found + _unknown(rest, ground)


def _unknown(text: str, ground: Ground) -> list[str]:
    """Return the ungrounded names; the long form of spoken initials (UK) is known."""
    names = list(_names(text))
    initials = {"".join(n[0] for n in pair).lower() for pair in pairwise(names)} & ground.words
    said = {
        n
        for pair in pairwise(names)
        if "".join(w[0] for w in pair).lower() in initials
        for n in pair
    }
    return [name for name in names if name not in said and not _known(name, ground)]


def _names(text: str) -> Iterator[str]:
    """Yield the words written as names; none if capital letters do not mark names."""
    words = [match[0].lower() for match in _WORD.finditer(text)]
    if sum(word in STOP_WORDS for word in words) < ENGLISH * len(words) or text.isupper():
        return
    for match in _WORD.finditer(text):
        word = _bare(match[0])
        if match[0][0].isupper() and not _ordinary(word, text[: match.start()]):
            yield match[0]


def _ordinary(word: str, before: str) -> bool:
    if word in STOP_WORDS or word in ROLES or word in MONTHS or word in DAYS or len(word) < 2:
        return True
    return bool(_BEGINNING.search(before)) and is_common(word)


def _known(name: str, ground: Ground) -> bool:
    word = _bare(name)
    if word in ground.words:
        return True
    root = word[:SHARED]
    return len(root) > 2 and any(said.startswith(root) for said in ground.words)


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word.lower())


def _digits(number: str) -> str:
    return number.replace(",", "").lstrip("0") or "0"


def _dated(match: re.Match[str], ground: Ground) -> bool:
    """Return whether a date is near a named day, or made of numbers that occur."""
    if all(_digits(n) in ground.numbers for n in _NUMBER.findall(match[0])):
        return True
    slack = timedelta(days=NEAR_DAYS)
    for first, last in ground.spans:
        span = _said(match, first)
        if span and span[0] <= last + slack and first - slack <= span[1]:
            return True
        if span and (span[0].month, span[0].day) in ground.days and span[0] == span[1]:
            if abs(span[0].year - first.year) <= 1:
                return True
        if span and _counted(span[0], first, ground):
            return True
    return False


def _counted(one: date, other: date, ground: Ground) -> bool:
    """Return whether two dates differ by a stated number of years or months."""
    years = abs(other.year - one.year)
    months = abs(12 * (other.year - one.year) + other.month - one.month)
    return str(years) in ground.numbers or str(months) in ground.numbers


def _said(match: re.Match[str], day: date) -> tuple[date, date] | None:
    """Parse a date; without a year it is in the year of ``day``."""
    part = match.groupdict()
    year = int(next((part[k] for k in ("y", "y2", "y3", "y4", "y5") if part[k]), day.year))
    named = next((part[k] for k in ("m", "m2", "m3", "m4") if part[k]), "")
    month = int(named) if named.isdigit() else _MONTHS.get(named.lower(), 0)
    number = int(next((part[k] for k in ("d", "d2", "d3") if part[k]), 0))
    try:
        if not named:
            return date(year, 1, 1), date(year, 12, 31)
        first = date(year, month, number or 1)
    except ValueError:  # not a calendar day
        return None
    if number:
        return first, first
    return first, date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def _dates(interval: expressions.Interval, zone: tzinfo) -> tuple[date, date]:
    first, end = (moment.astimezone(zone) for moment in (interval.start, interval.end))
    return first.date(), (end - timedelta(seconds=1)).date()


# Not within "am 17. März".
_SENTENCE = re.compile(r"(?<!\b\d\.)(?<!\b\d\d\.)(?<=[.!?…。！？])\s+(?=[^\W\d_a-z]|[\"“(])")
_LABEL = re.compile(r"^(?:\[\d+\]|(?:context|question|note|summary)\s*\d*:)\s*", re.IGNORECASE)
_LINK = re.compile(r"\b(?:https?:|www\.)|://", re.IGNORECASE)


def holds(text: str, ground: Ground) -> bool:
    """Return whether a tidy sentence is harmless and grounded."""
    return harmless(text) and not strays(text, ground)


def harmless(text: str) -> bool:
    """Return whether a tidy text contains neither a link nor an order to the reader."""
    return not (_LINK.search(text) or injected(text) or holds_false_name(text))


def held(text: str, ground: Ground) -> list[str]:
    """Return the sentences of an LLM's text that are harmless and grounded; the others are lost."""
    return [one for one in sentences(text) if holds(one, ground)]


def sentences(text: str) -> list[str]:
    """Split an LLM's text into tidy sentences: at least one, which may be empty."""
    return _SENTENCE.split(tidy(text))


def tidy(text: str) -> str:
    """Return a text as one clean line, without a label that the LLM put in front."""
    return _LABEL.sub("", " ".join(clean(text)[0].split()))
