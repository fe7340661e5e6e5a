"""Checks that a recall costs what it costs back to back: after a pause, beside idle work, in CPU.

One engine on a made-up store, recalled from its own door (``engine.recall``), for texts never asked
before. The arms take turns, so that a machine that slows down slows all of them alike:

- *back to back*: the third recall in a row;
- *after a pause*: of 1.5 s in which nobody speaks;
- *a voice*: 0.3 s of silence, then somebody speaks for a second, falls silent, and 0.2 s later their
  turn comes;
- *idle work*: work by rule has run until the recall, with a grace of 50 ms.

The laws, of p50 and p95 over the p50 back to back: a voice 1.3 and 1.7; idle work 1.15 (p50). CPU of
the process over that of the recalling thread: 1.1. The warm-up takes at most 2 % of one core. With
controls that must be caught: recalls that the idle gate does not hear of, and a thread that spins.

    python -m tests.harness.recall_conditions --recalls 100 --cache /tmp/lc
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from loguru import logger

from benchmarks import common, corpus, stores
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.prefetch import Prefetch
from slowcat_memory.runtime.recall.query import Query

ARMS = ("back to back", "after a pause", "a voice", "idle work")
WARM_UP, COUNTED = 20, 50  # recalls before the arms, and for the share of CPU
GRACE_S, PAUSE_S, VOICE_S, STOP_S = 0.05, 1.5, 1.0, 0.2
LAWS = {"voice p50": 1.3, "voice p95": 1.7, "idle p50": 1.15, "cpu": 1.1, "warming": 0.02}


class Rig:
    """One engine, whose idle work is held back except where an arm is about it."""

    def __init__(self, engine: MemoryEngine, control: str, recalls: int, seed: int) -> None:
        self.engine, self.control, self.recalls = engine, control, recalls
        count = WARM_UP + recalls * (len(ARMS) + 2) + COUNTED
        self.texts: Iterator[str] = iter(corpus.questions(count, seed))
        self.took: dict[str, list[float]] = {arm: [] for arm in ARMS}
        self.shares: list[float] = []

    async def recall(self) -> float:
        began = time.perf_counter()
        await self.engine.recall(next(self.texts), corpus.SCOPE, now=corpus.NOW)
        return (time.perf_counter() - began) * 1e3

    async def play(self) -> None:
        ask = self.engine.turn_recall.query
        prefetch = self.engine.prefetch(lambda text: ask(text, corpus.SCOPE, now=corpus.NOW))
        for _ in range(WARM_UP):
            await self.recall()
        for _ in range(self.recalls):
            for arm in ARMS:
                self.engine.set_activity("harness", arm != "idle work")
                await self.before(arm, prefetch)
                self.took[arm].append(await self.recall())

    async def before(self, arm: str, prefetch: Prefetch) -> None:
        if arm == "back to back":
            await self.recall()
            await self.recall()
        elif arm == "a voice":
            await asyncio.sleep(0.3)
            began = time.process_time()
            prefetch.warmup.speaks()
            await asyncio.sleep(VOICE_S)
            self.shares.append((time.process_time() - began) / VOICE_S)
            prefetch.warmup.falls_silent()
            await asyncio.sleep(STOP_S)
            prefetch.take()
        else:
            await asyncio.sleep(PAUSE_S)

    def ratios(self) -> dict[str, float]:
        normal = statistics.median(self.took["back to back"])
        p50 = {arm: statistics.median(took) / normal for arm, took in self.took.items()}
        voice = float(np.percentile(self.took["a voice"], 95)) / normal
        return {
            "voice p50": p50["a voice"],
            "voice p95": voice,
            "pause p50": p50["after a pause"],
            "idle p50": p50["idle work"],
            "warming": statistics.median(self.shares),
            "cpu": self.cpu(),
        }

    def cpu(self) -> float:
        """Return the CPU time of all threads over that of the one that recalls."""
        self.engine.set_activity("harness", True)
        texts = [next(self.texts) for _ in range(COUNTED)]
        with spinning() if self.control == "spinning" else contextlib.nullcontext():
            every, own = time.process_time(), time.thread_time()
            for text in texts:
                query = Query(text=text, scope=corpus.SCOPE, now=corpus.NOW)
                self.engine.wiring.retrieval.run(query)
            return (time.process_time() - every) / (time.thread_time() - own)


@contextlib.contextmanager
def spinning() -> Iterator[None]:
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def measure(
    size: int, recalls: int, cache: Path | None, control: str = "", seed: int = common.SEED
) -> dict[str, Any]:
    """Play the arms; return their ratios, the milliseconds back to back, and the broken laws.

    Args:
        size: How many memories.
        recalls: How many of each arm.
        cache: Where made-up stores are kept.
        control: "deaf" or "spinning": what is planted.
        seed: Of the questions.
    """
    with common.scratch() as folder:
        config = stores.build(
            folder / "store", size, min(300, size // 2), cache,
            recall={"deadline_ms": 10_000.0}, idle={"enabled": True, "grace_s": GRACE_S},
        )  # fmt: skip
        engine = MemoryEngine(config)
        if control == "deaf":
            engine.wiring.retrieval._while_recalling = contextlib.nullcontext
        try:
            engine.set_activity("harness", True)
            engine.prepare(corpus.SCOPE)
            engine.drain()
            rig = Rig(engine, control, recalls, seed)
            asyncio.run(rig.play())
            found = rig.ratios()
        finally:
            engine.close()
    broken = [f"{law} {found[law]:.2f}" for law, most in LAWS.items() if found[law] > most]
    normal = round(statistics.median(rig.took["back to back"]), 3)
    return {"ms": normal, **{k: round(v, 3) for k, v in found.items()}, "broken": broken}


CONTROLS = {"deaf": "idle", "spinning": "cpu"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--recalls", type=int, default=100)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--seed", type=int, default=common.SEED)
    parser.add_argument("--control", choices=CONTROLS, default="", help="what is planted")
    options = parser.parse_args()
    logger.remove()
    found = measure(
        options.size, options.recalls, options.cache, options.control, seed=options.seed
    )
    print(json.dumps(found))
    own = CONTROLS.get(options.control, "")
    caught = any(law.startswith(own) for law in found["broken"])
    raise SystemExit(not caught if options.control else bool(found["broken"]))


if __name__ == "__main__":
    main()
