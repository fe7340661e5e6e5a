"""Notices that another model answers: what was given up with the one before is tried again."""

from collections.abc import Iterable

from slowcat_memory.idle.scheduler.results import revived
from slowcat_memory.records import Run, Task
from slowcat_memory.store import Snapshot


class NewModels:
    """The model that answered each job last. A job's steps that no model answered do not count."""

    def __init__(self, runs: Iterable[Run]) -> None:
        """Take over from the last runs, the newest first."""
        self._last = dict[str, str]()
        self._tried = set[tuple[str, str]]()  # models, by jobs that none has answered
        for run in runs:
            if run.model:
                self._last.setdefault(run.job, run.model)

    def answered(self, job: str, model: str, snapshot: Snapshot) -> list[Task]:
        """Return the dead tasks to be tried again; none if the same model answered the job before.

        They are the job's own, and once for each model those of jobs that no model has answered.
        """
        if not model or self._last.get(job) == model:
            return []
        self._last[job] = model
        every = snapshot.tasks(state="dead")
        others = {task.job for task in every if (task.job, model) not in self._tried}
        others -= self._last.keys()
        self._tried |= {(other, model) for other in others}
        return [revived(task) for task in every if task.job == job or task.job in others]
