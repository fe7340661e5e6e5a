"""Which jobs there are: ours, and those of packages that are installed beside us.

A package adds jobs by an entry point: a job, or a class whose instances are jobs::

    [project.entry-points."slowcat_memory.jobs"]
    moods = "my_package.moods:Moods"
"""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, get_args

from loguru import logger
from msgspec import Struct

from slowcat_memory.idle.job import Job, Needs, Trigger
from slowcat_memory.idle.jobs.extraction.contextualize import Contextualize
from slowcat_memory.idle.jobs.extraction.entities import Entities
from slowcat_memory.idle.jobs.extraction.facts import Facts
from slowcat_memory.idle.jobs.extraction.merge import Merge
from slowcat_memory.idle.jobs.feedback.corrections import Corrections
from slowcat_memory.idle.jobs.feedback.rerank import Rerank
from slowcat_memory.idle.jobs.reflection.blocks import Blocks
from slowcat_memory.idle.jobs.reflection.episodes import Episodes
from slowcat_memory.idle.jobs.reflection.open_threads import BringUp
from slowcat_memory.idle.jobs.reflection.profile import Profile
from slowcat_memory.idle.jobs.summaries.meta import MetaSummary
from slowcat_memory.idle.jobs.summaries.rollups import Rollups
from slowcat_memory.idle.jobs.summaries.session import SessionSummary
from slowcat_memory.idle.jobs.summaries.topics import Topics
from slowcat_memory.idle.jobs.summaries.window import WindowSummary
from slowcat_memory.idle.jobs.upkeep import TABLE, UpkeepJob

UPKEEP: tuple[Job, ...] = tuple(map(UpkeepJob, TABLE))
SUMMARIES: tuple[Job, ...] = (SessionSummary(), WindowSummary(), MetaSummary(), Rollups(), Topics())
LOOKING_BACK: tuple[Job, ...] = (Episodes(), BringUp(), Profile(), Blocks())
JUDGING: tuple[Job, ...] = (Corrections(), Rerank())
BUILT_IN: tuple[Job, ...] = (
    *UPKEEP,
    Contextualize(),
    Entities(),
    Facts(),
    Merge(),
    *SUMMARIES,
    *LOOKING_BACK,
    *JUDGING,
)
GROUP = "slowcat_memory.jobs"
RESERVED = frozenset("/\0")  # a task's id begins with its job's name and a slash


class Found(Struct, frozen=True, kw_only=True):
    """What jobs there are.

    Attributes:
        jobs: Those that can be done, ours first.
        broken: Why an entry point was left out, by its name; never a reason to fail.
    """

    jobs: tuple[Job, ...]
    broken: dict[str, str]


def find_jobs(ours: Iterable[Job] = BUILT_IN, points: Iterable[EntryPoint] | None = None) -> Found:
    """Find all jobs.

    Args:
        ours: Those that come with this package.
        points: Entry points; None for those that are installed.

    Returns:
        The jobs. What is broken, or takes another's name, is left out and told in the log.
    """
    jobs = {job.name: job for job in ours}
    broken: dict[str, str] = {}
    for point in entry_points(group=GROUP) if points is None else points:
        problem = _add(point, jobs)
        if problem:
            broken[point.name] = problem
            logger.warning(f"The idle job {point.name} ({point.value}) is left out: {problem}")
    return Found(jobs=tuple(jobs.values()), broken=broken)


def problem_of(job: Any) -> str:
    """Tell what keeps something from being a job.

    Args:
        job: Anything.

    Returns:
        The first thing that is wrong, "" when it is a job.
    """
    name = getattr(job, "name", None)
    if not isinstance(name, str) or not name or RESERVED & set(name):
        return "it has no name, or one with a slash"
    if not isinstance(getattr(job, "version", None), int):
        return "its version is no whole number"
    if getattr(job, "needs", None) not in get_args(Needs):
        return f"it needs none of {', '.join(get_args(Needs))}"
    if not isinstance(getattr(job, "trigger", None), Trigger):
        return "its trigger is no Trigger"
    options = getattr(job, "Options", None)
    if not (isinstance(options, type) and issubclass(options, Struct)):
        return "its Options are no msgspec.Struct"
    if not callable(getattr(job, "plan", None)) or not callable(getattr(job, "step", None)):
        return "it has no plan, or no step"
    return ""


def _add(point: EntryPoint, jobs: dict[str, Job]) -> str:
    try:
        made = point.load()
        job = made() if isinstance(made, type) else made
    except BaseException as error:  # somebody else's module: it may do anything as it is imported
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"importing it raised {type(error).__name__}"
    problem = problem_of(job)
    if not problem and job.name in jobs:
        problem = f"there is a job called {job.name} already"
    if not problem:
        jobs[job.name] = job
    return problem
