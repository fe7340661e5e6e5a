"""What storing costs: the caller's time, the disk's time, and the event loop's punctuality."""

import asyncio
import time
from collections.abc import Awaitable, Iterator
from typing import Any

from benchmarks import common, corpus
from benchmarks.common import percentiles
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Turn

PAUSE_S = 0.1  # between two halves of an exchange: people take seconds
TICK_S = 0.001


async def measure(engine: MemoryEngine, count: int, after: int) -> dict[str, Any]:
    """Store exchanges, at the pace of talk and then as fast as they can be handed over.

    Args:
        engine: Open for writing.
        count: How many exchanges, each way.
        after: How many turns were made before.

    Returns:
        By pace ("talk", "burst"): ``accept``, how long ``engine.append`` holds its caller, and
        ``durable``, from that call until the turn is on disk.
    """
    talk = await _store(engine, count, after, PAUSE_S)
    burst = await _store(engine, count, after + 2 * count, 0.0)
    return {"talk": talk, "burst": burst}


async def _store(engine: MemoryEngine, count: int, after: int, pause_s: float) -> dict[str, Any]:
    accept: list[float] = []
    durable: list[float] = []
    acks = []
    for exchange in exchanges(count, after):
        for turn in exchange:
            began = time.perf_counter()
            ack = engine.append(turn)
            accept.append((time.perf_counter() - began) * 1e3)
            ack.future.add_done_callback(
                lambda _, began=began: durable.append((time.perf_counter() - began) * 1e3)
            )
            acks.append(ack)
            await asyncio.sleep(pause_s)
    await asyncio.gather(*(asyncio.wrap_future(ack.future) for ack in acks))
    await asyncio.to_thread(engine.drain)
    return {"accept": percentiles(accept), "durable": percentiles(durable)}


def exchanges(count: int, after: int) -> Iterator[list[Turn]]:
    """Make fresh exchanges: a person's turn and the agent's.

    Args:
        count: How many.
        after: How many turns were made before; even.

    Yields:
        Two turns each.
    """
    turns = [
        event
        for _, events in corpus.turns(2 * count, common.SEED, after)
        for event in events
        if isinstance(event, Turn)
    ]
    return (turns[n : n + 2] for n in range(0, len(turns), 2))


async def lag(work: Awaitable[Any]) -> list[float]:
    """Watch how late the event loop wakes from short sleeps while something is done on it.

    Args:
        work: What is done.

    Returns:
        Milliseconds beyond the sleep of 1 ms, timer resolution included.
    """
    late: list[float] = []

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK_S)
            late.append((time.perf_counter() - began - TICK_S) * 1e3)

    ticker = asyncio.create_task(tick())
    await work
    ticker.cancel()
    return late
