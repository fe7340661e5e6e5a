"""Does one hop along people and things find more? Recorded answers of an LLM say who is mentioned.

The same memory is asked with each weight of ``links.hop``. Contexts and questions of the LLM are in
the index in every arm. Without ``--llm`` rules say who is mentioned, and there are neither.

    python -m benchmarks.linked --data DIR --cache CACHE --llm recorded --only-noted

The JSON: ``machine``, ``load``, ``results``, one a data folder: ``data``, ``n``, ``links`` (memories
that mention anything), ``cost_us`` (percentiles of one hop), ``arms`` by name: R@10 of all, of
multi-hop, and R@300w, with the change of multi-hop and of all against the default, each with the 95 %
interval of a paired bootstrap.
"""

import argparse
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from benchmarks import common, datasets, quality, thinking
from benchmarks.ablation import DEFAULT, Arms, interval
from benchmarks.datasets import ADVERSARIAL, Dataset
from benchmarks.scoring import evaluate, score
from slowcat_memory.core.ranking.entity_hop import LinkOptions, Links
from slowcat_memory.engine import MemoryEngine, retrieval_options
from slowcat_memory.runtime.recall.service import Retrieval

OFF, HOPS, MULTI = DEFAULT, (0.05, 0.1, 0.2, 0.4), "multi-hop"


def main() -> None:
    options = _arguments()
    choice = replace(thinking.choice_of(options), jobs=("contextualize", "entities"))
    load, results = [common.load_average()], []
    for folder in datasets.find(options.data):
        data = datasets.load(folder)
        data = thinking.noted(data, folder) if options.only_noted else data
        results.append(measure(data, folder, choice, options))
        load.append(common.load_average())
        _show(results[-1])
    common.write_json(options.json, {"machine": common.machine(), "load": load, "results": results})


def measure(
    data: Dataset, folder: Path, choice: thinking.ThinkingChoice, options: argparse.Namespace
) -> dict[str, Any]:
    """Ask every question in every arm.

    Args:
        data: The data set.
        folder: Its folder.
        choice: Which LLM thinks.
        options: From the command line.

    Returns:
        What the JSON says of a data folder.
    """
    with common.scratch() as store:
        config = common.configuration(store, options.config)
        with (
            thinking.thinking(choice, folder) as thinker,
            quality.opened(config, options.cache, thinker.llm) as (engine, embedder),
        ):
            arms = {OFF: engine.wiring.retrieval_of(retrieval_options(config))}
            for hop in HOPS:
                arms[f"hop {hop}"] = _hopping(engine, LinkOptions(hop=hop))
            arms["hop 0.1, 10 lead"] = _hopping(engine, LinkOptions(hop=0.1, seeds=10))
            arms["hop 0.1, of 15"] = _hopping(engine, LinkOptions(hop=0.1, most=15))
            searched = Arms(arms)
            quality.answer_all(
                engine, data, embedder, options.k, options.limit, search=searched, thinker=thinker
            )
            links, cost = _cost(engine)
    runs = searched.runs
    judged = quality.answered(data, runs[OFF]) if options.limit else data
    told = {name: evaluate(judged, run) for name, run in runs.items()}
    return {
        "data": data.name,
        "n": told[OFF]["all"]["n"],
        "links": links,
        "cost_us": cost,
        "arms": {
            name: {
                "R@10": groups["all"]["R@10"],
                "R@300w": groups["all"]["R@300w"],
                "multi-hop R@10": groups.get(MULTI, {}).get("R@10"),
                "change": _change(judged, runs[OFF], runs[name], ""),
                "multi-hop change": _change(judged, runs[OFF], runs[name], MULTI),
            }
            for name, groups in told.items()
        },
    }


def _hopping(engine: MemoryEngine, links: LinkOptions) -> Retrieval:
    return engine.wiring.retrieval_of(replace(retrieval_options(engine.config), links=links))


def _change(data: Dataset, base: Any, run: Any, kind: str) -> list[float]:
    """Return the change of R@10, and its 95 % interval."""
    gains = list[float]()
    for question in data.questions:
        pair = [score(question, one.get(question.id, ()), data) for one in (base, run)]
        counts = question.category != ADVERSARIAL and kind in ("", question.category)
        if counts and pair[0] is not None and pair[1] is not None:
            gains.append(pair[1]["R@10"] - pair[0]["R@10"])
    if not gains:
        return [0.0, 0.0, 0.0]
    return [float(np.mean(gains)), *interval(np.array(gains))]


def _cost(engine: MemoryEngine) -> tuple[int, dict[str, float]]:
    """Time one hop among 400 candidates, in the largest namespace."""
    tables: list[Links] = [one.links() for one in engine.wiring.namespaces]
    largest = max(tables, key=len)
    ids = [f"chunk/{n}" for n in range(1, 401)]
    drawn, took = random.Random(1), []
    for _ in range(1000):
        scores = np.array([drawn.random() for _ in ids])
        began = time.perf_counter_ns()
        largest.lift(ids, scores, LinkOptions(hop=0.1))
        took.append((time.perf_counter_ns() - began) / 1e3)
    return len(largest), {f"p{p}": round(float(np.percentile(took, p)), 1) for p in (50, 99)}


def _show(result: dict[str, Any]) -> None:
    rows = []
    for name, arm in result["arms"].items():
        multi = arm["multi-hop R@10"]
        rows.append((
            name, 100 * arm["R@10"], _signed(arm["change"]),
            "-" if multi is None else 100 * multi,
            _signed(arm["multi-hop change"]),
            100 * arm["R@300w"],
        ))  # fmt: skip
    common.table(
        f"{result['data']}: {result['n']} questions, {result['links']} memories linked, a hop takes "
        f"{result['cost_us']['p50']} us, p99 {result['cost_us']['p99']}",
        ("arm", "R@10", "change", "multi-hop R@10", "change ", "R@300w"),
        rows,
    )


def _signed(change: list[float]) -> str:
    mean, low, high = (100 * part for part in change)
    return f"{mean:+.1f} ({low:+.1f} … {high:+.1f})"


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    quality.add_data(parser)
    thinking.add_llm(parser)
    parser.add_argument("--k", type=int, default=50, help="documents a question (default 50)")
    parser.add_argument("--limit", type=int, default=0, help="only the first N conversations")
    parser.add_argument("--config", type=Path, help="a config.toml; its store's path is not used")
    return parser.parse_args()


if __name__ == "__main__":
    main()
