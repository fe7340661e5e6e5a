"""Is a job to be asked what is due? Arithmetic over what is known of the last time it was asked.

Clocks are wrong at times: a machine without a battery begins in 1970, people travel, summer ends.
So a day's turn is known by its local date and taken once, whatever the clock does in between; and
an interval that seems to end before it began is over.
"""

from datetime import date, datetime, timedelta, tzinfo

from msgspec import Struct

from slowcat_memory.idle.job import Trigger

KEPT = 8  # dates remembered: a clock may be put back and on again a few times


class Asked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of the last time that a job was asked.

    Attributes:
        upto: Log id up to which it could see.
        at: When; None when it never was.
        days: Local dates of which it had the turn, the latest last, ISO.
    """

    upto: int = 0
    at: datetime | None = None
    days: tuple[str, ...] = ()


class News(Struct, frozen=True):
    """What the log holds that a job was not asked about.

    Attributes:
        turns: How many turns.
        ended: Whether a session has ended.
    """

    turns: int = 0
    ended: bool = False


def due(trigger: Trigger, asked: Asked, news: News, now: datetime, zone: tzinfo) -> bool:
    """Tell whether a job is to be asked.

    Args:
        trigger: When it wants to be.
        asked: When it was.
        news: What has happened since.
        now: The time, aware.
        zone: The user's.

    Returns:
        True when anything of the trigger holds.
    """
    return (
        0 < trigger.turns <= news.turns
        or (trigger.session_end and news.ended)
        or (trigger.every_s > 0 and _over(trigger.every_s, asked.at, now))
        or (trigger.at_hour is not None and str(day_of(trigger, now, zone)) not in asked.days)
    )


def asked_now(trigger: Trigger, asked: Asked, upto: int, now: datetime, zone: tzinfo) -> Asked:
    """Note that a job has been asked.

    Args:
        trigger: When it wants to be.
        asked: What was known before.
        upto: Log id up to which it could see.
        now: The time, aware.
        zone: The user's.

    Returns:
        What is known now.
    """
    days = asked.days
    if trigger.at_hour is not None:
        today = str(day_of(trigger, now, zone))
        days = (*(day for day in days if day != today), today)[-KEPT:]
    return Asked(upto=upto, at=now, days=days)


def day_of(trigger: Trigger, now: datetime, zone: tzinfo) -> date:
    """Find the day whose turn it is: the latest whose hour has come.

    An hour that the clocks skip has come with the next; one that they repeat comes once.

    Args:
        trigger: With an ``at_hour``.
        now: The time, aware.
        zone: The user's.

    Returns:
        The local date. Before the hour it is the day before: whoever slept through its hour is
        not left out.
    """
    local = now.astimezone(zone)
    day = local.date()
    if local.hour < (trigger.at_hour or 0):
        day = _back(day, 1)
    if trigger.weekday is not None:
        day = _back(day, (day.weekday() - trigger.weekday) % 7)
    return day


def _back(day: date, days: int) -> date:
    return day - timedelta(days) if day.toordinal() > days else day


def _over(every_s: float, since: datetime | None, now: datetime) -> bool:
    return since is None or not 0 <= (now - since).total_seconds() < every_s
