"""Calendar spans (days, weeks, months, seasons) and the user's time zone.

Spans are naive local times; ``expressions`` converts them to UTC.
"""

import os
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from slowcat_memory.errors import ConfigError

HOURS = {"minute": 1 / 60, "hour": 1.0}
DAYS = {"day": 1, "week": 7, "fortnight": 14}
MONTHS = {"month": 1, "year": 12, "decade": 120}
LOCALTIME = Path("/etc/localtime")  # a link into the zone database
LOOK_BACK = 8  # years: far enough for a 29 February across 1900 or 2100


def in_zone(at: datetime, zone: tzinfo) -> datetime:
    """Return an aware moment in another zone.

    What is true "since ever" begins with the first moment that Python has, which has no local time
    behind UTC: there, and at the other end, the clock's reading is kept.
    """
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at.replace(tzinfo=zone)


def check_time(at: datetime) -> None:
    """Refuse a time without a time zone: it cannot be compared with those of the memory.

    Raises:
        ConfigError: It has none.
    """
    if at.tzinfo is None:
        hint = "Use datetime.now(UTC), or astimezone()"
        raise ConfigError(f"the time {at} has no time zone", hint=hint)


class Span(Struct, frozen=True):
    """A naive local time span; ``end`` is the first moment after it.

    Attributes:
        floating: The nearest was chosen ("May", "Monday"); it may move in a range.
        exact: Counted from now in hours, regardless of clock changes.
        near: Of a week that is counted ("a week ago"), the day that many weeks away.
    """

    start: datetime
    end: datetime
    floating: bool = False
    exact: bool = False
    near: datetime | None = None

    def moved(self, count: int) -> "Span":
        """Return it some days later, or earlier."""
        return Span(self.start + timedelta(count), self.end + timedelta(count))


class Anchor(Struct, frozen=True):
    """The local time that expressions are relative to.

    ``ahead`` marks texts about plans: "on Monday" is then the coming Monday.
    """

    now: datetime
    ahead: bool = False

    @property
    def day(self) -> datetime:
        """Return today's midnight."""
        return datetime.combine(self.now.date(), time())


def days(start: datetime, count: int = 1, *, floating: bool = False) -> Span:
    return Span(start, start + timedelta(count), floating)


def add_months(at: datetime, count: int) -> datetime:
    """Return the same day and time some months later, or the last day of a shorter month.

    Raises:
        ValueError: The year is not within 1 to 9999.
    """
    year, month = divmod(at.year * 12 + at.month - 1 + count, 12)
    if not date.min.year <= year <= date.max.year:
        raise ValueError(f"year {year} is out of range")
    return at.replace(year=year, month=month + 1, day=min(at.day, monthrange(year, month + 1)[1]))


def month(year: int, number: int, count: int = 1) -> Span:
    """Return a span of whole months from month ``number`` (1 to 12) of a year."""
    start = datetime(year, number, 1)
    return Span(start, add_months(start, count))


def unit(anchor: Anchor, name: str, offset: int) -> Span:
    """Return the current, last or next calendar unit.

    On a Monday "this weekend" is the one just over, as is "last weekend" until the next is over.

    Args:
        name: "day", "week" (from Monday), "weekend", "month", "year", "decade", "hour", "minute".
        offset: -1, 0 or 1.
    """
    if name == "fortnight":
        return rolling(anchor, name, offset or 1)
    if name == "weekend":
        monday = anchor.day - timedelta(anchor.day.weekday())
        over = offset == 0 and anchor.day == monday
        return days(monday + timedelta(5 + 7 * (offset - over)), 2)
    span = shifted(anchor, name, offset, offset)
    return Span(span.start, span.end, exact=span.exact)


def shifted(anchor: Anchor, name: str, least: float, most: float) -> Span:
    """Return the span that is ``least`` to ``most`` (negative: past) units away, as people mean it.

    This is the day for days, and the calendar's week, month or year for others: "two weeks ago" is
    the week from Monday in which that day is.
    """
    if name in HOURS:
        return Span(_at(anchor, name, least - 0.5), _at(anchor, name, most + 0.5), exact=True)
    if name == "weekend":
        back = most < 0  # "two weekends ago" counts those that are over
        begins, ends = (int(n) + (1 if back else -1) for n in (least, most))
        base = unit(anchor, "weekend", -1 if back else 1)
        return Span(base.start + timedelta(7 * begins), base.end + timedelta(7 * ends))
    low, high = first, last = _at(anchor, name, least), _at(anchor, name, most)
    if name in DAYS:
        if name != "day":
            low, high = first - timedelta(first.weekday()), last + timedelta(6 - last.weekday())
        near = first if least == most and name != "day" else None
        return Span(low, high + timedelta(1), near=near)
    if name != "month" and round(least * MONTHS[name]) % 12:  # half a year is none of the calendar
        return Span(add_months(first, -2), add_months(last, 2))
    return Span(_of_calendar(first, name), add_months(_of_calendar(last, name), MONTHS[name]))


def _at(anchor: Anchor, name: str, count: float) -> datetime:
    """Return what is some units from now, or from today's midnight where they are days or longer."""
    if name in HOURS:
        return anchor.now + timedelta(hours=HOURS[name] * count)
    if name in DAYS:
        return anchor.day + timedelta(int(count) * DAYS[name])
    return add_months(anchor.day, round(count * MONTHS[name]))


def _of_calendar(day: datetime, name: str) -> datetime:
    """Return the first day of the month, year or decade of a day."""
    first = (day.year * 12 + day.month - 1) // MONTHS[name] * MONTHS[name]
    return datetime(first // 12, first % 12 + 1, 1)


def easter(year: int) -> datetime:
    """Return Easter Sunday of the Gregorian calendar.

    The algorithm of Oudin (1940), in D. E. Seidelmann, "Explanatory Supplement to the Astronomical
    Almanac" (1992), p. 602.
    """
    century = year // 100
    golden = year % 19
    epact = (century - century // 4 - (century - (century - 17) // 25) // 3 + 19 * golden + 15) % 30
    epact -= epact // 28 * (1 - epact // 28 * (29 // (epact + 1)) * ((21 - golden) // 11))
    weekday = (year + year // 4 + epact + 2 - century + century // 4) % 7
    distance = epact - weekday
    number = 3 + (distance + 40) // 44
    return datetime(year, number, distance + 28 - 31 * (number // 4))


def feast(year: int, value: tuple[int | str, int, int]) -> Span:
    """Return a holiday in a year.

    Args:
        value: Month, day and length in days; or "easter", "advent" (its first Sunday), or a month
            and weekday ("november thursday", the first one), the days after it, and the length.
    """
    first, offset, count = value
    if isinstance(first, int):
        return days(datetime(year, first, offset), count)
    if first == "easter":
        start = easter(year)
    elif first == "advent":
        christmas = datetime(year, 12, 25)
        start = christmas - timedelta(22 + christmas.weekday())
    else:
        number, weekday_ = {"november thursday": (11, 3), "may sunday": (5, 6)}[first]
        start = datetime(year, number, 1)
        start += timedelta((weekday_ - start.weekday()) % 7)
    return days(start + timedelta(offset), count)


def rolling(anchor: Anchor, name: str, count: float) -> Span:
    """Return the last or next ``count`` units, counted from now; a negative count is the past.

    The span is from a midnight to now, or from now to a midnight; exact for hours.
    """
    if name == "weekend":
        week = unit(anchor, name, 1 if count > 0 else -1)
        weeks = timedelta(7 * (int(abs(count)) - 1))
        if count > 0:
            return Span(week.start, week.end + weeks)
        return Span(week.start - weeks, week.end)
    exact, other = name in HOURS, _at(anchor, name, count)
    if count > 0:
        return Span(anchor.now, other if exact else other + timedelta(1), exact=exact)
    return Span(other, anchor.now, exact=exact)


def nearest(anchor: Anchor, make: Callable[[int], Span | None], which: str = "") -> Span | None:
    """Choose the year of a yearly span.

    Args:
        make: Returns the span in a year, None if that year has none.
        which: "L" for the last that is over, "t" for this year's, ">" or "S" for the next that has
            not begun; else the last that has begun, or for plans the next that is not over.
    """
    year = anchor.now.year
    for step in range(LOOK_BACK + 1):
        forward = which in (">", "S") or (anchor.ahead and not which)
        # Winter spans two years: last year's may not be over.
        span = make(year + step - 1 if forward or which == "t" else year - step)
        if span is None:
            continue
        begun, over = span.start <= anchor.now, span.end <= anchor.now
        this_year = not over or span.start.year == year
        good = {"L": over, "t": this_year, ">": not begun, "S": not begun}
        if good.get(which, not over if forward else begun):
            return Span(span.start, span.end, floating=not which)
    return None


def weekday(anchor: Anchor, number: int, which: str = "") -> Span:
    """Return a day of the week.

    Args:
        number: 0 for Monday.
        which: "t" for this week's, ">" for next week's, "S" for the next after today; else the
            latest before today, or for plans the next after today.
    """
    today = anchor.day.weekday()
    if which == "t" and anchor.ahead and number < today:
        which = "S"
    if which in ("t", ">"):
        return days(anchor.day + timedelta(number - today + (7 if which == ">" else 0)))
    if which == "S" or (anchor.ahead and not which):
        return days(anchor.day + timedelta((number - today - 1) % 7 + 1), floating=not which)
    return days(anchor.day - timedelta((today - number - 1) % 7 + 1), floating=not which)


def third(span: Span, first: int, last: int) -> Span:
    """Return the part of a span between two of its thirds, in whole days if it has any."""
    step = (span.end - span.start) / 3
    if step >= timedelta(1):
        step = timedelta(step.days)
    end = span.end if last == 3 else span.start + last * step
    return Span(span.start + first * step, end, span.floating, span.exact)


def zone_of(name: str) -> tzinfo:
    """Return a time zone by its IANA name; "" for this machine's.

    Raises:
        ConfigError: There is no such zone.
    """
    if not name:
        return _of_this_machine()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ConfigError(
            f"memory.time_zone: there is no {name!r}",
            hint="Use an IANA name such as Europe/Lisbon",
        ) from error


def _of_this_machine() -> tzinfo:
    """Return the machine's named zone (only these have clock changes), else its current offset."""
    linked = os.path.realpath(LOCALTIME).partition("/zoneinfo/")[2]
    try:
        return ZoneInfo(os.environ.get("TZ") or linked)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return datetime.now().astimezone().tzinfo or UTC
