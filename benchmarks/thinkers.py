"""Who thinks while nobody speaks, for the benchmarks of what that costs the conversation.

The product's own idle loop, client and thread, with one job that is never done. It asks the LLM for
an answer that takes longer than anybody is silent, so that a request is under way when they speak;
with texts, it embeds these first, which is what costs idle work most of the processor.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.idle.job import Contexts, JobContext, JobDeps, Needs, Plan, Trigger
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.loop import IdleLoop
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.idle.scheduler.thread import IdleThread
from slowcat_memory.providers import Prompt, ThinkingOptions, open_llm
from slowcat_memory.records import Task, WriteBatch

MARK = "This is idle work."
LOOK_S = 0.002  # a closed gate is looked at as often, so that steps are begun at any moment
WORDS = 400  # of an answer


class Answer(Struct, forbid_unknown_fields=True):
    """What the LLM is asked for."""

    text: str


class NoOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing may be tuned."""


class Dream:
    """A job that is always due, and changes nothing.

    Attributes:
        begun: Its steps so far.
    """

    name, version = "dream", 1
    needs: Needs = "llm"
    trigger = Trigger(every_s=LOOK_S)
    Options: type[Struct] = NoOptions

    def __init__(self, texts: Sequence[str] = ()) -> None:
        """Choose the dream.

        Args:
            texts: Embedded by each step.
        """
        self._texts = texts
        self.begun = 0

    def plan(self, context: JobContext) -> Plan:
        """Dream again."""
        return Plan(tasks=(Task(id="dream//again", job="dream", key="again", created=context.now),))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Ask, and throw the answer away."""
        assert context.llm
        self.begun += 1
        await context.embed(self._texts)
        await context.llm.complete(Prompt(job="dream", version=1, system=MARK, user="…"), Answer)
        return WriteBatch()


def is_idle_work(request: dict[str, Any]) -> bool:
    """Tell whether a request is a thinker's.

    Args:
        request: The body of a chat request.
    """
    return any(MARK in str(message["content"]) for message in request["messages"])


@contextlib.contextmanager
def thinking(gate: IdleGate, url: str, engine: MemoryEngine, job: Dream) -> Iterator[None]:
    """Think whenever the gate is open, one step after another.

    Args:
        gate: When.
        url: Of the LLM's server.
        engine: Keeps what is due, and embeds.
        job: What is thought.
    """
    parts = JobDeps(
        store=engine.store,
        upkeep=None,  # type: ignore[arg-type]  # nothing of it is asked for
        clock=lambda: datetime.now(UTC),
        zone=UTC,
        scopes=list,
        llm=open_llm(ThinkingOptions(url=url)),
        embed=engine.wiring.vectors.encode,
    )
    contexts = Contexts(parts)
    options = IdleOptions(backoff_s=LOOK_S)

    def make() -> IdleLoop:
        return IdleLoop(engine.store, [job], gate, contexts, options=options, sleep=_rest)

    thread = IdleThread(make)
    thread.start()
    try:
        yield
    finally:
        thread.stop()
        contexts.close()


async def _rest(seconds: float) -> None:
    await asyncio.sleep(min(seconds, LOOK_S))
