"""Tasks and runs: what idle jobs are to do, and what they did."""

from msgspec.structs import replace

from slowcat_memory.records import Run, Task, WriteBatch
from slowcat_memory.store.disk import keys
from slowcat_memory.store.disk.tables import LAST_RUN
from slowcat_memory.store.disk.transaction import Transaction
from slowcat_memory.store.rows.subjects import any_forgotten


def done(batch: WriteBatch, tx: Transaction) -> bool:
    """Take away the task that a step is the outcome of.

    Args:
        batch: The step's outcome.
        tx: Takes the change.

    Returns:
        False when the task is not there: the outcome was written before, or is about something
        that was forgotten meanwhile, and must not be written.
    """
    if not batch.done:
        return True
    key = keys.name_key(batch.done)
    there = tx.get("tasks", key) is not None
    tx.drop("tasks", key)
    return there


def ask(batch: WriteBatch, tx: Transaction) -> None:
    """Put a step's tasks, but for those about something forgotten.

    Args:
        batch: The step's outcome.
        tx: Takes the changes.
    """
    for task in batch.tasks:
        key = keys.name_key(task.id)
        there = tx.get("tasks", key) is not None
        if (batch.retask or not there) and not any_forgotten(task.sources, tx):
            tx.write_record("tasks", key, task)


def log(batch: WriteBatch, done: bool, tx: Transaction) -> None:
    """Number a step's run and write it down.

    Args:
        batch: The step's outcome.
        done: Whether its task was there; else its id may name what was forgotten, and is left out.
        tx: Takes the change.
    """
    if batch.run is None:
        return
    number = tx.meta(LAST_RUN, 0) + 1
    tx.set_meta(LAST_RUN, number)
    told = done and not any(_is_lost(task, batch.run, tx) for task in batch.tasks)
    run = replace(batch.run, id=number, task=batch.run.task if told else "")
    tx.write_record("runs", keys.id_key(number), run)


def _is_lost(task: Task, run: Run, tx: Transaction) -> bool:
    return task.id == run.task and any_forgotten(task.sources, tx)
