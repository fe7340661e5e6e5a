"""What is written after a step: its result, or the task's next try; and its row of the run log."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.core.disclosure import LOCAL_ONLY, MUTED, has_marked_origin, with_mark
from slowcat_memory.core.extraction.checks.derived_text import keepable_batch
from slowcat_memory.errors import BadAnswerError, PromptTooLongError, describe_error
from slowcat_memory.idle.job import CountingLLM, Job, RuleStandsInError
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.idle.scheduler.step import StepResult
from slowcat_memory.records import Memory, Run, RunOutcome, Task, WriteBatch
from slowcat_memory.store import Snapshot

BACKOFF_GROWTH = 4.0


def batch_of(
    job: Job,
    task: Task,
    result: StepResult,
    snapshot: Snapshot,
    now: datetime,
    options: IdleOptions,
) -> WriteBatch:
    """Return the batch to write after a step that returned or failed.

    Args:
        now: Timezone-aware.
        options: How often, and how soon, a task is tried again.

    Returns:
        The step's own batch with its task done; the parts of a task that was too long, or whose
        answers cannot be used; or the task with its next try, and what a rule found meanwhile.
    """
    if result.batch is not None:
        return _done(result.batch, task, snapshot)
    error = result.error
    if error is None:
        raise ValueError(f"the step of {task.id} was interrupted: there is nothing to write")
    if isinstance(error, PromptTooLongError) and (parts := _parts(job, task, "split")):
        return WriteBatch(done=task.id, tasks=parts)
    logger.warning(f"The idle job {job.name} failed: {describe_error(error)}")
    after = after_failure(task, describe_error(error), now, options)
    by_rule = error.batch if isinstance(error, RuleStandsInError) else WriteBatch()
    if type(error) is BadAnswerError and after.state == "dead":
        parts = _parts(job, task, "pieces")
        if parts:
            once = tuple(replace(part, attempts=options.tries - 1) for part in parts)
            return WriteBatch(done=task.id, tasks=once)
    # Deleted and added again, so that a task that was forgotten meanwhile stays deleted.
    return _done(replace(by_rule, tasks=(*by_rule.tasks, after), retask=True), task, snapshot)


def _done(batch: WriteBatch, task: Task, snapshot: Snapshot) -> WriteBatch:
    kept = keepable_batch(batch)
    memories = mark_inherited(kept.memories, snapshot)
    return replace(kept, memories=memories, done=task.id)


def run_of(
    task: Task, result: StepResult, batch: WriteBatch, llm: CountingLLM | None, began: datetime
) -> Run:
    """Return a step's row of the run log; its LLM, if any, counted the tokens."""
    return Run(
        task=task.id,
        job=task.job,
        at=began,
        ms=round(result.ms, 1),
        outcome=_outcome(result, batch),
        model=llm.model if llm else "",
        tokens_in=llm.tokens_in if llm else 0,
        tokens_out=llm.tokens_out if llm else 0,
        made=sum(map(len, (batch.memories, batch.drop, batch.contexts, batch.keys))),
        error=describe_error(result.error) if result.error else "",
    )


def after_failure(task: Task, error: str, now: datetime, options: IdleOptions) -> Task:
    """Return a failed task with the time of its next try, or dead after the last one."""
    attempts = task.attempts + 1
    failed = replace(task, attempts=attempts, error=error)
    if attempts >= options.tries:
        return replace(failed, not_before=None, state="dead")
    return replace(failed, not_before=now + timedelta(seconds=backoff_s(attempts, options)))


def backoff_s(attempts: int, options: IdleOptions) -> float:
    """Return the seconds to wait after this many failures (at least one)."""
    steps = min(attempts - 1, 30)  # beyond any limit, within what a float holds
    return min(options.backoff_s * BACKOFF_GROWTH**steps, options.backoff_most_s)


def revived(task: Task) -> Task:
    """Return a dead task reset to waiting, with all its tries; its last error is kept."""
    return replace(task, state="waiting", attempts=0, not_before=None)


def mark_inherited(memories: Iterable[Memory], snapshot: Snapshot) -> tuple[Memory, ...]:
    """Mark memories as what they were made from is marked, for whatever indexes this batch.

    The store marks them as well, and last, when it writes them.
    """

    def marked(one: Memory) -> Memory:
        for mark in (LOCAL_ONLY, MUTED):
            if not mark.on(one) and has_marked_origin(one, snapshot.memory, mark):
                one = with_mark(one, True, False, mark)
        return one

    return tuple(map(marked, memories))


def _parts(job: Job, task: Task, method: str) -> tuple[Task, ...]:
    """Return the smaller tasks that a job's method ``split`` or ``pieces`` makes of a task."""
    split = getattr(job, method, None)
    try:
        parts = tuple(split(task)) if split else ()
    except Exception as error:
        logger.warning(f"The idle job {job.name} cannot split a task: {describe_error(error)}")
        return ()
    return parts if all(part.id != task.id for part in parts) else ()


def _outcome(result: StepResult, batch: WriteBatch) -> RunOutcome:
    if result.ended == "interrupted":
        return "interrupted"
    if result.ended == "returned":
        return "done"
    if not batch.done:
        return "away"
    return "dead" if any(task.state == "dead" for task in batch.tasks) else "retry"


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
