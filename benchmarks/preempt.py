"""How soon is the LLM free for who begins to speak?

A thinker (``benchmarks/thinkers.py``) asks an LLM whenever the idle gate is open, with the loop and
the client of idle thinking, on its thread. Into a real Pipecat pipeline people begin to speak at random
moments while such a request is under way. Measured is the time from their first frame until the
*server* has seen the request's connection go, and whether any request of the thinker was on a server
while one of the conversation was. Speech is short here, a fifth of a second, which is less than any
real turn leaves; the gate's grace is as short, so that requests are under way all the time.

- *one server* answers both; *two servers* one each.
- *unobserved* is a control: nobody tells the thinker's gate what goes on. Requests must be found
  side by side.

    python -m benchmarks.preempt --interruptions 200

The JSON: ``machine``, ``load``, ``reference``, ``interruptions``, and ``arms`` by name: ``gone``
(milliseconds: n, p50, p95, p99, max), ``overlaps`` (pairs of requests), ``requests`` of the thinker.
"""

import argparse
import asyncio
import itertools
import random
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
from loguru import logger
from msgspec import Struct

from benchmarks import common, thinkers
from benchmarks.common import percentiles
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer

GRACE_S = 0.02
MOST_WAIT_S = 0.15  # into a request of the thinker
WORD_S = 0.04  # five words
TOKEN_S = 0.01
LIMIT_MS = 50.0
SAID = "what did I tell you"
ARMS = {"one server": (1, True), "two servers": (2, True), "unobserved": (1, False)}
CONTROL = "unobserved"
CONTROLLED = 20  # interruptions of the control, at most


class Span(Struct, frozen=True):
    """A request, as the server saw it.

    Attributes:
        idle: It is a thinker's.
        began: When it arrived, in seconds.
        ended: When it was answered whole, or its connection had gone.
    """

    idle: bool
    began: float
    ended: float


def main() -> None:
    options = _arguments()
    logger.remove()  # Pipecat tells a lot
    loads, speed = [common.load_average()], [common.reference_ms()]
    arms = {}
    for name in options.arms:
        with common.scratch() as folder, common.console.status(name):
            few = name == CONTROL  # each of its requests goes on to its end, for seconds
            count = min(CONTROLLED, options.interruptions) if few else options.interruptions
            arms[name] = measure(name, folder, count)
            loads.append(common.load_average())
    speed.append(common.reference_ms())
    written = {
        "machine": common.machine(),
        "load": loads,
        "reference": speed,
        "interruptions": options.interruptions,
        "arms": arms,
    }
    _show(written)
    common.write_json(options.json, written)


def measure(name: str, folder: Path, interruptions: int, seed: int = common.SEED) -> dict[str, Any]:
    """Measure one arm.

    Args:
        name: Of ``ARMS``.
        folder: For a store.
        interruptions: How often somebody begins to speak.
        seed: Of the moments.

    Returns:
        The figures; see the module.
    """
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
    return {
        "gone": percentiles(list(gone(spoken, spans))),
        "overlaps": overlaps(spans),
        "requests": sum(span.idle for span in spans),
    }


def gone(spoken: list[float], spans: list[Span]) -> Iterator[float]:
    """Tell how long what was under way stayed.

    Args:
        spoken: When somebody began to speak.
        spans: The requests.

    Yields:
        Milliseconds from there to its end, for each of the thinker's requests under way.
    """
    for began in spoken:
        yield from ((s.ended - began) * 1e3 for s in spans if s.idle and s.began < began < s.ended)


def overlaps(spans: list[Span]) -> int:
    """Count pairs of requests, one of each kind, that were under way at once.

    Args:
        spans: The requests.
    """
    idle, asked = [s for s in spans if s.idle], [s for s in spans if not s.idle]
    return sum(a.began < b.ended and b.began < a.ended for a, b in itertools.product(idle, asked))


async def _interrupt(
    engine: MemoryEngine, gate: IdleGate, count: int, interruptions: int, chance: random.Random
) -> tuple[list[float], list[Span]]:
    """Let people speak; when each began, and what the servers saw."""
    spoken: list[float] = []
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(ScriptedServer(_reply, token_delay_s=TOKEN_S))
            for _ in range(count)
        ]
        thinks = servers[-1]
        memory = HybridContextualMemoryProcessor(engine=engine)
        talk = HeadlessConversation(llm_url=servers[0].url, memory=memory)
        await stack.enter_async_context(talk)
        with thinkers.thinking(gate, thinks.url, engine, thinkers.Dream()):
            for _ in range(interruptions):
                await thinks.wait_until(lambda: _under_way(thinks), 10.0)
                await asyncio.sleep(chance.uniform(0.0, MOST_WAIT_S))
                spoken.append(time.perf_counter())
                await talk.say(SAID, word_s=WORD_S)
        await thinks.wait_until(lambda: not _under_way(thinks))
        spans = [span for server in servers for span in _spans(server)]
    return spoken, spans


def _reply(request: dict[str, Any]) -> str:
    if not thinkers.is_idle_work(request):
        return "You told me a lot."
    return msgspec.json.encode(thinkers.Answer("so " * thinkers.WORDS)).decode()


def _under_way(server: ScriptedServer) -> bool:
    return any(
        left is None and thinkers.is_idle_work(request)
        for request, left in zip(server.requests, server.left, strict=True)
    )


def _spans(server: ScriptedServer) -> Iterator[Span]:
    now = time.perf_counter()
    for request, began, left in zip(server.requests, server.arrived, server.left, strict=True):
        yield Span(thinkers.is_idle_work(request), began, left or now)


def _show(written: dict[str, Any]) -> None:
    columns = ("", "n", "p50", "p95", "p99", "max", "side by side", "requests")
    rows = [
        (
            name,
            *(arm["gone"][p] for p in ("n", "p50", "p95", "p99", "max")),
            arm["overlaps"],
            arm["requests"],
        )
        for name, arm in written["arms"].items()
    ]
    common.table("from the first frame until the server is free, ms", columns, rows)


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--interruptions", type=int, default=200, help="for each arm (default 200)")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS), help="which")
    return parser.parse_args()


if __name__ == "__main__":
    main()
