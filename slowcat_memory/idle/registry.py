"""Registry of idle jobs: the built-in ones, and those of installed packages.

A package adds jobs by an entry point: a job, or a class whose instances are jobs::

    [project.entry-points."slowcat_memory.jobs"]
    moods = "my_package.moods:Moods"
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_args

from loguru import logger
from msgspec import Struct

from slowcat_memory.errors import ConfigError
from slowcat_memory.idle.job import (
    Job,
    JobContext,
    Maintenance,
    Needs,
    NoOptions,
    Plan,
    Trigger,
    new_task,
)
from slowcat_memory.idle.jobs.extraction.contextualize import Contextualize
from slowcat_memory.idle.jobs.extraction.facts import Facts, NoteFacts
from slowcat_memory.idle.jobs.extraction.merge import Merge
from slowcat_memory.idle.jobs.reflection.blocks import Blocks
from slowcat_memory.idle.jobs.reflection.by_rule import BringUp, Episodes, Profile
from slowcat_memory.idle.jobs.rerank import Rerank
from slowcat_memory.idle.jobs.rollups import Rollups, Topics
from slowcat_memory.idle.jobs.session_log import cursor_of, touched
from slowcat_memory.idle.jobs.summaries import SessionSummary, WindowSummary
from slowcat_memory.idle.options import JobOptions
from slowcat_memory.records import Task, WriteBatch

Stop = Callable[[], bool]


@dataclass(kw_only=True)
class UpkeepJob(Job):
    """One row of the table, and its job; see ``Job``.

    Attributes:
        run: Does the work for a scope ("" for the whole store), blocking, in short transactions
            between which it calls ``stop``.
        due: Whether a task is worth making for a scope.
        mark: Makes a job work by namespace, on those that changed since its last plan, and on all
            of them when the mark differs from the last one.
    """

    name: str
    trigger: Trigger
    run: Callable[[Maintenance, str, Stop], Any]
    due: Callable[[JobContext, str], bool] = lambda context, scope: True
    mark: Callable[[JobContext], str] | None = None
    rank: int = 50
    Options: type[Struct] = NoOptions
    version: int = 1
    needs: Needs = "nothing"

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for the store, or one for each namespace that changed."""
        if self.mark is None:
            return Plan(tasks=(self._task("", context),)) if self.due(context, "") else None
        mark = self.mark(context)
        with context.snapshot() as snapshot:
            cursor = cursor_of(self.name, snapshot, mark)
            scopes = touched(snapshot, self.name, mark, context.scopes())
        tasks = tuple(self._task(scope, context) for scope in scopes if self.due(context, scope))
        return Plan(tasks=tasks, cursor=cursor, more=False) if scopes else None

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        await context.blocking(self.run, context.upkeep, task.scope, context.interrupted)
        return WriteBatch()

    def _task(self, scope: str, context: JobContext) -> Task:
        # With the day as its note, a task that was given up is tried again on another.
        return new_task(self.name, scope, "", context.now, self.rank, note=_today(context))


def _seal(upkeep: Maintenance, scope: str, stop: Stop) -> None:
    if upkeep.seal_due(scope):
        upkeep.seal(scope)


def _today(context: JobContext) -> str:
    return context.now.astimezone(context.zone).date().isoformat()


UPKEEP: tuple[Job, ...] = (
    UpkeepJob(
        name="erase",
        trigger=Trigger(session_end=True, every_s=60.0),
        due=lambda context, scope: context.upkeep.has_due(),
        run=lambda upkeep, scope, stop: upkeep.erase(stop),
        rank=0,
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
        run=lambda upkeep, scope, stop: upkeep.age(scope, stop),
    ),
)


READERS: tuple[Job, ...] = (Contextualize(), Facts(), NoteFacts(), Merge())
REFLECTION: tuple[Job, ...] = (Episodes(), BringUp(), Profile(), Blocks(), Rerank())
SUMMARIES: tuple[Job, ...] = (SessionSummary(), WindowSummary(), Rollups(), Topics())
BUILT_IN: tuple[Job, ...] = (*UPKEEP, *READERS, *SUMMARIES, *REFLECTION)
GROUP = "slowcat_memory.jobs"
RESERVED = frozenset("/\0")  # a task's id begins with its job's name and a slash


def find_jobs(
    built_in: Iterable[Job] = BUILT_IN, points: Iterable[EntryPoint] | None = None
) -> tuple[Job, ...]:
    """Return all jobs, of the installed entry points if ``points`` is None; built-in ones first.

    A broken job, or one with a duplicate name, is logged and skipped.
    """
    jobs = {job.name: job for job in built_in}
    for point in entry_points(group=GROUP) if points is None else points:
        if problem := _add(point, jobs):
            logger.warning(f"The idle job {point.name} ({point.value}) is left out: {problem}")
    return tuple(jobs.values())


def check_jobs(jobs: Mapping[str, JobOptions]) -> None:
    """Reject settings of jobs that do not exist, and schedules that a job cannot follow.

    Args:
        jobs: ``[jobs.NAME]`` by name.

    Raises:
        ConfigError: There is no job of a name (the hint lists the names), or another job makes its
            tasks, so that it has no schedule.
    """
    by_name = {job.name: job for job in find_jobs()}
    known = sorted(by_name)
    if unknown := sorted(set(jobs) - set(known)):
        near = difflib.get_close_matches(unknown[0], known, n=1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise ConfigError(
            f"jobs.{unknown[0]}: there is no such job", hint=f"{meant}Jobs: {', '.join(known)}"
        )
    for name, options in jobs.items():
        scheduled = options.every_s is not None or options.at_hour is not None
        if scheduled and by_name[name].trigger == Trigger():
            raise ConfigError(
                f"jobs.{name} has no schedule: it runs when another job has made work for it",
                hint="Leave out every_s and at_hour; set them for that job (facts, before merge).",
            )


def problem_of(job: Any) -> str:
    """Return the first reason why an object is not a job; "" if it is one."""
    name = getattr(job, "name", None)
    if not isinstance(name, str) or not name or RESERVED & set(name):
        return "it has no name, or one with a slash"
    if not isinstance(getattr(job, "version", None), int):
        return "its version is not an integer"
    if getattr(job, "needs", None) not in get_args(Needs):
        return f"its needs are none of {', '.join(get_args(Needs))}"
    if not isinstance(getattr(job, "trigger", None), Trigger):
        return "its trigger is not a Trigger"
    options = getattr(job, "Options", None)
    if not (isinstance(options, type) and issubclass(options, Struct)):
        return "its Options are not a msgspec.Struct"
    if not callable(getattr(job, "plan", None)) or not callable(getattr(job, "step", None)):
        return "it has no plan, or no step"
    return ""


def _add(point: EntryPoint, jobs: dict[str, Job]) -> str:
    try:
        value = point.load()
        job = value() if isinstance(value, type) else value
    except BaseException as error:  # importing foreign code may raise anything
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"importing it raised {type(error).__name__}"
    problem = problem_of(job)
    if not problem and job.name in jobs:
        problem = f"there is a job called {job.name} already"
    if not problem:
        jobs[job.name] = job
    return problem
