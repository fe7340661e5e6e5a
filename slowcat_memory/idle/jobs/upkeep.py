"""Jobs that maintain the store and its indexes, without an LLM: one table, one class.

- ``erase``: erases from the files what the user had forgotten, once it can no longer be undone.
  Recall excluded it when the command was given.
- ``retention``: erases what has a retention period: guests' turns and, if configured, old turns.
- ``seal``: rebuilds a namespace's sealed index once its tail has grown. A child process builds and
  reads the store itself; recall continues with the old index.
- ``ageing``: moves old texts into compressed blocks (``core.retention.tiering``).

A step writes nothing through the loop: each function has transactions of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from slowcat_memory.core.retention.retention import RetentionOptions
from slowcat_memory.idle.job import (
    Job,
    JobContext,
    Needs,
    NoOptions,
    Plan,
    Trigger,
    Upkeep,
    new_task,
)
from slowcat_memory.idle.jobs.changed_scopes import cursor_of, touched
from slowcat_memory.records import Task, WriteBatch

Stop = Callable[[], bool]


@dataclass(kw_only=True)
class UpkeepJob:
    """One row of the table, and its job; see ``Job``.

    Attributes:
        run: Does the work for a scope ("" for the whole store), blocking, in short transactions
            between which it calls ``stop``.
        due: Whether a task is worth making for a scope.
        mark: Makes a job work by namespace, on those that changed since its last plan, and on all
            of them when the mark differs from the last one. None: nothing can be done now.
        derived: Whether memories and vectors count as a change, besides turns.
    """

    name: str
    trigger: Trigger
    run: Callable[[Upkeep, str, Stop], Any]
    due: Callable[[JobContext, str], bool] = lambda context, scope: True
    mark: Callable[[JobContext], str | None] | None = None
    derived: bool = True
    rank: int = 50
    Options: type[Struct] = NoOptions
    version: int = 1
    needs: Needs = "nothing"

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for the store, or one for each namespace that changed."""
        if self.mark is None:
            return Plan(tasks=(self._task("", context),)) if self.due(context, "") else None
        mark = self.mark(context)
        if mark is None:
            return None
        with context.snapshot() as snapshot:
            cursor = cursor_of(self.name, snapshot, mark)
            scopes = touched(snapshot, self.name, mark, context.scopes(), made=self.derived)
        tasks = tuple(self._task(scope, context) for scope in scopes if self.due(context, scope))
        return Plan(tasks=tasks, cursor=cursor, more=False) if scopes else None

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        await context.blocking(self.run, context.upkeep, task.scope, context.interrupted)
        return WriteBatch()

    def _task(self, scope: str, context: JobContext) -> Task:
        # With the day as its note, a task that was given up is tried again on another.
        return new_task(self.name, scope, "", context.now, self.rank, note=_today(context))


def _seal(upkeep: Upkeep, scope: str, stop: Stop) -> None:
    if upkeep.seal_due(scope):
        upkeep.seal(scope)


def _today(context: JobContext) -> str:
    return context.now.astimezone(context.zone).date().isoformat()


UPKEEP: tuple[Job, ...] = (
    UpkeepJob(
        name="erase",
        trigger=Trigger(session_end=True, every_s=60.0),
        due=lambda context, scope: context.upkeep.has_due(),
        run=lambda upkeep, scope, stop: upkeep.erase_due(),
        rank=0,
    ),
    UpkeepJob(
        name="retention",
        trigger=Trigger(session_end=True, every_s=300.0),
        due=lambda context, scope: context.upkeep.expired(),
        run=lambda upkeep, scope, stop: upkeep.erase_expired(stop),
        rank=0,
        Options=RetentionOptions,
    ),
    UpkeepJob(
        name="seal",
        trigger=Trigger(session_end=True, every_s=300.0),
        mark=lambda context: context.space,
        due=lambda context, scope: context.upkeep.seal_due(scope),
        run=_seal,
    ),
    UpkeepJob(
        name="ageing",
        trigger=Trigger(session_end=True, every_s=900.0),
        mark=_today,
        derived=False,
        run=lambda upkeep, scope, stop: upkeep.age(scope, stop),
    ),
)
