"""Days and weeks in the user's time zone.

Somebody who talks at one in the morning still means the previous day, so a day ends in the small
hours. It has 23 or 25 hours when the clocks change. Weeks begin on Monday, numbered by ISO 8601.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.time.expressions import Interval

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
