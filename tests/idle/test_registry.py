"""Jobs from elsewhere, and the contract that every job is held to."""

import asyncio
import runpy
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowcat_memory.idle.job import Plan
from slowcat_memory.idle.registry import GROUP, find_jobs, problem_of
from slowcat_memory.records import Made, WriteBatch
from slowcat_memory.testing import check_job
from tests.support.idle_doubles import Fake, memory
from tests.support.processors import logged
from tests.support.rows import each_row
from tests.support.said import turn

EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_job.py"
TURNS = [turn(text, id=0) for text in ("I love tea.", "Good.")]


THEIRS = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.idle.test_registry import Sound

class Theirs(Sound):
    def __init__(self):
        super().__init__("theirs")

class Clumsy(Sound):
    def __init__(self):
        raise ValueError

instance = Sound("another")
nonsense = 42
"""


class Sound(Fake):
    """Keeps the contract."""

    async def step(self, task, context):
        await asyncio.sleep(0)
        made = replace(memory(task.key), sources=task.sources, made=Made(job=self.name))
        return WriteBatch(memories=(made,))


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name=name, value=value, group=GROUP)


def test_find_jobs_an_entry_point_adds_a_job_and_a_broken_one_is_left_out(tmp_path, monkeypatch):
    (tmp_path / "their_jobs.py").write_text(THEIRS)
    (tmp_path / "their_exit.py").write_text("raise SystemExit(1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    values = {
        "theirs": "their_jobs:Theirs", "another": "their_jobs:instance", "again": "their_jobs:Theirs",
        "nonsense": "their_jobs:nonsense", "clumsy": "their_jobs:Clumsy", "gone": "no_module:X",
        "exits": "their_exit:X",
    }  # fmt: skip
    with logged("WARNING") as lines:
        found = find_jobs((Sound("ours"),), [point(*item) for item in values.items()])
    assert [job.name for job in found] == ["ours", "theirs", "another"]
    named = [line.partition("The idle job ")[2].split()[0] for line in lines]
    assert named == ["again", "nonsense", "clumsy", "gone", "exits"]
    assert "SystemExit" in lines[-1] and "already" in lines[0]


@each_row(
    "wrong",
    [{"name": ""}, {"name": "a/b"}, {"version": "1"}, {"needs": "money"}, {"trigger": None},
     {"Options": dict}, {"plan": None}, {"step": 3}],
)  # fmt: skip
def test_find_jobs_what_is_no_job_is_told(wrong):
    job = Sound()
    assert problem_of(job) == ""
    for name, value in wrong.items():
        setattr(job, name, value)
    assert problem_of(job)


def test_find_jobs_a_sound_job_keeps_the_contract():
    check_job(Sound(), TURNS)


def test_find_jobs_the_example_keeps_the_contract():
    check_job(runpy.run_path(str(EXAMPLE))["Loves"](), TURNS)


class KeepsInItself(Sound):
    seen = 0

    def plan(self, context):
        plan = super().plan(context)
        self.seen += 1
        return plan if self.seen < 3 else None


class OtherIds(Sound):
    def plan(self, context):
        plan = super().plan(context)
        if plan is None:
            return None
        tasks = (replace(task, id=f"{task.id}.{self.plans}") for task in plan.tasks)
        return Plan(tasks=tuple(tasks), cursor=plan.cursor)


class NoSources(Sound):
    async def step(self, task, context):
        batch = await super().step(task, context)
        return WriteBatch(memories=tuple(replace(m, sources=()) for m in batch.memories))


class OtherRecords(Sound):
    async def step(self, task, context):
        batch = await super().step(task, context)
        made = (replace(m, id=f"{m.id}/{id(batch)}") for m in batch.memories)
        self.kept = batch
        return WriteBatch(memories=tuple(made))


class Deaf(Sound):
    async def step(self, task, context):
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            await asyncio.sleep(3)
        return WriteBatch()


class Returns(Sound):
    async def step(self, task, context):
        return None


@pytest.mark.parametrize(
    ("job", "why"),
    [(KeepsInItself, "keeps state"), (OtherIds, "another id|no task's id"), (NoSources, "no sources"),
     (OtherRecords, "other records"), (Deaf, "cancelled step does not stop"), (Returns, "no WriteBatch")],
)  # fmt: skip
def test_find_jobs_a_broken_contract_is_told(job, why):
    with pytest.raises(AssertionError, match=why):
        check_job(job(), TURNS)


def test_find_jobs_a_job_that_finds_nothing_proves_nothing():
    with pytest.raises(AssertionError, match="nothing to do"):
        check_job(Sound(), [])
