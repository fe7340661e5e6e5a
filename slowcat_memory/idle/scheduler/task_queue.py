"""The waiting tasks in the order in which they are done.

A copy of the tasks in the store, read once and kept until something changes there: reading
thousands of rows before each step would cost more than the step.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from slowcat_memory.records import Task


class TaskQueue:
    """Waiting tasks by rank, the newest first within a rank."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        waiting = [task for task in tasks if task.state == "waiting"]
        self._tasks = {task.id: task for task in sorted(waiting, key=_order)}

    def __len__(self) -> int:
        return len(self._tasks)

    def next_task(self, now: datetime, can_run: Callable[[Task], bool]) -> Task | None:
        """Return the first task that is not waiting for a retry and can run; it stays queued."""
        tasks = self._tasks.values()
        return next((t for t in tasks if not seconds_until_due(t, now) and can_run(t)), None)

    def jobs(self) -> list[str]:
        """Return the job of each task."""
        return [task.job for task in self._tasks.values()]

    def remove(self, task_id: str) -> None:
        """Remove a task, if it is queued."""
        self._tasks.pop(task_id, None)


def seconds_until_due(task: Task, now: datetime, most_s: float = 21600.0) -> float:
    """Return how many seconds a task still waits for its retry.

    Args:
        now: The time, aware.
        most_s: Longest believable wait; a time further ahead was set by a wrong clock.

    Returns:
        0 when it may run, infinity when it is dead.
    """
    if task.state == "dead":
        return float("inf")
    left = (task.not_before - now).total_seconds() if task.not_before else 0.0
    return left if 0 < left <= most_s else 0.0


def _order(task: Task) -> tuple[int, float, str]:
    return task.rank, -task.created.timestamp(), task.id
