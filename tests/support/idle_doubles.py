"""Doubles for idle work: a job with selectable outcomes, and a manual clock."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk, chunk_id
from slowcat_memory.idle.job import Contexts, JobContext, JobDeps, JobLLM, NoOptions, Plan, Trigger
from slowcat_memory.idle.options import Budget, IdleOptions
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.loop import IdleLoop
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import Answer, Prompt
from slowcat_memory.records import Cursor, Key, Memory, Task, WriteBatch
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.testing import FixedClock
from tests.support import said
from tests.support.memories import Look
from tests.support.sessions import hold

SMALL = StoreOptions(map_size_gib=1 / 16)
NOW = said.NOON
MOST_WAITS = 20_000  # of one round of idle work; a limit in seconds would fail on a busy machine
Behave = Callable[[Task, JobContext], Any]


def task(key: str, job: str = "fake", **given: Any) -> Task:
    return Task(id=f"{job}/anna/{key}", job=job, scope="anna", key=key, created=NOW, **given)


def memory(key: str, text: str = "") -> Memory:
    return said.memory("note", text or key, id=f"note/{key}")


class Fake:
    """A job that makes one task for each turn, and one memory for each task.

    ``behave`` is called in each step, and may raise, or return a batch or an awaitable.
    """

    Options = NoOptions
    version = 1

    def __init__(
        self, name: str = "fake", behave: Behave | None = None, needs: Any = "nothing",
        trigger: Trigger = Trigger(turns=1),
    ) -> None:  # fmt: skip
        self.name, self.needs, self.trigger = name, needs, trigger
        self._behave = behave
        self.steps: list[str] = []
        self.plans = 0

    def plan(self, context: JobContext) -> Plan | None:
        self.plans += 1
        with context.snapshot() as snapshot:
            row = snapshot.cursor(self.name)
            turns = list(snapshot.turns(after=row.position if row else 0))
        if not turns:
            return None
        tasks = tuple(task(str(t.id), self.name, sources=(t.id,)) for t in turns)
        return Plan(tasks=tasks, cursor=Cursor(name=self.name, position=turns[-1].id))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        self.steps.append(task.key)
        made = self._behave(task, context) if self._behave else None
        if asyncio.iscoroutine(made):
            made = await made
        if made is not None:
            return made
        return WriteBatch(memories=(memory(f"{self.name}-{task.key}"),))


class Nobody:
    """An LLM that answers every prompt with nothing, by the model that it asks for."""

    prompt_tokens, remote = 1000, False

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt, into: type) -> Answer:
        self.prompts.append(prompt)
        model = prompt.model or "mind-1"
        return Answer(value=into(), model=model, tokens_in=30, tokens_out=12)


def drain(
    contexts: Contexts, jobs: Any, clock: FixedClock, options: IdleOptions,
    patience_s: float = 5.0, **given: Any,
) -> int:  # fmt: skip
    """Do all idle work on a clock that waiting advances; return how many tasks are left."""
    waits = count()

    async def sleep(seconds: float) -> None:
        assert next(waits) < MOST_WAITS, "idle work does not come to an end"
        clock.advance(seconds)
        await asyncio.sleep(0)

    async def done() -> int:
        gate = IdleGate(IdleOptions(grace_s=0.0))
        loop = IdleLoop(jobs, gate, contexts, options=options, sleep=sleep, **given)
        return await loop.run_until_done(patience_s=patience_s)

    with closing(contexts):
        return asyncio.run(done())


class House:
    """A store in which somebody talks, and idle work on it, by a clock that waiting advances."""

    def __init__(
        self, path: Path, *jobs: Any, llm: Any = None, now: datetime = NOW, store: Any = None,
        **parts: Any,
    ) -> None:  # fmt: skip
        self.store = store or Store.open(path, options=SMALL)
        self.jobs, self.llm, self.clock, self.sessions = jobs, llm, FixedClock(now), 0
        self.parts = {"upkeep": None, "zone": UTC, "scopes": Look(self.store).scopes, **parts}

    def contexts(self, **options: Any) -> Contexts:
        given = {"store": self.store, "clock": self.clock, "llm": self.llm, "options": options}
        return Contexts(JobDeps(**given | self.parts))  # type: ignore[arg-type]

    def say(
        self, *texts: Any, session: str = "", at: datetime | None = None, **how: Any
    ) -> list[int]:
        """Hold a session, one of its own or that one; return its turns' log ids."""
        self.sessions += 1
        name = session or f"s{self.sessions}"
        kind = "resume" if Look(self.store).session(name) else "start"
        turns = hold(self.store, name, texts, at or self.clock.now, **{"kind": kind} | how)
        self.store.flush(None)
        return turns

    def think(self, *jobs: Any, patience_s: float = 5.0, **options: Any) -> int:
        """Do all idle work; return how many tasks are left."""
        quick = IdleOptions(grace_s=0.0, rest_s=0.01, backoff_s=0.01)
        contexts = self.contexts(**options)
        return drain(contexts, jobs or self.jobs, self.clock, quick, patience_s)

    def apply(self, **batch: Any) -> None:
        self.store.apply("test", WriteBatch(**batch)).wait(None)

    def change(self, turn: int, **fields: Any) -> None:
        """Change the chunk of a turn."""
        self.apply(memories=(replace(chunk(Look(self.store).turn(turn)), **fields),))

    def memories(self, beginning: str = "", scope: str = "anna") -> list[Memory]:
        return Look(self.store).memories(scope, beginning)

    def keys(self) -> list[Key]:
        return Look(self.store).keys("anna")

    def context(self, turn: int) -> str:
        found = Look(self.store).context("anna", chunk_id(turn))
        return found.text if found else ""

    def close(self) -> None:
        self.store.close()


def job_llm(llm: Any, store: Any = None) -> JobLLM:
    """An LLM as jobs are given it, without a limit."""
    parts = {"store": store, "clock": FixedClock(NOW), "zone": UTC, "upkeep": None, "scopes": list}
    return JobLLM(llm, JobDeps(**parts), Budget(IdleOptions(on_battery=True)))  # type: ignore[arg-type]


class Rig:
    """A loop over a store, with clocks that its own sleeping advances."""

    def __init__(self, path: Path, *jobs: Any, options: IdleOptions | None = None, **given: Any):
        self.store = Store.open(path, options=SMALL)
        self.clock = FixedClock(NOW)
        self.metrics = Metrics()
        self.options = options or IdleOptions()
        self.seconds = 0.0
        self.gate = IdleGate(self.options, self.now)
        self.applied: list[WriteBatch] = []
        parts = {
            "store": self.store, "upkeep": None, "clock": self.clock, "zone": ZoneInfo("UTC"),
            "scopes": lambda: ["anna"],
        }  # fmt: skip
        self.contexts = Contexts(JobDeps(**parts | given.pop("parts", {})))  # type: ignore[arg-type]
        battery = given.pop("battery", lambda: False)
        self.loop = IdleLoop(
            jobs, self.gate, self.contexts, given.pop("breaker", None), self.options,
            self.metrics, self.applied.append,
            budget=Budget(self.options, battery), sleep=self.sleep, **given,
        )  # fmt: skip

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.clock.advance(seconds)
        await asyncio.sleep(0)

    def say(self, *texts: str) -> None:
        for text in texts:
            self.store.append(said.turn(text, id=0)).wait()

    def speak(self) -> None:
        """Let somebody speak for a moment."""
        self.gate.busy("user")
        self.gate.free("user")

    def done(self, **given: Any) -> int:
        return asyncio.run(asyncio.wait_for(self.loop.run_until_done(**given), 60))

    def run_until(self, holds: Callable[[], bool]) -> None:
        """Let the loop run in the background until something holds."""

        async def scenario() -> None:
            running = asyncio.create_task(self.loop.run())
            while not holds():
                await asyncio.sleep(0)
            running.cancel()

        asyncio.run(asyncio.wait_for(scenario(), 60))

    def tasks(self, state: Any = "") -> list[Task]:
        return Look(self.store).tasks(state=state)

    def outcomes(self) -> list[str]:
        return [run.outcome for run in reversed(Look(self.store).runs())]

    def made(self) -> list[str]:
        return [m.id.removeprefix("note/") for m in Look(self.store).memories("anna", "note/")]

    def close(self) -> None:
        self.contexts.close()
        self.store.close()


def housing(kind: Callable[[Path], House]) -> Any:
    """Return a fixture: a house of a kind, closed at the end."""

    @pytest.fixture
    def house(tmp_path: Path) -> Iterator[House]:
        with closing(kind(tmp_path / "store")) as made:
            yield made

    return house
