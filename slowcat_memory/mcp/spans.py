"""Reads a span of time from an argument: a date, a range of dates, or words such as "last week"."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo

from msgspec import Struct

from slowcat_memory.core.time.expressions import WhenOptions, times

BETWEEN = "/"


class Span(Struct, frozen=True):
    """A span of time in UTC; ``end`` is the first moment after it."""

    start: datetime
    end: datetime


def read_span(text: str, now: datetime, zone: tzinfo, language: str) -> Span | None:
    """Return the span that a text names; None if it names none.

    Args:
        text: For example "2024-05-31", "2024-05-01/2024-05-31" or "last week".
        now: The time of the question, aware.
        language: Of the words, as in ``language_of``.
    """
    first, _, last = text.strip().partition(BETWEEN)
    begin, end = _day(first, zone), _day(last or first, zone)
    if begin and end:
        return Span(begin.start, end.end) if begin.start < end.end else None
    found = times(text, now, zone, WhenOptions(language=language))
    return Span(found[0].start, found[0].end) if found else None


def _day(text: str, zone: tzinfo) -> Span | None:
    """Return the day of an ISO date, or of a date and time."""
    try:
        start = datetime.combine(date.fromisoformat(text.strip()[:10]), time(), zone)
        return Span(start.astimezone(UTC), (start + timedelta(days=1)).astimezone(UTC))
    except (ValueError, OverflowError):
        return None
