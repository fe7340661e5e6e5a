"""When a job is planned. Stored, so that it survives a restart.

Clocks can be wrong: a machine without a battery starts in 1970, people travel, summer time ends. So
a daily plan is recorded by its local date and made once, whatever the clock does in between; an
interval that appears to end before it began counts as over.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from itertools import islice

import msgspec
from msgspec import Struct

from slowcat_memory.idle.job import Job, JobOptions, Trigger
from slowcat_memory.records import Cursor, SessionEdge, Turn
from slowcat_memory.store import Snapshot

LOOK = 1000  # events read at a time: some milliseconds
KEPT_DAYS = 8  # stored dates: a clock may be set back and forward a few times


class LastAsked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When a job was last planned: last log id seen, time, and local ISO dates of daily plans."""

    upto: int = 0
    at: datetime | None = None
    days: tuple[str, ...] = ()


class News(Struct, frozen=True):
    """Log events that a job has not seen: how many turns, and whether a session ended."""

    turns: int = 0
    ended: bool = False


class Triggers:
    """Decides which jobs are planned. Caches what it read of the log.

    ``now`` is timezone-aware, ``zone`` is the user's.
    """

    def __init__(self, options: Mapping[str, JobOptions] | None = None) -> None:
        self._options = options or {}
        self._seen: dict[str, tuple[int, int, News]] = {}

    def due(self, snapshot: Snapshot, job: Job, now: datetime, zone: tzinfo) -> bool:
        options = self._options.get(job.name, JobOptions())
        trigger = overridden(job.trigger, options)
        asked = read(snapshot, job.name)
        if options.every_s and not _is_over(options.every_s, asked.at, now):
            return False
        wants_log = trigger.turns > 0 or trigger.session_end
        news = self._news(snapshot, job.name, asked.upto) if wants_log else News()
        return due(trigger, asked, news, now, zone)

    def asked(self, snapshot: Snapshot, job: Job, now: datetime, zone: tzinfo) -> Cursor:
        """Return the cursor that records that a job was planned with this view of the log."""
        trigger = overridden(job.trigger, self._options.get(job.name, JobOptions()))
        before = read(snapshot, job.name)
        return row(job.name, asked_now(trigger, before, snapshot.last_id(), now, zone))

    def _news(self, snapshot: Snapshot, job: str, since: int) -> News:
        start, upto, news = self._seen.get(job, (since, since, News()))
        if start != since:
            start, upto, news = since, since, News()
        turns, ended = news.turns, news.ended
        for event in islice(snapshot.events(after=upto), LOOK):
            upto = event.id
            turns += isinstance(event, Turn)
            ended |= isinstance(event, SessionEdge) and event.kind == "end"
        news = News(turns, ended)
        self._seen[job] = (start, upto, news)
        return news


def overridden(trigger: Trigger, options: JobOptions) -> Trigger:
    if options.at_hour is not None:
        return Trigger(at_hour=options.at_hour, weekday=trigger.weekday)
    if options.every_s is not None and trigger.every_s:
        return msgspec.structs.replace(trigger, every_s=options.every_s)
    return trigger


def due(trigger: Trigger, asked: LastAsked, news: News, now: datetime, zone: tzinfo) -> bool:
    return (
        0 < trigger.turns <= news.turns
        or (trigger.session_end and news.ended)
        or (trigger.every_s > 0 and _is_over(trigger.every_s, asked.at, now))
        or (trigger.at_hour is not None and str(day_of(trigger, now, zone)) not in asked.days)
    )


def asked_now(
    trigger: Trigger, asked: LastAsked, upto: int, now: datetime, zone: tzinfo
) -> LastAsked:
    """Return the record of a job that is planned now and can see the log up to ``upto``."""
    days = asked.days
    if trigger.at_hour is not None:
        today = str(day_of(trigger, now, zone))
        days = (*(day for day in days if day != today), today)[-KEPT_DAYS:]
    return LastAsked(upto=upto, at=now, days=days)


def day_of(trigger: Trigger, now: datetime, zone: tzinfo) -> date:
    """Return the local date of the current daily plan: the latest whose ``at_hour`` has passed.

    An hour skipped by the clocks has passed with the next one; a repeated one counts once. Before
    the hour it is the day before, so that a machine asleep at its hour catches up.
    """
    local = now.astimezone(zone)
    day = local.date()
    if local.hour < (trigger.at_hour or 0):
        day = _back(day, 1)
    if trigger.weekday is not None:
        day = _back(day, (day.weekday() - trigger.weekday) % 7)
    return day


def cursor_name(job: str) -> str:
    return f"asked/{job}"


def read(snapshot: Snapshot, job: str) -> LastAsked:
    """Return when a job was last planned; the default if the row is missing or unreadable."""
    found = snapshot.cursor(cursor_name(job))
    if found is None:
        return LastAsked()
    try:
        kept = msgspec.json.decode(found.note or "{}", type=LastAsked)
    except msgspec.MsgspecError:
        kept = LastAsked()
    return msgspec.structs.replace(kept, upto=found.position)


def row(job: str, asked: LastAsked) -> Cursor:
    note = msgspec.json.encode(msgspec.structs.replace(asked, upto=0)).decode()
    return Cursor(name=cursor_name(job), position=asked.upto, note=note)


def _back(day: date, days: int) -> date:
    return day - timedelta(days) if day.toordinal() > days else day


def _is_over(every_s: float, since: datetime | None, now: datetime) -> bool:
    return since is None or not 0 <= (now - since).total_seconds() < every_s
