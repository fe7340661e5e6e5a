"""The waiting tasks, in the order in which they are done; and why tasks wait, and until when."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from heapq import heappop, heappush
from itertools import count
from typing import Literal, TypeVar

from msgspec import Struct

from slowcat_memory.records import Task

LONGEST_S = 21600.0  # a longer wait for a retry was set by a wrong clock
Rank = tuple[int, float, int, str]
Order = TypeVar("Order")
Heap = list[tuple[Order, int, Task]]  # the number keeps equal entries in the order of adding
_numbers = count()


class TaskQueue:
    """Waiting tasks by rank, the oldest first within a rank.

    A backlog is read in the order in which it was said, so that each conversation is read with what
    was known before it.

    A copy of the stored tasks, brought up to date task by task: reading thousands of rows before
    each step would cost more than the step. Adding, removing and choosing a task take time that
    grows with the logarithm of their number.
    """

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._tasks: dict[str, Task] = {}
        self._lines: dict[str, _Line] = {}
        self._counts = Counter[str]()
        for task in tasks:
            self.put(task)

    def __len__(self) -> int:
        return len(self._tasks)

    def put(self, task: Task) -> None:
        """Add a task, or replace the one with its id; one that is not waiting is removed."""
        self.remove(task.id)
        if task.state != "waiting":
            return
        self._tasks[task.id] = task
        self._counts[task.job] += 1
        self._lines.setdefault(task.job, _Line(self._is_current)).put(task)

    def remove(self, task_id: str) -> None:
        if task := self._tasks.pop(task_id, None):
            self._counts[task.job] -= 1

    def next_task(
        self, now: datetime, jobs: Collection[str], fresh: Collection[str] = ()
    ) -> Task | None:
        """Return the first runnable task that is not waiting for a retry; it stays queued.

        Args:
            now: Timezone-aware.
            jobs: Names of the jobs whose tasks may run.
            fresh: Names of the jobs of which only tasks without a retry time may run.
        """
        found = [self._lines[job].first(now) for job in jobs if self._counts[job]]
        found += [self._lines[job].first_fresh() for job in fresh if self._counts[job]]
        return min((task for task in found if task), key=_order, default=None)

    def jobs(self) -> set[str]:
        """Return the names of the jobs with waiting tasks."""
        return {job for job, n in self._counts.items() if n}

    def count(self, jobs: Iterable[str]) -> int:
        """Return how many tasks of some jobs are waiting."""
        return sum(self._counts[job] for job in jobs)

    def soonest(self, job: str) -> datetime | None:
        """Return when the first task of a job may run; None for at once, or without a task."""
        return self._lines[job].soonest() if self._counts[job] else None

    def _is_current(self, task: Task) -> bool:
        return self._tasks.get(task.id) is task


class _Line:
    """The tasks of one job. Entries of tasks that are gone are skipped when they are met."""

    def __init__(self, is_current: Callable[[Task], bool]) -> None:
        self._is_current = is_current
        self._fresh: Heap[Rank] = []
        self._due: Heap[Rank] = []  # their retry has come
        self._by_time: Heap[tuple[float, str]] = []
        self._by_time_last: Heap[tuple[float, str]] = []  # the latest first

    def put(self, task: Task) -> None:
        if task.not_before is None:
            return heappush(self._fresh, (_order(task), next(_numbers), task))
        at = task.not_before.timestamp()
        heappush(self._by_time, ((at, task.id), next(_numbers), task))
        heappush(self._by_time_last, ((-at, task.id), next(_numbers), task))
        return None

    def first(self, now: datetime) -> Task | None:
        for heap in (self._by_time, self._by_time_last):
            while (task := self._top(heap)) and not seconds_until_due(task, now):
                heappop(heap)
                heappush(self._due, (_order(task), next(_numbers), task))
        found = (self.first_fresh(), self._top(self._due))
        return min((task for task in found if task), key=_order, default=None)

    def first_fresh(self) -> Task | None:
        return self._top(self._fresh)

    def soonest(self) -> datetime | None:
        if self.first_fresh() or self._top(self._due):
            return None
        task = self._top(self._by_time)
        return task.not_before if task else None

    def _top(self, heap: Heap[Order]) -> Task | None:
        while heap and not self._is_current(heap[0][2]):
            heappop(heap)
        return heap[0][2] if heap else None


def seconds_until_due(task: Task, now: datetime) -> float:
    """Return how many seconds a task still waits for its retry: 0 if none, infinity if dead.

    A wait longer than ``LONGEST_S`` was set by a wrong clock. ``now`` is timezone-aware.
    """
    if task.state == "dead":
        return float("inf")
    left = (task.not_before - now).total_seconds() if task.not_before else 0.0
    return left if 0 < left <= LONGEST_S else 0.0


def _order(task: Task) -> Rank:
    """Sort by rank, then the oldest session first, and within it in the order of the log."""
    return task.rank, task.created.timestamp(), task.sources[0] if task.sources else 0, task.id


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
