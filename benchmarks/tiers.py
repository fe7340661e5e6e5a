"""How long does an answer take that lies in the hot, the warm or the cold tier of an aged store?

A made-up store is aged: its latest memories stay as they are (hot), the ones before lie in LZ4
blocks (warm), all the rest in zstd blocks (cold). From each tier turns are drawn at random, and

- *fetch*: the texts of ten of them are read, as those of a recall's hits are;
- *recall*: each is asked for in its own rarest words, embedded while the turn waits, without a
  deadline; "found" is how many of these turns were among the hits.

Nothing of a turn is read before it is measured, so that each block is unpacked. Idle work is off.

    python -m benchmarks.tiers --size 10000

The JSON: ``machine``, ``memories``, ``tiers`` as in ``MemoryEngine.stats``, and ``results`` by tier:
``fetch`` and ``recall`` (each n, p50, p95, p99, max in milliseconds) and ``found``, a share.
"""

import argparse
import asyncio
import random
import time
from pathlib import Path
from typing import Any

from benchmarks import common, corpus, stores
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.retention.tiering import TIERS
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Turn
from slowcat_memory.runtime.namespaces.hot_cache import latest_turns

AT_A_TIME = 10  # texts that are read together
WORDS = 9  # of a question
WARM_UP = 20


def main() -> None:
    options = _arguments()
    with common.scratch() as folder:
        found = measure(folder / "store", options.size, options.queries, options.cache)
    _show(found)
    common.write_json(options.json, {"machine": common.machine(), **found})


def measure(path: Path, size: int, queries: int, cache: Path | None = None) -> dict[str, Any]:
    """Age a store and measure each tier.

    Args:
        path: Where the store is made.
        queries: How many turns are drawn from each tier.
        cache: Keeps built stores from run to run; None builds anew.

    Returns:
        The figures; see the module.
    """
    sections = {"recall": {"deadline_ms": 10_000.0}, "idle": {"enabled": False}}
    config = stores.build(path, size, min(300, size // 4), cache, **sections)
    engine = MemoryEngine(config)
    try:
        engine.upkeep.age(corpus.SCOPE)
        chance = random.Random(common.SEED)
        drawn = {
            name: chance.sample(turns, min(queries + WARM_UP, len(turns)))
            for name, turns in _by_tier(engine).items()
        }
        tiers = engine.stats()["tiers"]
    finally:
        engine.close()
    engine = MemoryEngine(config)  # nothing is unpacked yet
    try:
        engine.prepare(corpus.SCOPE)
        results = {name: asyncio.run(_measure(engine, turns)) for name, turns in drawn.items()}
    finally:
        engine.close()
    return {"memories": size, "tiers": tiers, "results": results}


def _by_tier(engine: MemoryEngine) -> dict[str, list[Turn]]:
    """Return a store's turns by tier, without the tiers that have none."""
    with engine.snapshot() as snapshot:
        turns = latest_turns(snapshot, corpus.SCOPE, 10**9)[::-1]
    found, start = dict[str, list[Turn]](), 0
    for tier in TIERS:
        end = len(turns) if tier.size is None else start + tier.size
        if turns[start:end]:
            found[tier.name] = turns[start:end]
        start = end
    return found


async def _measure(engine: MemoryEngine, turns: list[Turn]) -> dict[str, Any]:
    half = len(turns) // 2  # what is fetched is not asked for: its blocks are unpacked by then
    namespace, fetch = engine.wiring.namespaces.get(corpus.SCOPE), list[float]()
    for start in range(0, half - AT_A_TIME + 1, AT_A_TIME):
        ids = [chunk_id(turn.id) for turn in turns[start : start + AT_A_TIME]]
        began = time.perf_counter()
        namespace.fetch(ids)
        fetch.append((time.perf_counter() - began) * 1e3)
    recall, hits = list[float](), 0
    for turn in turns[half:]:
        began = time.perf_counter()
        found = await engine.recall(_question(turn), corpus.SCOPE, now=corpus.NOW)
        recall.append((time.perf_counter() - began) * 1e3)
        hits += chunk_id(turn.id) in {hit.memory.id for hit in found.hits}
    return {
        "fetch": common.percentiles(fetch),
        "recall": common.percentiles(recall[min(WARM_UP, len(recall) // 2) :]),
        "found": round(hits / max(1, len(recall)), 3),
    }


def _question(turn: Turn) -> str:
    words = turn.text.lower().replace(",", "").rstrip(".?!").split()
    longest = sorted(range(len(words)), key=lambda n: -len(words[n]))[:WORDS]
    return f"what was it again about {' '.join(words[n] for n in sorted(longest))}?"


def _show(found: dict[str, Any]) -> None:
    rows = [
        [f"{tier}, {what}", *(values[what][name] for name in ("p50", "p95", "p99", "max", "n"))]
        for tier, values in found["results"].items()
        for what in ("fetch", "recall")
    ]
    title = f"{found['memories']} memories, aged; milliseconds"
    common.table(title, ["", "p50", "p95", "p99", "max", "n"], rows)
    shares = ", ".join(f"{tier} {one['found']:.0%}" for tier, one in found["results"].items())
    common.console.print(f"found: {shares}; {common.machine()}")


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, default=10_000, help="memories (default 10,000)")
    parser.add_argument("--queries", type=int, default=600, help="turns of a tier (default 600)")
    parser.add_argument("--cache", type=Path, help="folder that keeps built stores")
    return parser.parse_args()


if __name__ == "__main__":
    main()
