"""How long does a turn wait for its memories, and what does the conversation feel of the rest?

At each size, on a made-up store (a sealed index, and a tail of the last few hundred turns):

- *inline*: ``await engine.recall(...)`` and ``engine.pack(...)`` on a real event loop, for texts that
  were never asked before, so that each is embedded while the turn waits;
- *ahead*: the same with the vector at hand, as when it was embedded while the person still spoke;
- *stages*: where that time goes; "hop" is the way to the worker thread and back;
- *loop_lag*: how late the event loop wakes from a sleep of 1 ms: idle, with four exchanges a second
  (recalled, stored, embedded), and with a flood of them, as fast as can be;
- *store*: how long ``engine.append`` holds the caller (accept) and when the turn is on disk (durable),
  at the pace of talk and in a burst;
- *cold*: a fresh process opens the store and answers, by words alone and in full.

The deadline is lifted while measuring, so that slow recalls are seen as they are; ``over_deadline``
tells how many would have been cut short. All figures are milliseconds unless they say otherwise.

Shared machines change their speed by half from minute to minute without any load of their own to
show for it. ``reference`` is how long one core takes to hash a megabyte, before and after: compare
runs only where it is the same.

    python -m benchmarks.latency --sizes 1000 10000
"""

import argparse
import asyncio
import shutil
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cold_start, common, corpus, plots, store_pace
from benchmarks.common import percentiles
from slowcat_memory import providers
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall import RecallOptions

Samples = dict[str, list[float]]
WARM_UP = 50
TALK_S, FLOOD_S = 0.25, 0.01  # between two exchanges; people take many seconds
NOW = corpus.START.replace(year=corpus.START.year + 4)


def main() -> None:
    options = _arguments()
    loads = [common.load_average()]
    results = []
    for size in options.sizes:
        results.append(measure(size, options.queries, options.tail, options.cache))
        loads.append(common.load_average())
        _show(results[-1])
    written = {"machine": common.machine(), "load": loads, "results": results}
    common.console.print(f"{common.machine()}, load average {loads}")
    common.write_json(options.json, written)
    if options.plot:
        plots.latency(results, options.plot)


def measure(
    size: int,
    queries: int = 1000,
    tail: int = 300,
    cache: Path | None = None,
    *,
    exchanges: int = 300,
    idle_s: float = 2.0,
    cold_runs: int = 5,
) -> dict[str, Any]:
    """Measure at one size.

    Args:
        size: How many memories.
        queries: How many questions for each figure.
        tail: How many of the memories are not in the sealed index yet.
        cache: Keeps built stores from run to run; None builds anew.
        exchanges: How many exchanges are stored.
        idle_s: For how long the idle loop is watched.
        cold_runs: How many fresh processes of each kind are started.

    Returns:
        The figures; see the module.
    """
    speed = [common.reference_ms()]
    with common.scratch() as folder:
        path = folder / "store"
        build(path, size, tail, cache)
        cold = cold_start.measure(path, cold_runs)
        engine = MemoryEngine(_config(path))
        try:
            engine.prepare(corpus.SCOPE)
            engine.drain()
            index = engine.stats()["index"][corpus.SCOPE]
            found = asyncio.run(_conversation(engine, queries, size, exchanges, idle_s))
        finally:
            engine.close()
    speed.append(common.reference_ms())
    parts = {name: index[name] for name in ("sealed", "tail", "vectors")}
    return {
        "memories": size,
        "queries": queries,
        "index": parts,
        **found,
        **cold,
        "reference": speed,
    }


async def _conversation(
    engine: MemoryEngine, queries: int, size: int, exchanges: int, idle_s: float
) -> dict[str, Any]:
    texts = iter(corpus.questions(2 * queries + 2 * exchanges + WARM_UP, common.SEED))
    warm, first, second, third, fourth = (
        list(islice(texts, count))
        for count in (WARM_UP, queries, queries, exchanges // 3, exchanges)
    )
    await _ask(engine, warm)
    inline, stages = await _ask(engine, first)
    ahead, _ = await _ask(engine, second, _embed(engine, second))
    idle = await store_pace.lag(asyncio.sleep(idle_s))
    talk = await store_pace.lag(_work(engine, third, size, TALK_S))
    flood = await store_pace.lag(_work(engine, fourth, size + 2 * exchanges, FLOOD_S))
    await asyncio.to_thread(engine.drain)
    return {
        "inline": percentiles(inline),
        "over_deadline": sum(ms > RecallOptions().deadline_ms for ms in inline),
        "ahead": percentiles(ahead),
        "stages": {name: percentiles(ms) for name, ms in stages.items()},
        "loop_lag": {
            "idle": percentiles(idle),
            "talk": percentiles(talk),
            "flood": percentiles(flood),
        },
        "store": await store_pace.measure(engine, exchanges, after=size + 4 * exchanges),
    }


async def _ask(
    engine: MemoryEngine, texts: Sequence[str], vectors: Sequence[np.ndarray] | None = None
) -> tuple[list[float], Samples]:
    """Recall for each text as a turn does; the total and its parts, in milliseconds."""
    totals: list[float] = []
    parts: Samples = defaultdict(list)
    for place, text in enumerate(texts):
        vector = None if vectors is None else vectors[place]
        began = time.perf_counter()
        found = await engine.recall(text, corpus.SCOPE, now=NOW, vector=vector)
        recalled = time.perf_counter()
        engine.pack(found, NOW)
        ended = time.perf_counter()
        totals.append((ended - began) * 1e3)
        for name, ms in found.timings.items():
            parts[name].append(ms)
        parts["pack"].append((ended - recalled) * 1e3)
        parts["hop"].append((recalled - began) * 1e3 - sum(found.timings.values()))
        await asyncio.sleep(0)
    return totals, parts


async def _work(engine: MemoryEngine, texts: Sequence[str], after: int, pause_s: float) -> None:
    """Hold a conversation, faster than people do: recall, then store both halves."""
    fresh = store_pace.exchanges(len(texts), after)
    for text, exchange in zip(texts, fresh, strict=True):
        engine.pack(await engine.recall(text, corpus.SCOPE, now=NOW), NOW)
        for turn in exchange:
            engine.append(turn)
        await asyncio.sleep(pause_s)


def _embed(engine: MemoryEngine, texts: Sequence[str]) -> list[np.ndarray] | None:
    """Embed questions by an embedder of our own, so that the engine's cache stays cold."""
    embedder, _ = providers.open_query_embedder(engine.config.embedding)
    return [embedder.encode_query(text) for text in texts] if embedder else None


# -------------------------------------------------------------------- the store


def build(path: Path, size: int, tail: int, cache: Path | None = None) -> None:
    """Make a store with so many memories, or copy it from the cache.

    Args:
        path: Where.
        size: How many memories.
        tail: How many of them stay outside the sealed index.
        cache: Where made stores are kept; None keeps none.
    """
    kept = cache / f"latency-{size}-{tail}-{common.SEED}" if cache else None
    if kept is None or not kept.is_dir():
        with common.console.status(f"building a store of {size} memories"):
            _build(path, size, tail)
        if kept is not None:
            shutil.copytree(path, kept)
    else:
        shutil.copytree(kept, path)


def _build(path: Path, size: int, tail: int) -> None:
    engine = MemoryEngine(_config(path))
    try:
        for sealed, count, after in ((True, size - tail, 0), (False, tail, size - tail)):
            for _, events in corpus.turns(count, common.SEED, after):
                engine.append_all(events, draft=True).pop().wait()
            engine.drain()
            engine.store.flush(None)
            if sealed:
                engine.seal(corpus.SCOPE)
    finally:
        engine.close()


def _config(path: Path) -> Config:
    return common.configuration(path, recall={"deadline_ms": 10_000.0})


# -------------------------------------------------------------------- output


def _show(result: dict[str, Any]) -> None:
    store, lag = result["store"], result["loop_lag"]
    rows = {
        "recall, embedded inline": result["inline"],
        "recall, embedded ahead": result["ahead"],
        **{f"  {name}": values for name, values in result["stages"].items()},
        **{f"loop lag, {name}": values for name, values in lag.items()},
        **{f"{what}, {pace}": store[pace][what] for pace in store for what in store[pace]},
    }
    columns = ("p50", "p95", "p99", "max")
    common.table(
        f"{result['memories']} memories, milliseconds",
        ("", *columns, "n"),
        [(name, *(values[c] for c in columns), values["n"]) for name, values in rows.items()],
    )
    cold = result["cold"]
    common.console.print(
        f"index: {result['index']}; cold open to first answer: {cold['lexical']:.0f} ms by words, {cold['full']:.0f} ms in "
        f"full (imports before that: {cold['imports']:.0f} ms); RSS {result['rss_mb']:.0f} MB; "
        f"{result['over_deadline']} of {result['queries']} inline recalls over the deadline; "
        f"reference {result['reference']}"
    )


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000], help="memories")
    parser.add_argument("--queries", type=int, default=1000, help="for each figure (default 1000)")
    parser.add_argument("--tail", type=int, default=300, help="turns since the last seal")
    parser.add_argument("--cache", type=Path, help="keep built stores in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    main()
