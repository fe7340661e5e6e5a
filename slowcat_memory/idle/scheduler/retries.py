"""What becomes of a task whose outcome cannot be used: later once more, or never."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from slowcat_memory.errors import SlowcatError
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.records import Task

GROWTH = 4.0
LONGEST = 200  # characters of an error that are kept


def failed(task: Task, error: str, now: datetime, options: IdleOptions) -> Task:
    """Count a failure.

    Args:
        task: As it was tried.
        error: See ``told``.
        now: The time, aware.
        options: How often, and how soon, it is tried again.

    Returns:
        The task with its next try, or dead.
    """
    attempts = task.attempts + 1
    if attempts >= options.tries:
        return replace(task, attempts=attempts, error=error, not_before=None, state="dead")
    return replace(
        task,
        attempts=attempts,
        error=error,
        not_before=now + timedelta(seconds=backoff(attempts, options)),
    )


def backoff(attempts: int, options: IdleOptions) -> float:
    """Tell how long to wait after a failure.

    Args:
        attempts: Failures so far, at least one.
        options: The first wait, and the longest.

    Returns:
        Seconds.
    """
    steps = min(attempts - 1, 30)  # beyond any cap, short of what a float holds
    return min(options.backoff_s * GROWTH**steps, options.backoff_most_s)


def revived(task: Task) -> Task:
    """Have a dead task tried again, as often as a new one.

    Args:
        task: The task.

    Returns:
        The task, waiting; its last error stays to be read.
    """
    return replace(task, state="waiting", attempts=0, not_before=None)


def told(error: BaseException) -> str:
    """Say what went wrong without a word of what anybody said.

    Args:
        error: Anything. Messages of this package hold no memory text; those of others may.

    Returns:
        Its type, and the message when it is one of ours.
    """
    name = type(error).__name__
    return f"{name}: {error.message}"[:LONGEST] if isinstance(error, SlowcatError) else name


def waits(task: Task, now: datetime, most_s: float = 21600.0) -> float:
    """Tell how long a task waits yet.

    Args:
        task: The task.
        now: The time, aware.
        most_s: Seconds; a time further ahead was set by a clock that was wrong.

    Returns:
        Seconds, 0 when it may be tried, infinite when it is dead.
    """
    if task.state == "dead":
        return float("inf")
    left = (task.not_before - now).total_seconds() if task.not_before else 0.0
    return left if 0 < left <= most_s else 0.0
