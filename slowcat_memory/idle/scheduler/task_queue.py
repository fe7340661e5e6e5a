"""Which task is next: by rank, the newest first, of those whose time has come.

A picture of the tasks in the store, taken once and kept until something changes there: reading
thousands of rows before each step would cost more than the step.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from slowcat_memory.idle.scheduler.retries import waits
from slowcat_memory.records import Task


class Queue:
    """The waiting tasks, in the order in which they are done."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        """Put tasks in order.

        Args:
            tasks: Those that wait.
        """
        waiting = [task for task in tasks if task.state == "waiting"]
        self._tasks = {task.id: task for task in sorted(waiting, key=_order)}

    def __len__(self) -> int:
        return len(self._tasks)

    def next(self, now: datetime, may: Callable[[Task], bool]) -> Task | None:
        """Find the task to be done now.

        Args:
            now: The time, aware.
            may: Whether a task's job may run now.

        Returns:
            The task, which stays; None when there is none.
        """
        return next((task for task in self if not waits(task, now) and may(task)), None)

    def wait(self, now: datetime, may: Callable[[Task], bool]) -> float:
        """Tell when the next task's time comes.

        Args:
            now: The time, aware.
            may: Whether a task's job may run.

        Returns:
            Seconds; infinite when none is waiting.
        """
        return min((waits(task, now) for task in self if may(task)), default=float("inf"))

    def take(self, task: str) -> None:
        """Take a task out.

        Args:
            task: Its id; nothing happens when it is not in.
        """
        self._tasks.pop(task, None)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks.values())


def _order(task: Task) -> tuple[int, float, str]:
    return task.rank, -task.created.timestamp(), task.id
