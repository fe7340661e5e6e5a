"""Why tasks wait, and until when: for the commands that show it."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct

from slowcat_memory.idle.scheduler.task_queue import TaskQueue

Reason = Literal["server", "hours", "battery", "tokens", "later"]


class Wait(Struct, frozen=True):
    """Tasks that wait for one reason.

    Attributes:
        reason: "server": the LLM's does not answer; "hours", "battery", "tokens": ``[idle]`` does
            not allow the LLM or the embedding model now; "later": they may be tried at ``until``.
        jobs: How many tasks wait, by job.
        until: When the first of them may be done, timezone-aware; None if that is unknown.
    """

    reason: Reason
    jobs: dict[str, int]
    until: datetime | None = None


def ends_within(waits: tuple[Wait, ...], now: datetime, seconds: float) -> bool:
    """Return whether waiting may help: nothing is known to wait, or the end of a wait is near."""
    return not waits or any(
        (one.until - now).total_seconds() <= seconds if one.until else one.reason != "battery"
        for one in waits
    )


Held = tuple[Reason, datetime | None]  # a limit of the budget, and when it ends


def waits_of(
    queue: TaskQueue, held: Mapping[str, Held], away: Collection[str], now: datetime
) -> Iterator[Wait]:
    """Yield what waits, by reason.

    Args:
        queue: The waiting tasks.
        held: The limit that holds a job, by the job's name.
        away: Names of the jobs that wait for the LLM's server.
        now: Timezone-aware.
    """
    found: dict[Reason, dict[str, int]] = {}
    ends: dict[Reason, list[datetime | None]] = {}
    for job in sorted(queue.jobs()):
        soonest = queue.soonest(job)
        later = soonest if soonest is not None and soonest > now else None
        reason, until = held.get(job, ("server", None) if job in away else ("later", later))
        if reason != "later" or later is not None:
            found.setdefault(reason, {})[job] = queue.count([job])
            ends.setdefault(reason, []).append(until)
    for reason, jobs in found.items():
        known = [at for at in ends[reason] if at is not None]
        yield Wait(reason, jobs, min(known, default=None))
