"""What is left to think, how fast it goes, and when it will be done: from tasks and run log."""

from collections import Counter
from collections.abc import Collection, Sequence

from msgspec import Struct

from slowcat_memory.records import Run, Task
from slowcat_memory.store import Snapshot

LOOK_BACK = 200  # runs: what a model does now tells more than what another did last week
COUNTED = ("done", "retry", "dead")  # what is interrupted, or finds nobody, tells nothing of pace


class Forecast(Struct, frozen=True, kw_only=True):
    """How it stands.

    Attributes:
        left: Tasks that wait, by job; the job with most of them first.
        dead: Tasks that were given up, by job.
        tokens_s: Tokens that the LLM read and wrote a second, over its last steps; 0 without any.
        left_s: Seconds of work until all is done; None when no run of such a job tells.
    """

    left: dict[str, int]
    dead: dict[str, int]
    tokens_s: float
    left_s: float | None


def forecast(snapshot: Snapshot, jobs: Collection[str] = ()) -> Forecast:
    """Tell how it stands.

    Args:
        snapshot: The store.
        jobs: Names of the only jobs to look at; none for every one.

    Returns:
        The forecast.
    """
    tasks = [task for task in snapshot.tasks() if not jobs or task.job in jobs]
    return foresee(tasks, [run for run in snapshot.runs(LOOK_BACK) if not jobs or run.job in jobs])


def foresee(tasks: Sequence[Task], runs: Sequence[Run]) -> Forecast:
    """Tell how long tasks take, if they take as long as those before them.

    Args:
        tasks: Waiting and dead ones.
        runs: Of the run log.

    Returns:
        The forecast. A job that never ran is taken to be as fast as the others are.
    """
    left = Counter(task.job for task in tasks if task.state == "waiting")
    counted = [run for run in runs if run.outcome in COUNTED]
    talking = [run for run in counted if run.tokens_in or run.tokens_out]
    tokens = sum(run.tokens_in + run.tokens_out for run in talking)
    seconds = sum(run.ms for run in talking) / 1e3
    every = _mean_ms(counted)
    paces = {job: _mean_ms([run for run in counted if run.job == job]) or every for job in left}
    return Forecast(
        left=dict(left.most_common()),
        dead=dict(Counter(task.job for task in tasks if task.state == "dead").most_common()),
        tokens_s=tokens / seconds if seconds else 0.0,
        left_s=sum(n * paces[job] for job, n in left.items()) / 1e3 if every else None,
    )


def _mean_ms(runs: Sequence[Run]) -> float:
    return sum(run.ms for run in runs) / len(runs) if runs else 0.0
