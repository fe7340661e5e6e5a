"""Registry of idle jobs: the built-in ones, and those of installed packages.

A package adds jobs by an entry point: a job, or a class whose instances are jobs::

    [project.entry-points."slowcat_memory.jobs"]
    moods = "my_package.moods:Moods"
"""

import difflib
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_args

from loguru import logger
from msgspec import Struct

from slowcat_memory.errors import ConfigError
from slowcat_memory.idle.job import Job, JobContext, Needs, Plan, Trigger, new_task
from slowcat_memory.idle.jobs.extraction.contextualize import Contextualize
from slowcat_memory.idle.jobs.extraction.facts import Facts, NoteFacts
from slowcat_memory.idle.jobs.extraction.merge import Merge
from slowcat_memory.idle.jobs.reflection.blocks import Blocks
from slowcat_memory.idle.jobs.reflection.by_rule import BringUp, Episodes, Profile
from slowcat_memory.idle.jobs.rerank import Rerank
from slowcat_memory.idle.jobs.rollups import Rollups, Topics
from slowcat_memory.idle.jobs.session_log import ScopeJob
from slowcat_memory.idle.jobs.summaries import SessionSummary, WindowSummary
from slowcat_memory.idle.options import JobOptions
from slowcat_memory.records import Task, WriteBatch


class UpkeepJob(ScopeJob):
    """Base of the jobs that keep house: in each namespace that changed, and daily in all of them."""

    version, rank, more = 1, 50, False


class Erase(UpkeepJob):
    """Erases what can no longer be undone, or has expired, in the whole store."""

    name, rank = "erase", 0
    trigger = Trigger(session_end=True, every_s=60.0)

    def plan(self, context: JobContext) -> Plan | None:
        if not context.upkeep.has_due():
            return None
        # As in ``ScopeJob``: a task that was given up is tried again on another day.
        note = str(context.now.astimezone(context.zone).date())
        return Plan(tasks=(new_task(self.name, "", "", context.now, self.rank, note=note),))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        await context.blocking(context.upkeep.erase, context.interrupted)
        return WriteBatch()


class Seal(UpkeepJob):
    """Seals the indexes that have grown, or were made with another model."""

    name = "seal"
    trigger = Trigger(session_end=True, every_s=300.0)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        if await context.blocking(context.upkeep.seal_due, task.scope):
            await context.blocking(context.upkeep.seal, task.scope)
        return WriteBatch()


class Ageing(UpkeepJob):
    """Moves old texts into compressed blocks."""

    name = "ageing"
    trigger = Trigger(session_end=True, every_s=900.0)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        await context.blocking(context.upkeep.age, task.scope, context.interrupted)
        return WriteBatch()


UPKEEP: tuple[Job, ...] = (Erase(), Seal(), Ageing())
READERS: tuple[Job, ...] = (Contextualize(), Facts(), NoteFacts(), Merge())
REFLECTION: tuple[Job, ...] = (Episodes(), BringUp(), Profile(), Blocks(), Rerank())
SUMMARIES: tuple[Job, ...] = (SessionSummary(), WindowSummary(), Rollups(), Topics())
BUILT_IN: tuple[Job, ...] = (*UPKEEP, *READERS, *SUMMARIES, *REFLECTION)
GROUP = "slowcat_memory.jobs"
NEEDS = get_args(Needs)
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
    for name, options in jobs.items():
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            hint += f"Jobs: {', '.join(sorted(by_name))}"
            raise ConfigError(f"jobs.{name}: there is no such job", hint=hint)
        scheduled = options.every_s is not None or options.at_hour is not None
        if scheduled and by_name[name].trigger == Trigger():
            raise ConfigError(
                f"jobs.{name} has no schedule: it runs when another job has made work for it",
                hint="Leave out every_s and at_hour; set them for that job (facts, before merge).",
            )


def problem_of(job: Any) -> str:
    """Return the first reason why an object is not a job; "" if it is one."""
    name, options = getattr(job, "name", None), getattr(job, "Options", None)
    sound = {
        "it has no name, or one with a slash": isinstance(name, str) and RESERVED.isdisjoint(name),
        "its version is not an integer": isinstance(getattr(job, "version", None), int),
        f"its needs are none of {', '.join(NEEDS)}": getattr(job, "needs", None) in NEEDS,
        "its trigger is not a Trigger": isinstance(getattr(job, "trigger", None), Trigger),
        "its Options are not a msgspec.Struct": isinstance(options, type(Struct)),
        "it has no plan": callable(getattr(job, "plan", None)),
        "it has no step": callable(getattr(job, "step", None)),
    }
    return next((problem for problem, is_sound in sound.items() if not (is_sound and name)), "")


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
