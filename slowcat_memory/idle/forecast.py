"""Estimates how much idle work is left, and how long it will take, from tasks and run log."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

from msgspec import Struct

from slowcat_memory.idle.scheduler.task_queue import Wait, seconds_until_due
from slowcat_memory.records import Run, Task
from slowcat_memory.store import Snapshot

LOOK_BACK = 200  # runs: the pace of the present model
COUNTED = ("done", "retry", "dead")  # interrupted runs, and those without a server, show no pace


class Forecast(Struct, frozen=True, kw_only=True):
    """The amount of idle work left.

    Attributes:
        left: Waiting tasks by job; the job with most of them first.
        dead: Tasks that were given up, by job.
        tokens_s: Tokens a second that the LLM read and wrote in its last steps; 0 without any.
        left_s: Seconds of work that can be done now; None if no run of such a job shows the pace.
        waits: What cannot be done now, and until when; known while idle work runs.
    """

    left: dict[str, int]
    dead: dict[str, int]
    tokens_s: float
    left_s: float | None
    waits: tuple[Wait, ...] = ()


def forecast(
    snapshot: Snapshot,
    jobs: Collection[str] = (),
    now: datetime | None = None,
    waits: tuple[Wait, ...] = (),
) -> Forecast:
    """Return the forecast of a store.

    Args:
        jobs: Limits it to these jobs, if given.
        now: Timezone-aware; tasks that wait until later are no work that can be done now.
        waits: As in ``Forecast``; these are no such work either.
    """
    tasks = [task for task in snapshot.tasks() if not jobs or task.job in jobs]
    runs = [run for run in snapshot.runs(LOOK_BACK) if not jobs or run.job in jobs]
    return forecast_of(tasks, runs, now, waits)


def forecast_of(
    tasks: Sequence[Task],
    runs: Sequence[Run],
    now: datetime | None = None,
    waits: tuple[Wait, ...] = (),
) -> Forecast:
    """Return the forecast if tasks take as long as earlier ones.

    A job that never ran is assumed to be as fast as the others on average.
    """
    waiting = [task for task in tasks if task.state == "waiting"]
    held = {job for one in waits for job in one.jobs if one.reason != "later"}
    due = Counter(
        task.job
        for task in waiting
        if task.job not in held and not (now and seconds_until_due(task, now))
    )
    left = Counter(task.job for task in waiting)
    counted = [run for run in runs if run.outcome in COUNTED]
    with_llm = [run for run in counted if run.tokens_in or run.tokens_out]
    tokens = sum(run.tokens_in + run.tokens_out for run in with_llm)
    seconds = sum(run.ms for run in with_llm) / 1e3
    mean_ms = _mean_ms(counted)
    paces = {job: _mean_ms([run for run in counted if run.job == job]) or mean_ms for job in left}
    return Forecast(
        left=dict(left.most_common()),
        dead=dict(Counter(task.job for task in tasks if task.state == "dead").most_common()),
        tokens_s=tokens / seconds if seconds else 0.0,
        left_s=sum(n * paces[job] for job, n in due.items()) / 1e3 if mean_ms else None,
        waits=waits,
    )


def _mean_ms(runs: Sequence[Run]) -> float:
    return sum(run.ms for run in runs) / len(runs) if runs else 0.0
