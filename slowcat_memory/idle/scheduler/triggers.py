"""When each job was last asked what is due, kept in the store, so that it survives a restart."""

from datetime import datetime, tzinfo
from itertools import islice

import msgspec

from slowcat_memory.idle.job import Job
from slowcat_memory.idle.scheduler.schedule import Asked, News, asked_now, due
from slowcat_memory.records import Cursor, SessionEdge, Turn
from slowcat_memory.store import Snapshot

LOOK = 1000  # events that are read in one look: some milliseconds


def cursor_of(job: str) -> str:
    """Name the cursor that tells when a job was asked; its own cursor is another.

    Args:
        job: Its name.

    Returns:
        The name.
    """
    return f"asked/{job}"


def read(snapshot: Snapshot, job: str) -> Asked:
    """Read when a job was last asked.

    Args:
        snapshot: The store.
        job: Its name.

    Returns:
        What is known; nothing when the row makes no sense.
    """
    row = snapshot.cursor(cursor_of(job))
    if row is None:
        return Asked()
    try:
        kept = msgspec.json.decode(row.note or "{}", type=Asked)
    except msgspec.MsgspecError:
        kept = Asked()
    return msgspec.structs.replace(kept, upto=row.position)


def row(job: str, asked: Asked) -> Cursor:
    """Write down that a job was asked.

    Args:
        job: Its name.
        asked: What is to be known.

    Returns:
        The cursor to move.
    """
    note = msgspec.json.encode(msgspec.structs.replace(asked, upto=0)).decode()
    return Cursor(name=cursor_of(job), position=asked.upto, note=note)


class Triggers:
    """Tells which jobs are to be asked. What it has read of the log it does not read again."""

    def __init__(self) -> None:
        """Know nothing."""
        self._seen: dict[str, tuple[int, int, News]] = {}

    def due(self, snapshot: Snapshot, job: Job, now: datetime, zone: tzinfo) -> bool:
        """Tell whether a job is to be asked.

        Args:
            snapshot: The store.
            job: The job.
            now: The time, aware.
            zone: The user's.

        Returns:
            True when it is.
        """
        asked = read(snapshot, job.name)
        wants_log = job.trigger.turns > 0 or job.trigger.session_end
        news = self._news(snapshot, job.name, asked.upto) if wants_log else News()
        return due(job.trigger, asked, news, now, zone)

    @staticmethod
    def asked(snapshot: Snapshot, job: Job, now: datetime, zone: tzinfo) -> Cursor:
        """Note that a job has been asked, and saw this much of the log.

        Args:
            snapshot: What it saw, or an earlier one.
            job: The job.
            now: The time, aware.
            zone: The user's.

        Returns:
            The cursor to move.
        """
        before = read(snapshot, job.name)
        return row(job.name, asked_now(job.trigger, before, snapshot.last_id(), now, zone))

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
