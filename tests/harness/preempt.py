"""Checks that idle work leaves the server within 50 ms of somebody's first sound.

The product's own idle loop, client and thread ask an LLM for an answer that takes longer than anybody
is silent. Into a real Pipecat pipeline people begin to speak at random moments while such a request
is under way; measured is the time from their first frame until the *server* has seen its connection
go. No idle request may run beside one of the conversation. Speech is a fifth of a second here, and
the gate's grace is as short, so that requests are under way all the time.

*One server* answers both, *two servers* one each. The control, *unobserved*, is idle work whose gate
receives no activity.
"""

import asyncio
import contextlib
import itertools
import random
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks import common
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.idle import job_parts
from slowcat_memory.idle.job import Contexts, JobContext, NoOptions, Plan, Trigger
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.loop import IdleLoop
from slowcat_memory.idle.scheduler.thread import IdleThread
from slowcat_memory.metrics import percentiles
from slowcat_memory.providers import ThinkingOptions, open_llm
from slowcat_memory.records import Task, WriteBatch
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer
from tests.harness.command import Harness, main

GRACE_S = 0.02
MOST_WAIT_S = 0.15  # into a request of idle work
WORD_S = 0.04  # five words
TOKEN_S = 0.01
LIMIT_MS = 50.0
LOOK_S = 0.002  # a closed gate is looked at as often, so that steps are begun at any moment
MARK = "This is idle work."
ARMS = {"one server": (1, True), "two servers": (2, True), "unobserved": (1, False)}
CONTROL = "unobserved"


class Answer(Struct, forbid_unknown_fields=True):
    """What the LLM is asked for."""

    text: str


class Dream:
    """A job that is always due, and changes nothing."""

    name, version, needs, trigger = "dream", 1, "llm", Trigger(every_s=LOOK_S)
    Options = NoOptions

    def plan(self, context: JobContext) -> Plan:
        return Plan(tasks=(Task(id="dream//again", job="dream", key="again", created=context.now),))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        await context.ask(Answer, MARK, "…", "", max_tokens=512)
        return WriteBatch()


@contextlib.contextmanager
def dreaming(gate: IdleGate, url: str, engine: MemoryEngine) -> Iterator[None]:
    """Ask the LLM of a server whenever the gate is open, one step after another."""
    llm = open_llm(ThinkingOptions(url=url))
    contexts = Contexts(job_parts(engine, engine.upkeep, llm))
    options = IdleOptions(backoff_s=LOOK_S)
    thread = IdleThread(lambda: IdleLoop([Dream()], gate, contexts, options=options, sleep=_rest))
    try:
        yield
    finally:
        thread.stop()
        contexts.close()


async def _rest(seconds: float) -> None:
    await asyncio.sleep(min(seconds, LOOK_S))


class Span(Struct, frozen=True):
    """A request, as the server saw it.

    Attributes:
        idle: Idle work's, not the conversation's.
        began: When it arrived, in seconds.
        ended: When it was answered whole, or its connection had gone.
    """

    idle: bool
    began: float
    ended: float


def measure(name: str, folder: Path, interruptions: int, seed: int) -> tuple[list[float], int]:
    """Return how long idle requests stayed, in ms, and how many ran beside the conversation's."""
    servers, observed = ARMS[name]
    own = {"enabled": False, "grace_s": GRACE_S}  # the engine's upkeep stays out of it
    config = common.configuration(folder / "store", embedding={"kind": "none"}, idle=own)
    engine = MemoryEngine(config)
    gate = engine.idle.gate if observed else IdleGate(IdleOptions(grace_s=GRACE_S))
    chance = random.Random(f"{seed}/{name}")
    try:
        spoken, spans = asyncio.run(_interrupt(engine, gate, servers, interruptions, chance))
    finally:
        engine.close()
    idle, asked = [s for s in spans if s.idle], [s for s in spans if not s.idle]
    stayed = [(s.ended - at) * 1e3 for at in spoken for s in idle if s.began < at < s.ended]
    pairs = itertools.product(idle, asked)
    return stayed, sum(a.began < b.ended and b.began < a.ended for a, b in pairs)


async def _interrupt(
    engine: MemoryEngine, gate: IdleGate, count: int, interruptions: int, chance: random.Random
) -> tuple[list[float], list[Span]]:
    """Let people speak; when each began, and what the servers saw."""
    spoken = list[float]()
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(ScriptedServer(_reply, token_delay_s=TOKEN_S))
            for _ in range(count)
        ]
        thinks = servers[-1]
        memory = HybridContextualMemoryProcessor(engine=engine)
        talk = HeadlessConversation(llm_url=servers[0].url, memory=memory)
        await stack.enter_async_context(talk)
        with dreaming(gate, thinks.url, engine):
            for _ in range(interruptions):
                await thinks.wait_until(lambda: _under_way(thinks), 10.0)
                await asyncio.sleep(chance.uniform(0.0, MOST_WAIT_S))
                spoken.append(time.perf_counter())
                await talk.say("what did I tell you", word_s=WORD_S)
        await thinks.wait_until(lambda: not _under_way(thinks))
        now = time.perf_counter()
        return spoken, [
            Span(_is_idle(request), began, left or now)
            for server in servers
            for request, began, left in zip(
                server.requests, server.arrived, server.left, strict=True
            )
        ]


def _is_idle(request: dict[str, Any]) -> bool:
    return any(MARK in str(message["content"]) for message in request["messages"])


def _reply(request: dict[str, Any]) -> str:
    long = msgspec.json.encode(Answer("so " * 400)).decode()
    return long if _is_idle(request) else "You told me a lot."


def _under_way(server: ScriptedServer) -> bool:
    every = zip(server.requests, server.left, strict=True)
    return any(left is None and _is_idle(request) for request, left in every)


def interrupt(folder: Path, interruptions: int, seed: int, control: str) -> dict[str, Any]:
    """Let people interrupt idle work in each arm; return the broken laws, with their figures."""
    wrong, arms = [], [arm for arm in ARMS if (arm == CONTROL) == bool(control)]
    for arm in arms:
        stayed, overlaps = measure(arm, folder / arm, interruptions, seed)
        gone = percentiles(stayed)
        if gone["n"] < interruptions // 2:
            wrong.append(f"{arm}: only {gone['n']} of {interruptions} met a request under way")
        if gone["p50"] > LIMIT_MS:  # a busy machine makes some late
            wrong.append(f"{arm}: late: requests stayed for {gone['p50']:.1f} ms")
        if overlaps:
            wrong.append(f"{arm}: {overlaps} requests beside one of the conversation")
    return {"interruptions": interruptions, "broken": wrong}


HARNESSES = {
    "speech": Harness(
        run=interrupt, count=20, night=60, laws=("broken",), least={"interruptions": 1.0},
        controls={"unheard": ("broken", 10)},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
