"""How much room does the memory take: in memory, and on disk by part, before and after ageing?

At each size, on a made-up store, in fresh processes:

- *rss_mb*: resident memory as the parts come up, one after the other: the interpreter, the package,
  the embedding model, the open store, the index, and what 200 searches leave behind. The sources
  plan 260 MB for the memory's own parts (50 + 200 + 10), so ``memory`` is all but the interpreter;
- *disk*: bytes by part: the log by tier, vectors, index files, and the rest (who said what where,
  sessions, ledger); ``file`` is the data file with the free pages in it;
- *ageing_s*: how long ``engine.age`` took for all of it, which also rewrites vectors of earlier
  versions, and ``shrink_s`` giving the room back, as ``tidy`` does.

Vectors take 0.45 kB a memory (a byte for each of 384 dimensions), those of its words 0.4; with the
index, whose size tiers do not change, they are most of the disk.

    python -m benchmarks.footprint --sizes 1000 10000

The JSON: ``machine``, ``sources_mb``, and ``results``, one a store: ``memories``,
``ageing_s``, ``shrink_s``, ``reference``, and ``before`` and ``after`` ageing: ``rss_mb`` by part,
``disk`` (``parts`` and ``file`` in bytes; ``tiers``, each ``memories``, ``raw`` and ``stored`` bytes).
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import common, stores
from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine

SOURCES_MB = 260  # requirements C35
LOG = ("log", "places", "warm", "cold")
PARTS = ("hot", "warm", "cold", "places", "vectors", "index", "other")


def main() -> None:
    options = _arguments()
    results = [measure(size, options.cache) for size in options.sizes]
    for result in results:
        _show(result)
    written = {"machine": common.machine(), "sources_mb": SOURCES_MB, "results": results}
    common.console.print(f"{common.machine()}, load average {common.load_average()}")
    common.write_json(options.json, written)


def measure(size: int, cache: Path | None = None) -> dict[str, Any]:
    """Measure one store.

    Args:
        size: How many memories.
        cache: Keeps built stores; None builds anew.

    Returns:
        The figures; see the module.
    """
    with common.scratch() as folder:
        path = folder / "store"
        stores.build(path, size, size // 10, cache)
        before = {**_inhabit(path), "disk": _disk(path)}
        aged = _age(path)
        after = {**_inhabit(path), "disk": _disk(path)}
    memories = before.pop("memories")
    after.pop("memories")
    return {
        "memories": memories,
        **aged,
        "before": before,
        "after": after,
        "reference": common.reference_ms(),
    }


def _inhabit(path: Path) -> dict[str, Any]:
    """Bring the parts up in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.footprint_child", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the fresh process failed: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _age(path: Path) -> dict[str, float]:
    engine = MemoryEngine(_config(path))
    try:
        began = time.perf_counter()
        engine.upkeep.age()
        aged = time.perf_counter()
        engine.store.shrink()
        return {
            "ageing_s": round(aged - began, 2),
            "shrink_s": round(time.perf_counter() - aged, 2),
        }
    finally:
        engine.close()


def _disk(path: Path) -> dict[str, Any]:
    engine = MemoryEngine(_config(path, embedding={"kind": "none"}), readonly=True)
    try:
        with engine.store.snapshot() as snapshot:
            tables, tiers = snapshot.table_bytes(), snapshot.tiers()
    finally:
        engine.close()
    parts = {
        "hot": tables["log"],
        "warm": tables["warm"],
        "cold": tables["cold"],
        "places": tables["places"],
        "vectors": tables["vectors"],
        "index": sum(file.stat().st_size for file in path.glob("index/**/*") if file.is_file()),
        "other": sum(size for name, size in tables.items() if name not in (*LOG, "vectors")),
    }
    return {
        "parts": parts,
        "file": next(path.rglob("data.mdb")).stat().st_blocks * 512,
        "tiers": {
            name: {"memories": held.memories, "raw": held.raw_bytes, "stored": held.stored_bytes}
            for name, held in tiers.items()
        },
    }


def _config(path: Path, **sections: Any) -> Config:
    return common.configuration(path, **sections)


# -------------------------------------------------------------------- output


def _show(result: dict[str, Any]) -> None:
    memories, before, after = result["memories"], result["before"], result["after"]
    rows = [
        (name, *(result[when]["disk"]["parts"][name] / memories for when in ("before", "after")))
        for name in PARTS
    ]
    rows.append(("all", *(sum(row[n] for row in rows) for n in (1, 2))))
    rows.append(("data file", *(found["disk"]["file"] / memories for found in (before, after))))
    title = f"{memories:,} memories, bytes on disk for each"
    common.table(title, ("part", "before ageing", "after"), rows)
    tiers = after["disk"]["tiers"].items()
    common.table(
        "texts by tier, bytes a memory",
        ("tier", "memories", "unpacked", "stored"),
        [(n, t["memories"], *_each(t)) for n, t in tiers if t["memories"]],
    )
    rss = [(name, before["rss_mb"][name], after["rss_mb"][name]) for name in before["rss_mb"]]
    common.table(
        f"resident MB (the sources plan {SOURCES_MB})", ("part", "before", "after"), rows=rss
    )
    common.console.print(f"ageing {result['ageing_s']} s, shrinking {result['shrink_s']} s")


def _each(tier: dict[str, int]) -> tuple[float, float]:
    return tier["raw"] / tier["memories"], tier["stored"] / tier["memories"]


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[1000, 10_000],
        help="memories (default: 1k and 10k)",
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps built stores")
    return parser.parse_args()


if __name__ == "__main__":
    main()
