"""The waiting tasks, in the order in which they are done; and how much work is left."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from slowcat_memory.records import Task
from slowcat_memory.store import Snapshot

LONGEST_S = 21600.0  # a longer wait for a retry was set by a wrong clock


class TaskQueue:
    """Waiting tasks by rank, the oldest first within a rank.

    A backlog is read in the order in which it was said, so that each conversation is read with what
    was known before it.

    A copy of the stored tasks, brought up to date task by task: reading thousands of rows before
    each step would cost more than the step. Those of a job are sorted; to choose one, the tasks that
    wait for a retry are passed over, and they are few.
    """

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._tasks = {task.id: task for task in tasks if task.state == "waiting"}
        self._lines: dict[str, list[Task]] = {}
        for task in sorted(self._tasks.values(), key=_order):
            self._lines.setdefault(task.job, []).append(task)

    def put(self, task: Task) -> None:
        """Add a task, or replace the one with its id; one that is not waiting is removed."""
        self.remove(task.id)
        if task.state == "waiting":
            self._tasks[task.id] = task
            insort(self._lines.setdefault(task.job, []), task, key=_order)

    def remove(self, task_id: str) -> None:
        if task := self._tasks.pop(task_id, None):
            line = self._lines[task.job]
            del line[bisect_left(line, _order(task), key=_order)]

    def next_task(
        self, now: datetime, jobs: Collection[str], fresh: Collection[str] = ()
    ) -> Task | None:
        """Return the first runnable task that is not waiting for a retry; it stays queued.

        Args:
            now: Timezone-aware.
            jobs: Names of the jobs whose tasks may run.
            fresh: Names of the jobs of which only tasks without a retry time may run.
        """
        firsts = [self._first(job, lambda task: not seconds_until_due(task, now)) for job in jobs]
        firsts += [self._first(job, lambda task: task.not_before is None) for job in fresh]
        return min((task for task in firsts if task), key=_order, default=None)

    def _first(self, job: str, may_run: Callable[[Task], bool]) -> Task | None:
        return next(filter(may_run, self._lines.get(job, ())), None)

    def counts(self, jobs: Iterable[str]) -> dict[str, int]:
        """Return how many tasks are waiting, of those of some jobs that have any."""
        return {job: len(line) for job in sorted(jobs) if (line := self._lines.get(job))}


def seconds_until_due(task: Task, now: datetime) -> float:
    """Return how many seconds a task still waits for its retry; 0 if none.

    A wait longer than ``LONGEST_S`` was set by a wrong clock. ``now`` is timezone-aware.
    """
    seconds = (task.not_before - now).total_seconds() if task.not_before else 0.0
    return seconds if 0 < seconds <= LONGEST_S else 0.0


def _order(task: Task) -> tuple[int, float, int, str]:
    """Sort by rank, then the oldest session first, and within it in the order of the log."""
    return task.rank, task.created.timestamp(), task.sources[0] if task.sources else 0, task.id


Waits = Mapping[str, Mapping[str, int]]


class Forecast(Struct, frozen=True, kw_only=True):
    """The amount of idle work left.

    Attributes:
        left: Waiting tasks by job; the job with most of them first.
        dead: Tasks that were given up, by job.
        waits: What cannot be done now, as tasks by job, by reason; known while idle work runs:
            "server" (the LLM's does not answer), or the limit of ``[idle]`` that holds it.
    """

    left: dict[str, int]
    dead: dict[str, int]
    waits: Waits = {}


def forecast(
    snapshot: Snapshot, jobs: Collection[str] = (), waits: Mapping[str, Mapping[str, int]] = {}
) -> Forecast:
    """Return the forecast of a store; ``jobs`` limits it to these jobs, if given."""
    counts = Counter(
        (task.state, task.job) for task in snapshot.tasks() if not jobs or task.job in jobs
    )
    waiting, dead = (
        {job: n for (state, job), n in counts.most_common() if state == wanted}
        for wanted in ("waiting", "dead")
    )
    return Forecast(left=waiting, dead=dead, waits=waits)
