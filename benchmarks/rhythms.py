"""Recalls at the rhythm of people: after pauses, and beside idle work.

Back to back, everything that a recall touches is in the processor's caches. So recalls after a
pause and recalls back to back are measured in turn, and what counts is their ratio; the same for
idle work, whose gate is held shut before every other recall. No processor is around: the engine's
own door is measured. Some virtual machines take idle memory away: reading 20 MB after the same
pauses says what of a wait is the machine's.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from msgspec import Struct

from benchmarks import common, corpus, stores
from benchmarks.common import percentiles
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import Encoded
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.store import Ack

PAUSES_MS = (50, 300)
TOGETHER = 3  # recalls back to back in a round
A_ROUND = TOGETHER + len(PAUSES_MS)
GRACE_S, WORKS_S = 0.1, 0.25
HELD = "benchmark"
RATIOS = ("p50", "p95")
WAIT_S = 60.0  # at most, for a write

Samples = dict[str, list[float]]


async def after_pauses(engine: MemoryEngine, texts: Sequence[str]) -> dict[str, Any]:
    """Recall after pauses and back to back, in turn.

    Args:
        engine: Without idle work.
        texts: Never asked before; ``A_ROUND`` a round.

    Returns:
        By pause in milliseconds and for "together": n, p50, p95, p99, max; ``ratio`` by pause: its
        p50 and p95 over the p50 back to back.
    """
    waits: Samples = defaultdict(list)
    rhythm = [*map(str, PAUSES_MS), *["together"] * TOGETHER]
    for place, text in enumerate(texts[: len(texts) // A_ROUND * A_ROUND]):
        name = rhythm[place % A_ROUND]
        if name != "together":
            await asyncio.sleep(int(name) / 1e3)
        waits[name].append((await timed(engine, text)).ms)
    found: dict[str, Any] = {name: percentiles(ms) for name, ms in waits.items()}
    base = found["together"]["p50"]
    ratio = {
        str(pause): {p: round(found[str(pause)][p] / base, 3) for p in RATIOS}
        for pause in PAUSES_MS
    }
    return found | {"ratio": ratio}


def reading() -> dict[str, float]:
    """Return the median milliseconds to read 20 MB of memory, by the pause before ("0" for none)."""
    memory, found = np.ones(20 << 18, np.float32), {}
    for pause in (0, *PAUSES_MS):
        waits = []
        for _ in range(20):
            time.sleep(pause / 1e3)
            began = time.perf_counter()
            memory.sum()
            waits.append((time.perf_counter() - began) * 1e3)
        found[str(pause)] = percentiles(waits)["p50"]
    return found


def beside_idle(path: Path, texts: Sequence[str]) -> dict[str, Any]:
    """Recall beside idle work by rule, and with its gate held shut, in turn.

    Args:
        path: A store that nobody has open, with turns that idle work has not read.
        texts: Never asked before; two a round.

    Returns:
        ``alone`` and ``beside`` (n, p50, p95, p99, max), ``ratio`` by percentile, and how much of a
        core was in use before the recalls beside idle work: ``idle_share``.
    """
    config = common.configuration(
        path,
        recall={"deadline_ms": 10_000.0},
        idle={"enabled": True, "grace_s": GRACE_S, "rest_s": 0.05, "on_battery": True},
    )
    with stores.opened(config) as engine:
        return asyncio.run(_alternate(engine, texts))


async def _alternate(engine: MemoryEngine, texts: Sequence[str]) -> dict[str, Any]:
    waits: Samples = defaultdict(list)
    shares: Samples = defaultdict(list)
    for place, text in enumerate(texts):
        name = ("alone", "beside")[place % 2]
        engine.set_activity(HELD, name == "alone")
        await asyncio.sleep(GRACE_S)
        cpu, began = time.process_time(), time.perf_counter()
        await asyncio.sleep(WORKS_S)
        shares[name].append((time.process_time() - cpu) / (time.perf_counter() - began))
        waits[name].append((await timed(engine, text)).ms)
    found = {name: percentiles(ms) for name, ms in waits.items()}
    ratio = {p: round(found["beside"][p] / found["alone"][p], 3) for p in RATIOS}
    share = round(mean(shares["beside"]), 3)
    return found | {"ratio": ratio, "idle_share": share}


class Timed(Struct, frozen=True):
    """A recall and its block, with the milliseconds that they took.

    Attributes:
        ms: Until the block was there.
        cpu: Of all threads, meanwhile.
        recall: Of it, until recall returned.
    """

    found: Recollection
    ms: float
    cpu: float
    recall: float


def durable(write: Callable[[Any], Ack], changes: Iterable[Any], pause_s: float) -> list[float]:
    """Return how long each of some writes takes to be on disk, in milliseconds.

    Args:
        write: Begins one.
        changes: What to write.
        pause_s: Seconds before each.
    """
    waits = list[float]()
    for change in changes:
        time.sleep(pause_s)
        began = time.perf_counter()
        write(change).wait(WAIT_S)
        waits.append((time.perf_counter() - began) * 1e3)
    return waits


async def timed(engine: MemoryEngine, text: str, vector: Encoded | None = None) -> Timed:
    """Recall for a text and pack the block, as a turn does."""
    used, began = time.process_time(), time.perf_counter()
    found = await engine.recall(text, corpus.SCOPE, now=corpus.NOW, vector=vector)
    recalled = time.perf_counter()
    engine.blocks.pack(found, corpus.NOW)
    ended = time.perf_counter()
    cpu = (time.process_time() - used) * 1e3
    return Timed(found, (ended - began) * 1e3, cpu, (recalled - began) * 1e3)
