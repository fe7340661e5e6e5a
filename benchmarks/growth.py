"""How does it grow? The same figures at 1,000 to a million memories, and ten million on paper.

At each size, on a made-up store: recall embedded inline and ahead, its stages, what a fresh process
takes to open and to hold, and the disk. A million is measured where the cache has such a store.

*On paper* adds up measured parts. The stages that read more where there is more (words and vectors)
go on growing by the power by which they grew between the two largest sizes, the others stay; p99 is
as many times p50 as it was; memory and disk grow by as many bytes a memory. It is arithmetic, not a
promise: what changes its kind at a size (the index has three) is not seen.

    python -m benchmarks.growth --cache CACHE

The JSON: ``machine``, ``load``, ``results``, one a size: ``memories``, ``inline``, ``ahead``,
``stages`` by name (n, p50, p95, p99, max), ``cold`` (``lexical``, ``full``), ``rss_mb``,
``rss_rest_mb``, ``disk_mb``; and ``paper``: ``memories``, ``figures`` by name, ``powers`` of times.
"""

import argparse
import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import cold_start, common, corpus, latency, stores
from benchmarks.common import percentiles
from slowcat_memory.engine import MemoryEngine

SIZES, LARGEST, PAPER = (1000, 10_000, 100_000), 1_000_000, 10_000_000
Result = Mapping[str, Any]

STAGES = ("parse", "lexical", "embed", "dense", "fuse", "tokens", "fetch", "pack", "hop")
GROWING = ("lexical", "dense")
OPENING = ("lexical", "full")
RECALLS = {
    "recall, embedded inline": ("inline", STAGES),
    "recall, embedded ahead": ("ahead", tuple(stage for stage in STAGES if stage != "embed")),
}
TIMES: dict[str, Callable[[Result], float]] = {
    **{
        f"{name}, {p}": lambda r, figure=figure, p=p: r[figure][p]
        for name, (figure, _) in RECALLS.items()
        for p in ("p50", "p99")
    },
    **{f"· {stage}": lambda r, stage=stage: _stage(r, stage) for stage in STAGES},
    "open to the first answer by words": lambda r: r["cold"]["lexical"],
    "open to the first answer in full": lambda r: r["cold"]["full"],
}
ROOMS: dict[str, Callable[[Result], float]] = {
    "resident MB, in use": lambda r: r["rss_mb"],
    "resident MB, at rest": lambda r: r["rss_rest_mb"],
    "disk MB": lambda r: r["disk_mb"],
}


def main() -> None:
    options = _arguments()
    loads, results = [common.load_average()], []
    for size in options.sizes or sizes(options.cache):
        results.append(measure(size, options.queries, options.cache))
        loads.append(common.load_average())
        written = {
            "machine": common.machine(),
            "load": loads,
            "results": results,
            "paper": on_paper(results),
        }
        common.write_json(options.json, written)
    _show(written)


def sizes(cache: Path | None) -> list[int]:
    """Return the sizes to measure: the largest one only where it need not be made."""
    kept = cache is not None and stores.is_kept(cache, LARGEST, latency.TAIL)
    return [*SIZES, *([LARGEST] if kept else [])]


def measure(size: int, queries: int, cache: Path | None = None) -> dict[str, Any]:
    """Measure at one size.

    Args:
        size: How many memories.
        queries: How many questions for each figure.
        cache: Keeps built stores; None builds anew.

    Returns:
        The figures; see the module.
    """
    with common.scratch() as folder:
        path = folder / "store"
        config = stores.build(path, size, latency.TAIL, cache, recall={"deadline_ms": 10_000.0})
        cold = cold_start.measure(path, 3)
        engine = MemoryEngine(config)
        try:
            engine.prepare(corpus.SCOPE)
            engine.drain()
            found = asyncio.run(_ask(engine, queries))
            common.refuse_failures(engine.metrics)
        finally:
            engine.close()
        disk = sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file())
    return {
        "memories": size,
        **found,
        "cold": cold["cold"],
        "rss_mb": cold["rss_mb"],
        "rss_rest_mb": cold["rss_rest_mb"],
        "disk_mb": round(disk / 1e6, 2),
    }


async def _ask(engine: MemoryEngine, queries: int) -> dict[str, Any]:
    texts = iter(corpus.questions(latency.WARM_UP + 2 * queries, common.SEED))
    await latency.ask(engine, list(islice(texts, latency.WARM_UP)))
    inline, stages = await latency.ask(engine, list(islice(texts, queries)))
    rest = list(texts)
    ahead, _ = await latency.ask(engine, rest, latency.embed(engine, rest))
    return {
        "inline": percentiles(inline),
        "ahead": percentiles(ahead),
        "stages": {name: percentiles(ms) for name, ms in stages.items()},
    }


def on_paper(results: Sequence[Result], memories: int = PAPER) -> dict[str, Any]:
    """Continue what was measured at the two largest sizes.

    Args:
        results: By size, the smallest first.
        memories: How many there are to be.

    Returns:
        ``memories``, ``figures`` by name, and the ``powers`` of the times; no figures from one size.
    """
    if len(results) < 2:
        return {"memories": memories, "figures": {}, "powers": {}}
    small, large = results[-2:]
    times = memories / large["memories"]
    growing = [*(f"· {stage}" for stage in GROWING), *(n for n in TIMES if n.startswith("open"))]
    powers = {name: _power(TIMES[name], small, large) for name in growing}
    figures = {name: of(large) * times ** powers.get(name, 0.0) for name, of in TIMES.items()}
    for name, (figure, stages) in RECALLS.items():
        sum_ = sum(figures[f"· {stage}"] for stage in stages)
        ratio = large[figure]["p99"] / large[figure]["p50"]
        figures |= {f"{name}, p50": sum_, f"{name}, p99": sum_ * ratio}
    for name, of in ROOMS.items():
        each = (of(large) - of(small)) / (large["memories"] - small["memories"])
        figures[name] = of(large) + max(0.0, each) * (memories - large["memories"])
    return {"memories": memories, "figures": figures, "powers": powers}


def _stage(result: Result, name: str) -> float:
    return float(result["stages"].get(name, {}).get("p50", 0.0))


def _power(of: Callable[[Result], float], small: Result, large: Result) -> float:
    if not of(small) or not of(large):
        return 0.0
    grown = math.log(of(large) / of(small)) / math.log(large["memories"] / small["memories"])
    return round(min(1.0, max(0.0, grown)), 3)


def rows(written: Mapping[str, Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and rows of the table: sizes, then paper, then the power.

    Args:
        written: The JSON.
    """
    results, paper = written["results"], written["paper"]
    columns = ["", *(f"{r['memories']:,}" for r in results)]
    if paper["figures"]:
        columns += [f"{paper['memories']:,}, on paper", "power"]
    made = []
    for name, of in (TIMES | ROOMS).items():
        row: list[Any] = [name, *(float(of(result)) for result in results)]
        if paper["figures"]:
            row += [float(paper["figures"][name]), paper["powers"].get(name, "")]
        made.append(tuple(row))
    return columns, made


def _show(written: Mapping[str, Any]) -> None:
    columns, made = rows(written)
    common.table("by number of memories, milliseconds but where it says MB", columns, made)


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", help="memories (default: see above)")
    parser.add_argument("--queries", type=int, default=200, help="for each figure (default 200)")
    parser.add_argument("--cache", type=Path, help="keep built stores in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    main()
