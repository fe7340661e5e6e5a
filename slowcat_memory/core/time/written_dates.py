"""Dates as they are written in a text: "2026-12-05", "5 December", "Dec 5, 2026", "5. Dezember"."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from msgspec import Struct

from slowcat_memory.core.language import LANGUAGES

MONTHS = {
    word: value
    for language in LANGUAGES
    for word, (kind, value) in language.time.table.items()
    if kind in "Mmv"
}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
PATTERN = re.compile(
    r"\b(?P<y>\d{4})-(?P<m>\d\d)(?:-(?P<d>\d\d))?\b(?:\s?[-–]\s?\d\d?\b(?!-))?"
    r"|\b(?P<d6>\d\d?)\.(?P<m6>\d\d?)\.(?P<y6>\d{4})\b"
    r"|\b(?:\d\d?\.?\s?[-–]\s?)?"  # 12-13 August
    rf"(?P<d2>\d\d?)(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<m2>{_MONTH})\b\.?(?:,?\s+(?P<y2>\d{{4}}))?"
    rf"|\b(?P<m3>{_MONTH})\.?\s+(?P<d3>\d\d?)(?:st|nd|rd|th)?\b(?:\s?[-–]\s?\d\d?\b)?(?:,?\s+(?P<y3>\d{{4}}))?"
    rf"|\b(?P<m4>{_MONTH})\.?,?\s+(?:of\s+)?(?P<y4>\d{{4}})\b"
    r"|\b(?P<y5>(?:19|20)\d\d)(?P<decade>s|er)?\b(?:-\d\d-\d\d)?",
    re.IGNORECASE,
)
_DAY = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?!\d)")


class WrittenDate(Struct, frozen=True):
    """A date of a text; parts that it leaves out are 0.

    Attributes:
        years: How many years it names: 10 for "the 1990s".
    """

    text: str
    year: int
    month: int
    day: int
    years: int = 1

    def span(self, year: int = 0) -> tuple[date, date] | None:
        """Return its first and last day; None if it is no calendar day.

        Neither is one in the first year or the last month that Python has: programs write these for
        "none" and "for ever", and there may be no day beside them.

        Args:
            year: Of a date without one.
        """
        year = self.year or year
        years, month = divmod(self.month, 12) if self.month else (self.years, 0)
        try:
            first = date(year, self.month or 1, self.day or 1)
            after = date(year + years, month + 1, 1)
        except ValueError:
            return None
        last = first if self.day else after - timedelta(days=1)
        return (first, last) if year > 1 else None

    def near(self, day: date) -> Iterator[tuple[date, date]]:
        """Yield the last span up to a day and the first one from it; its own if it names a year."""
        years = range(day.year - 1, day.year + 2)
        spans = list(filter(None, map(self.span, [self.year] if self.year else years)))
        past = [span for span in spans if span[0] <= day]
        ahead = [span for span in spans if span[1] >= day]
        yield from dict.fromkeys((*past[-1:], *ahead[:1]))


def written_dates(text: str) -> Iterator[WrittenDate]:
    """Yield the dates of a text."""
    return map(written_date, PATTERN.finditer(text))


def written_date(match: re.Match[str]) -> WrittenDate:
    """Return a match of ``PATTERN`` as a date."""
    part = match.groupdict()

    def first(*names: str) -> str:
        return next((part[name] for name in names if part[name]), "")

    month = first("m", "m2", "m3", "m4", "m6")
    number = int(month) if month.isdigit() else MONTHS.get(month.lower(), 0)
    year = int(first("y", "y2", "y3", "y4", "y5", "y6") or 0)
    decade = 10 if match["decade"] and year % 10 == 0 else 1
    return WrittenDate(match[0], year, number, int(first("d", "d2", "d3", "d6") or 0), decade)


class Written(Struct, frozen=True):
    """A day, month or year in digits: "2026-05-12", "2026-05", "2026"; its first and last day."""

    text: str
    first: date
    last: date


def written_day(text: str) -> Written | None:
    """Return the day, month or year that a text begins with; None for none in the calendar."""
    match = _DAY.match(text.strip())
    if match is None:
        return None
    span = WrittenDate(match[0], *(int(part or 0) for part in match.groups())).span()
    return Written(match[0], *span) if span else None
