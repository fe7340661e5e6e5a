"""A real worker beside simulated ones: engines, copies on its disk, a model.

It serves one person of its own after another, and prints what each waited as JSON when its input
ends. Started by ``benchmarks.fleet_simulation``::

    python -m benchmarks.fleet.probe DSN CACHE NUMBER TURNS EVERY_S
"""

import asyncio
import json
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

from loguru import logger
from msgspec.structs import replace

from benchmarks import common, corpus, fleet_database
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.records import Turn

PEOPLE = 3  # of each probe
WAIT_S = 60.0


def name(probe: int, n: int) -> str:
    return f"probe-{probe}-{n % PEOPLE}"


def main() -> None:
    dsn, cache, number, turns, every_s = sys.argv[1:]
    logger.remove()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    took: dict[str, list[float]] = defaultdict(list)
    config = fleet_database.configuration(dsn, Path(cache))
    with Fleet(config) as fleet, asyncio.Runner() as runner:
        n = 0
        while not ended.is_set():
            person = name(int(number), n)
            runner.run(_talk(fleet, person, int(turns), float(every_s), took, ended, n))
            n += 1
    print(json.dumps(took), flush=True)


async def _talk(
    fleet: Fleet,
    person: str,
    turns: int,
    every_s: float,
    took: dict[str, list[float]],
    ended: threading.Event,
    number: int,
) -> None:
    began = time.perf_counter()
    member = await asyncio.to_thread(fleet.member, person)
    try:
        member.prepare(corpus.SCOPE)
        await asyncio.to_thread(member.start, 0.0)
        while not member.is_ready and time.perf_counter() - began < WAIT_S:
            await asyncio.sleep(0.001)
        text, *texts = corpus.questions(turns + 1, common.SEED + number)
        while (await member.recall(text, corpus.SCOPE, now=corpus.NOW)).stage != "full":
            await asyncio.sleep(0.001)
        warm = member.holding is not None and member.holding.hydrated.warm
        if number:  # before the first one the model was not loaded
            took["ready again" if warm else "ready first"].append(_ms(began))
        said = [e for _, events in corpus.turns(turns, number, number * 1000) for e in events]
        for turn, text in zip((t for t in said if isinstance(t, Turn)), texts, strict=False):
            began = time.perf_counter()
            ack = member.append(replace(turn, scope=person))
            await member.recall(text, corpus.SCOPE, now=corpus.NOW)
            took["turn"].append(_ms(began))
            await asyncio.wrap_future(ack.future)
            took["receipt"].append(_ms(began))
            if ended.is_set():
                return
            await asyncio.sleep(every_s)
    finally:
        await asyncio.to_thread(member.release)


def _ms(began: float) -> float:
    return (time.perf_counter() - began) * 1e3


if __name__ == "__main__":
    main()
