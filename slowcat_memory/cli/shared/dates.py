"""Dates and times as people write them: "2024-05-12", "yesterday", "last week", "in March"."""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from msgspec import Struct

from slowcat_memory.cli.shared.exits import usage
from slowcat_memory.core.time.calendar import in_zone

_PREPOSITION = re.compile("^(?:in|on|at|im|am) ")
EXAMPLES = '"2024-05-12", "2024-05-12 18:30", "yesterday", "last week"'


class Period(Struct, frozen=True):
    """The time that a date or an expression covers, in UTC; ``end`` is the first moment after it."""

    start: datetime
    end: datetime


def period_of(text: str, now: datetime, zone: tzinfo, option: str) -> Period:
    """Return the time that a text names; a minute is a period of no length.

    Args:
        text: A date or time in ISO 8601, or an expression in English or German.
        now: The present, aware; expressions are relative to it, and mean the past where they can.
        zone: The user's time zone.
        option: Where the text was given, for the error.

    Raises:
        typer.BadParameter: It names no time.
    """
    return _written(text, zone, option) or _in_words(text, now, zone, option)


def parse_time(
    text: str | None, zone: tzinfo, option: str, *, now: datetime | None = None
) -> datetime | None:
    """Return the beginning of the time that a text names, in UTC; None for None.

    Args:
        now: The present; None for that of this machine's clock.

    Raises:
        typer.BadParameter: It names no time.
    """
    if text is None:
        return None
    return period_of(text, now or datetime.now(UTC), zone, option).start


def last_moment(text: str, now: datetime, zone: tzinfo, option: str) -> datetime:
    """Return the last moment of the time that a text names, but none of the future, in UTC.

    Raises:
        typer.BadParameter: It names no time.
    """
    found = period_of(text, now, zone, option)
    last = max(found.start, found.end - timedelta(microseconds=1))
    return min(last, now.astimezone(UTC)) if found.start <= now else last


def day_in_words(at: datetime, zone: tzinfo) -> str:
    """Return a day, for example "2 March 2026"."""
    local = in_zone(at, zone)
    return f"{local.day} {local:%B %Y}"


def ago(at: datetime, now: datetime, zone: tzinfo) -> str:
    """Return a moment as people say it: "today 10:40", "yesterday 18:20", "2 March 2026"."""
    local = in_zone(at, zone)
    days = (in_zone(now, zone).date() - local.date()).days
    names = {0: "today", 1: "yesterday"}
    return f"{names[days]} {local:%H:%M}" if days in names else day_in_words(at, zone)


def _written(text: str, zone: tzinfo, option: str) -> Period | None:
    """Return the period of a date or time in ISO 8601; None when it is none."""
    from slowcat_memory.transfer.ingest import utc
    from slowcat_memory.transfer.transcript import time_of

    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    try:
        at = time_of(text)
    except ValueError as error:
        raise usage(str(error), option) from None
    if at is None:
        return None
    whole_day = len(text.strip()) <= len("2025-11-15")
    return Period(utc(at, zone), utc(at + timedelta(days=1), zone) if whole_day else utc(at, zone))


def _in_words(text: str, now: datetime, zone: tzinfo, option: str) -> Period:
    from slowcat_memory.core.time.expressions import WhenOptions, times

    plain = _PREPOSITION.sub("", text.strip().casefold())
    for language in ("english", "german"):
        for asked in (plain, f"in {plain}"):  # "march" alone may be a verb
            found = times(f"{asked}?", now, zone, WhenOptions(language=language))
            if len(found) == 1 and found[0].words.casefold() in (plain, asked):
                return Period(found[0].start.astimezone(UTC), found[0].end.astimezone(UTC))
    raise usage(f"{text!r} is not a time such as {EXAMPLES}", option)
