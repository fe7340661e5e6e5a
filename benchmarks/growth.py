"""How does it grow? The same figures at 1,000 to a million memories.

At each size, on a made-up store: recall embedded inline and ahead, its stages, what a fresh process
takes to open and to hold, and the disk. To make a store of a million takes most of an hour.

    python -m benchmarks.growth --cache CACHE
    python -m benchmarks.growth --cache CACHE --sizes 1000000

The JSON: ``results``, one a size: ``memories``, ``inline``, ``ahead``,
``stages`` by name (n, p50, p95, p99, max), ``cold`` (``lexical``, ``full``), ``rss_mb``,
``disk_mb``.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import cold_start, common, corpus, latency, stores
from benchmarks.tables import table
from slowcat_memory.engine.upkeep import disk_bytes

SIZES = (1000, 10_000, 100_000)
QUERIES = 200  # for each figure

STAGES = ("parse", "lexical", "embed", "dense", "fuse", "tokens", "fetch", "pack", "hop")
RECALLS = {"recall, embedded inline": "inline", "recall, embedded ahead": "ahead"}


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="memories")
    parser.add_argument("--cache", type=Path, help="keep built stores in this folder")
    options = parser.parse_args()
    results = []
    for size in options.sizes:
        results.append(measure(size, options.cache))
        common.write_json(options.json, {"results": results})
    print(report({"results": results}))


def measure(size: int, cache: Path | None = None) -> dict[str, Any]:
    """Measure at one size.

    Args:
        size: How many memories.
        cache: Keeps built stores; None builds anew.

    Returns:
        The figures; see the module.
    """
    with common.scratch() as folder:
        path = folder / "store"
        config = stores.build(path, size, cache, recall={"deadline_ms": 10_000.0})
        cold = cold_start.measure(path, 3)
        with stores.opened(config) as engine:
            texts = iter(corpus.questions(latency.WARM_UP + 2 * QUERIES, common.SEED))
            waits, stages = asyncio.run(latency.recalls(engine, texts, QUERIES))
        disk = disk_bytes(path) / 1e6
    return {
        "memories": size,
        **latency.all_percentiles(waits),
        "stages": latency.all_percentiles(stages),
        "cold": cold["cold"],
        "rss_mb": cold["rss_mb"],
        "disk_mb": round(disk, 2),
    }


def report(written: Mapping[str, Any]) -> str:
    """Write the results as Markdown: a column for each size."""
    columns = [_figures(result) for result in written["results"]]
    rows = [(name, *(column[name] for column in columns)) for name in columns[0]]
    made = table(("", *(f"{r['memories']:,}" for r in written["results"])), rows)
    return f"By number of memories, milliseconds but where it says MB:\n\n{made}"


def _figures(result: Mapping[str, Any]) -> dict[str, float]:
    stages = result["stages"]
    return {
        **{f"{name}, {p}": result[f][p] for name, f in RECALLS.items() for p in ("p50", "p99")},
        **{f"· {name}": float(stages.get(name, {}).get("p50", 0.0)) for name in STAGES},
        "open to the first answer by words": result["cold"]["lexical"],
        "open to the first answer in full": result["cold"]["full"],
        "resident MB, in use": result["rss_mb"],
        "disk MB": result["disk_mb"],
    }


if __name__ == "__main__":
    main()
