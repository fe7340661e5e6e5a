"""Times and texts in words that can be read aloud, by language.

The block is read by a language model whose answer is spoken: it repeats what it reads. A date is
said as a person says it, and what a voice would spell out (a link, an emoji, a mark of emphasis, a
date in digits) is put in words or left out. Numbers stay.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo

from msgspec import Struct

SAME_WHILE = timedelta(hours=3)  # what was said less long ago was "today", not "this morning"

_LINK = re.compile(r"\b(?:https?://|www\.)(?:www\.)?([^\s/?#<>()\[\]]+)[^\s<>()\[\]]*", re.I)
_NAMED_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_ISO = re.compile(
    r"(?<![\w-])(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])"
)
_EMPHASIS = re.compile(r"(?<![\w*_])[*_]+(?=[^\s*_])|(?<=[^\s*_])[*_]+(?![\w*_])|~~")
_LINE_MARK = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+•][ \t]+|[-*_=]{3,}[ \t]*$|```\w*)", re.M
)
_PICTURES = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u2190-\u21ff\u20e3\ufe0e\ufe0f"
    "\U000e0020-\U000e007f]+(?:\u200d[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]*)*"
)
_SPACES = re.compile(r"[ \t]{2,}")


class SpokenWords(Struct, frozen=True, kw_only=True):
    """One language's words for dates.

    Attributes:
        months: January first.
        weekdays: Monday first.
        today: And ``yesterday``.
        yesterday: See ``today``.
        parts: By the hour from which each begins: when, today.
        on: A day of this week, with ``{}`` for it.
        last: A day of last week, likewise.
        day: ``{day}`` and ``{month}``.
        until: Until ``{}``.
        now: ``{weekday}``, ``{date}`` and ``{time}`` of now.
        unknown: That nothing is remembered.
    """

    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    today: str
    yesterday: str
    parts: Mapping[int, str]
    on: str
    last: str
    day: str
    until: str
    now: str
    unknown: str


ENGLISH = SpokenWords(
    months=tuple(
        "January February March April May June July August September October November "
        "December".split()
    ),
    weekdays=tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()),
    today="today",
    yesterday="yesterday",
    parts={0: "last night", 5: "this morning", 12: "this afternoon", 18: "this evening"},
    on="on {}",
    last="last {}",
    day="{day} {month}",
    until="until {}",
    now="(now) {weekday} {date}, {time}",
    unknown="(nothing about this is remembered from earlier conversations)",
)
GERMAN = SpokenWords(
    months=tuple(
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
    ),
    weekdays=tuple("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()),
    today="heute",
    yesterday="gestern",
    parts={0: "heute Nacht", 5: "heute früh", 12: "heute Nachmittag", 18: "heute Abend"},
    on="am {}",
    last="letzten {}",
    day="{day}. {month}",
    until="bis {}",
    now="(jetzt) {weekday}, {date}, {time} Uhr",
    unknown="(dazu ist aus früheren Gesprächen nichts in Erinnerung)",
)
SPOKEN_WORDS: Mapping[str, SpokenWords] = {"english": ENGLISH, "german": GERMAN}


def words_of(language: str) -> SpokenWords:
    """Choose the words.

    Args:
        language: A Snowball language; one without a table speaks English.

    Returns:
        Its words.
    """
    return SPOKEN_WORDS.get(language, ENGLISH)


def spoken_date(at: datetime, now: datetime, zone: tzinfo, words: SpokenWords = ENGLISH) -> str:
    """Say when something was, as a person would.

    Args:
        at: When it was.
        now: The time of the question.
        zone: The user's time zone.
        words: Of the language.

    Returns:
        "today" ("this morning", where it is evening), "yesterday", "on Monday" within this week,
        "last Friday" for one of the six days before, where it was last week's, "12 May", or "12 May
        2023" for another year.
    """
    then, today = at.astimezone(zone), now.astimezone(zone)
    days = (today.date() - then.date()).days
    if days == 0:
        return _part(then, today, words)
    if days == 1:
        return words.yesterday
    if 1 < days < 7:
        weekday = words.weekdays[then.weekday()]
        return (words.on if days <= today.weekday() else words.last).format(weekday)
    return _day(then.date(), words) + ("" if then.year == today.year else f" {then.year}")


def _part(then: datetime, today: datetime, words: SpokenWords) -> str:
    """Say in which part of today, where it is over; what has no time of day is of all of it."""
    part, present = (_of_day(one.hour, words) for one in (then, today))
    dated = not (then.hour or then.minute or then.second)
    return words.today if dated or part == present or today - then < SAME_WHILE else part


def _of_day(hour: int, words: SpokenWords) -> str:
    return words.parts[max(begin for begin in words.parts if begin <= hour)]


def _day(day: date, words: SpokenWords) -> str:
    return words.day.format(day=day.day, month=words.months[day.month - 1])


def spoken_until(end: datetime, now: datetime, zone: tzinfo, words: SpokenWords = ENGLISH) -> str:
    """Say until when something was true.

    Args:
        end: Its end, which is over.
        now: The time of the question.
        zone: The user's time zone.
        words: Of the language.

    Returns:
        "until May 2023"; "until 3 May", "until yesterday" or "until today" within the last 31 days.
    """
    last, today = end.astimezone(zone), now.astimezone(zone)
    days = (today.date() - last.date()).days
    if days > 31:
        return words.until.format(f"{words.months[last.month - 1]} {last.year}")
    near = {0: words.today, 1: words.yesterday}
    return words.until.format(near.get(days) or _day(last.date(), words))


def spoken_now(now: datetime, zone: tzinfo, words: SpokenWords = ENGLISH) -> str:
    """Say what time it is.

    Args:
        now: The time.
        zone: The user's time zone.
        words: Of the language.

    Returns:
        "(now) Saturday 21 November, 22:05".
    """
    here = now.astimezone(zone)
    weekday, time = words.weekdays[here.weekday()], f"{here.hour}:{here.minute:02}"
    return words.now.format(weekday=weekday, date=_day(here.date(), words), time=time)


def speakable(text: str, words: SpokenWords = ENGLISH) -> str:
    """Put in words what a voice would spell out.

    Args:
        text: A memory's text.
        words: Of the language.

    Returns:
        The text without marks of emphasis, lists and headings, without pictures; of a link its host
        alone, or its name; dates in words. A text that is nothing else stays as it is.
    """
    made = text
    if "](" in made:
        made = _NAMED_LINK.sub(r"\1", made)
    if "://" in made or "www." in made.lower():
        made = _LINK.sub(r"\1", made)
    made = _ISO.sub(lambda found: _in_words(found, words), made)
    if not made.isascii():
        made = _PICTURES.sub("", made)
    made = _EMPHASIS.sub("", _LINE_MARK.sub("", made)).replace("`", "")
    return _SPACES.sub(" ", made).strip() or text


def _in_words(found: re.Match[str], words: SpokenWords) -> str:
    try:
        day = date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return found[0]
    time = f", {int(found[4])}:{found[5]}" if found[4] else ""
    return f"{_day(day, words)} {day.year}{time}"
