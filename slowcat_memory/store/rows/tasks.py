"""Tasks and runs: what idle jobs are to do, and what they did."""

from msgspec.structs import replace

from slowcat_memory.records import Run, Task, WriteBatch
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.tables import LAST_RUN
from slowcat_memory.store.disk.transaction import Edit
from slowcat_memory.store.rows.subjects import any_forgotten


def done(batch: WriteBatch, edit: Edit) -> bool:
    """Take away the task that a step is the outcome of.

    Args:
        batch: The step's outcome.
        edit: Takes the change.

    Returns:
        False when the task is not there: the outcome was written before, or is about something
        that was forgotten meanwhile, and must not be written.
    """
    if not batch.done:
        return True
    key = keys.name_key(batch.done)
    there = edit.get("tasks", key) is not None
    edit.drop("tasks", key)
    return there


def ask(batch: WriteBatch, edit: Edit) -> None:
    """Put a step's tasks, but for those about something forgotten.

    Args:
        batch: The step's outcome.
        edit: Takes the changes.
    """
    for task in batch.tasks:
        key = keys.name_key(task.id)
        there = edit.get("tasks", key) is not None
        if (batch.retask or not there) and not any_forgotten(task.sources, edit):
            edit.write_record("tasks", key, task)


def log(batch: WriteBatch, done: bool, edit: Edit) -> None:
    """Number a step's run and write it down.

    Args:
        batch: The step's outcome.
        done: Whether its task was there; else its id may name what was forgotten, and is left out.
        edit: Takes the change.
    """
    if batch.run is None:
        return
    number = edit.meta(LAST_RUN, 0) + 1
    edit.set_meta(LAST_RUN, number)
    told = done and not any(_is_lost(task, batch.run, edit) for task in batch.tasks)
    run = replace(batch.run, id=number, task=batch.run.task if told else "")
    edit.write_record("runs", keys.id_key(number), run)


def _is_lost(task: Task, run: Run, edit: Edit) -> bool:
    return task.id == run.task and any_forgotten(task.sources, edit)
