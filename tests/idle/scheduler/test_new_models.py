from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from slowcat_memory.idle.scheduler.step import NewModels
from slowcat_memory.records import Task

NOW = datetime(2026, 5, 12, tzinfo=UTC)


def store(*jobs: str) -> Any:
    tasks = [
        Task(id=f"{job}/1", job=job, key="1", scope="anna", created=NOW, state="dead", attempts=3)
        for job in jobs
    ]
    return SimpleNamespace(tasks=lambda state: tasks)


def test_new_models_jobs_with_models_of_their_own_do_not_revive_each_other_for_ever() -> None:
    models = NewModels([])
    for _ in range(3):
        found = [
            (task.job, model)
            for job, model in (("facts", "a"), ("topics", "b"))
            for task in models.answered(job, model, store("facts", "topics", "merge"))
        ]
    assert not found, "tasks are revived without end"
