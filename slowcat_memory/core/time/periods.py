"""Days and weeks as a person lives them: in their time zone, and not over at midnight.

Who talks at one in the morning still speaks of the same day, so a day ends in the small hours. It
has 23 or 25 hours when the clocks change. Weeks begin on Monday and have the numbers of ISO 8601.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import groupby
from typing import Literal, TypeVar

from msgspec import Struct

DAY_BEGINS = 4  # o'clock, on the wall

PeriodKind = Literal["day", "week"]
Item = TypeVar("Item", int, str)


class Period(Struct, frozen=True, order=True):
    """A stretch of time that has a name.

    Attributes:
        start: Its first moment, UTC.
        end: The first moment after it, UTC.
        name: "2026-05-12", "2026-W20".
        kind: "day" or "week".
    """

    start: datetime
    end: datetime
    name: str
    kind: PeriodKind


def day_of(at: datetime, zone: tzinfo, begins: int = DAY_BEGINS) -> Period:
    """Find the day that a moment belongs to.

    Args:
        at: The moment, aware.
        zone: The user's time zone.
        begins: At which hour on the wall a day begins.

    Returns:
        The day.
    """
    there = at.astimezone(zone)
    day = there.date() - timedelta(days=there.hour < begins)
    return _day(day, zone, begins)


def week_of(at: datetime, zone: tzinfo, begins: int = DAY_BEGINS) -> Period:
    """Find the week that a moment belongs to.

    Args:
        at: The moment, aware.
        zone: The user's time zone.
        begins: As in ``day_of``.

    Returns:
        The week.
    """
    day = date.fromisoformat(day_of(at, zone, begins).name)
    monday = day - timedelta(days=day.weekday())
    year, week, _ = monday.isocalendar()
    first, last = (_day(monday + timedelta(days=n), zone, begins) for n in (0, 6))
    return Period(first.start, last.end, f"{year}-W{week:02d}", "week")


def period_of(kind: PeriodKind, at: datetime, zone: tzinfo, begins: int = DAY_BEGINS) -> Period:
    """Find the period of a kind that a moment belongs to.

    Args:
        kind: Which.
        at: The moment, aware.
        zone: The user's time zone.
        begins: As in ``day_of``.

    Returns:
        The period.
    """
    return (day_of if kind == "day" else week_of)(at, zone, begins)


def _day(day: date, zone: tzinfo, begins: int) -> Period:
    start, end = (
        datetime.combine(one, time(begins), zone).astimezone(UTC)
        for one in (day, day + timedelta(days=1))
    )
    return Period(start, end, day.isoformat(), "day")


def stretches(
    row: Sequence[Item], covered: Collection[Item], length: int, least: int = 1
) -> list[tuple[Item, ...]]:
    """Cut what is not covered into stretches.

    What stands at the end of the row waits until it is a whole stretch. What is left between two
    covered stretches, because some of it was forgotten, is one of its own.

    Args:
        row: All of it, in order.
        covered: What has been summed up.
        length: Of a stretch.
        least: Of a shorter one that stands between others.

    Returns:
        The stretches that are due, in order.
    """
    found: list[tuple[Item, ...]] = []
    done = set(covered)
    for is_covered, group in groupby(row, key=lambda one: one in done):
        run = tuple(group)
        if is_covered:
            continue
        last = run[-1] == row[-1]
        for start in range(0, len(run), length):
            part = run[start : start + length]
            if len(part) == length or (not last and len(part) >= least):
                found.append(part)
    return found
