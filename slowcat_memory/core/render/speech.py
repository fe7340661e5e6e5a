"""Dates and texts in words that can be read aloud, by language.

The LLM repeats text of the memory block, and its answer is spoken. Dates are written as people say
them; anything a voice would spell out (a link, an emoji, a mark of emphasis, a date in digits) is
put into words or removed. Numbers stay.
"""

import re
from datetime import date, datetime, timedelta, tzinfo

from slowcat_memory.core.language import ENGLISH
from slowcat_memory.core.language.table import DateWords
from slowcat_memory.core.time.calendar import in_zone

SAME_PART = timedelta(hours=3)  # a shorter time ago is "today", not "this morning"

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
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u2190-\u21ff\u20e3\ufe0e\ufe0f"
    "\U000e0020-\U000e007f]+(?:\u200d[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]*)*"
)
_SPACES = re.compile(r"[ \t]{2,}")
# What one of the patterns above needs: one search for all of them, as most texts have none.
_MARKED = re.compile(r"[#>*+_=~`\[-]|://|www\.|[^\x00-\x7f]|[ \t]{2}", re.I)


def spoken_date(at: datetime, now: datetime, zone: tzinfo, words: DateWords = ENGLISH.dates) -> str:
    """Return a date as people say it.

    Returns:
        "today" (in the evening also "this morning"), "yesterday", "on Monday" within this week,
        "last Friday" within the six days before if it was last week's, "12 May", or "12 May 2023"
        for another year.
    """
    then, today = in_zone(at, zone), now.astimezone(zone)
    days = (today.date() - then.date()).days
    if days == 0:
        return _part_of_today(then, today, words)
    if days == 1:
        return words.yesterday
    if 1 < days < 7:
        weekday = words.weekdays[then.weekday()]
        return (words.on if days <= today.weekday() else words.last).format(weekday)
    return spoken_day(then.date(), words) + ("" if then.year == today.year else f" {then.year}")


def _part_of_today(then: datetime, today: datetime, words: DateWords) -> str:
    """Return the part of today if it is over; a date without a time is all of today."""
    part, present = (
        words.parts[max(begin for begin in words.parts if begin <= day.hour)]
        for day in (then, today)
    )
    dated = not (then.hour or then.minute or then.second)
    return words.today if dated or part == present or today - then < SAME_PART else part


def spoken_day(day: date, words: DateWords = ENGLISH.dates) -> str:
    """Return "12 May"."""
    return words.day.format(day=day.day, month=words.months[day.month - 1])


def spoken_span(first: str, last: str, text: str, year: int, words: DateWords) -> str:
    """Return ISO dates, each a day, month or year, in words: "Friday 6 November", "May 2026".

    Args:
        first: The first day, or the whole time; "" for none.
        last: The last day; "" for none.
        text: What stands before; a date that it has is left out.
        year: Of which nobody has to be told.
    """
    parts = list[str]()
    for day in filter(None, (first, first[8:] and last)):
        at = date.fromisoformat(f"{day}-01-01"[:10])
        month = words.months[at.month - 1]
        shown = spoken_day(at, words) if day[8:] else month if day[5:] else ""
        if (month if shown else day) in text and (not day[8:] or str(at.day) in text):
            continue
        if day[8:] and not last and (weekday := words.weekdays[at.weekday()]) not in text:
            shown = f"{weekday} {shown}"
        parts.append(shown if day[8:] and at.year == year else f"{shown} {at.year}".strip())
    return " – ".join(parts)


def full_date(at: datetime, zone: tzinfo, words: DateWords = ENGLISH.dates) -> str:
    """Return "4 May 2026"."""
    local = in_zone(at, zone)
    return f"{spoken_day(local.date(), words)} {local.year}"


def spoken_until(
    end: datetime, now: datetime, zone: tzinfo, words: DateWords = ENGLISH.dates
) -> str:
    """Return until when something was true.

    Returns:
        "until May 2023"; "until 3 May", "until yesterday" or "until today" within the last 31 days.
    """
    last, today = in_zone(end, zone), now.astimezone(zone)
    days = (today.date() - last.date()).days
    if days > 31:
        return words.until.format(f"{words.months[last.month - 1]} {last.year}")
    near = {0: words.today, 1: words.yesterday}
    return words.until.format(near.get(days) or spoken_day(last.date(), words))


def long_ago(days: int, words: DateWords = ENGLISH.dates) -> str:
    """Return a number of days in words that stay true all day: "yesterday", "2 months ago"."""
    if days <= 1:
        return (words.ago["today"], words.yesterday)[max(0, days)]
    for limit, length, unit in ((14, 1, "days"), (60, 7, "weeks"), (730, 30, "months")):
        if days < limit:
            return words.ago[unit].format(days // length)
    return words.ago["years"].format(days // 365)


def speakable(text: str, words: DateWords = ENGLISH.dates) -> str:
    """Return a text without anything that a voice would spell out.

    Marks of emphasis, lists, headings and emoji are removed; a link becomes its name or host; a
    date in digits is put into words. A text of nothing else is unchanged.
    """
    if _MARKED.search(text) is None:
        return text.strip() or text
    plain = text
    if "](" in plain:
        plain = _NAMED_LINK.sub(r"\1", plain)
    if "://" in plain or "www." in plain.lower():
        plain = _LINK.sub(r"\1", plain)
    plain = _ISO.sub(lambda match: _date_in_words(match, words), plain)
    if not plain.isascii():
        plain = _EMOJI.sub("", plain)
    plain = _EMPHASIS.sub("", _LINE_MARK.sub("", plain)).replace("`", "")
    return _SPACES.sub(" ", plain).strip() or text


def _date_in_words(match: re.Match[str], words: DateWords) -> str:
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return match[0]
    time = f", {int(match[4])}:{match[5]}" if match[4] else ""
    return f"{spoken_day(day, words)} {day.year}{time}"
