"""How well are names told apart? Labelled pairs through the product's own four stages.

Every pair is two names of one type, with a label that says whether they mean one entity; hard negatives
(two Smiths, two flats of one house, two models of one series) are about half. Each row takes one stage
more, cheapest first, so that it shows what a stage adds and what it gets wrong. Odd lines of the file
were looked at while the stages were tuned; *even lines* is the half that was not.

    python -m benchmarks.dedup

The JSON: ``machine``, ``load``, ``n``, ``same`` (pairs that mean one), ``model`` ("" without an embedding
model), ``rows`` by name: ``precision``, ``recall``, ``f1``, ``us`` (median microseconds a pair), and
``stages`` (by stage: pairs that it joined rightly and wrongly).
"""

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import common
from slowcat_memory.core.graph.dedup import Candidate, Similarity, resolve
from slowcat_memory.core.graph.options import DedupOptions
from slowcat_memory.providers import EmbedderOptions, open_query_embedder

FILE = Path(__file__).parent / "data" / "entities.tsv"
Pair = tuple[Candidate, Candidate, bool]
STAGES = ("exact", "rule", "fuzzy", "embedding")  # as `resolve` tries them


def main() -> None:
    options = _arguments()
    load = [common.load_average()]
    similar, model = cosine()
    every = pairs()
    rows: dict[str, dict[str, Any]] = {}
    for many in range(1, len(STAGES) + 1):
        on = DedupOptions(**{stage: stage in STAGES[:many] for stage in STAGES})
        if STAGES[many - 1] == "embedding" and similar is None:
            continue
        name = STAGES[0] if many == 1 else f"+ {STAGES[many - 1]}"
        rows[name] = measured(every, similar, on)
    rows["all stages, even lines"] = measured(every[1::2], similar, DedupOptions())
    load.append(common.load_average())
    result = {
        "machine": common.machine(),
        "load": load,
        "n": len(every),
        "same": sum(wanted for *_, wanted in every),
        "model": model,
        "rows": rows,
    }
    common.write_json(options.json, result)
    shown = [
        (name, 100 * one["precision"], 100 * one["recall"], 100 * one["f1"], one["us"],
         ", ".join(f"{stage} {right}+{wrong}" for stage, (right, wrong) in one["stages"].items()))
        for name, one in rows.items()
    ]  # fmt: skip
    title = f"{len(every)} pairs of names, {result['same']} of which mean one; stages: right+wrong"
    common.table(title, ("stages", "precision", "recall", "F1", "us a pair", "joined by"), shown)


def pairs() -> list[Pair]:
    """Read the labelled pairs.

    Returns:
        Two names, and whether they mean one.
    """
    lines = [line for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines[1:]]
    return [(_candidate(row[0], row[1]), _candidate(row[0], row[2]), row[3] == "1") for row in rows]


def _candidate(kind: str, told: str) -> Candidate:
    name, *attributes = [part.strip() for part in told.split(";")]
    return Candidate(name, kind, dict(one.split("=") for one in attributes))  # type: ignore[misc]  # two parts each


def judged(
    tried: Sequence[Pair], similar: Similarity | None, options: DedupOptions = DedupOptions()
) -> tuple[float, float, float, Counter[tuple[str, bool]]]:
    """Tell pairs apart.

    Args:
        tried: The pairs.
        similar: Cosine of two names; None without a model.
        options: Which stages.

    Returns:
        Precision, recall, F1, and how often each stage joined a pair, rightly or not.
    """
    stages: Counter[tuple[str, bool]] = Counter()
    missed = 0
    for one, other, wanted in tried:
        found = resolve(one, [other], similar, options)
        if found:
            stages[found[1], wanted] += 1
        else:
            missed += wanted
    right = sum(count for (_, wanted), count in stages.items() if wanted)
    wrong = sum(stages.values()) - right
    precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall), stages


def measured(tried: Sequence[Pair], similar: Similarity | None, on: DedupOptions) -> dict[str, Any]:
    """Tell pairs apart, and how long that takes.

    Args:
        tried: The pairs.
        similar: As in `judged`.
        on: Which stages.

    Returns:
        A row of the JSON.
    """
    precision, recall, f1, stages = judged(tried, similar, on)
    took = list[float]()
    for one, other, _ in tried:
        began = time.perf_counter_ns()
        resolve(one, [other], similar, on)
        took.append((time.perf_counter_ns() - began) / 1e3)
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "us": round(median(took), 1),
        "stages": {
            stage: [stages[stage, True], stages[stage, False]]
            for stage in STAGES
            if stages[stage, True] or stages[stage, False]
        },
    }


def cosine() -> tuple[Similarity | None, str]:
    """Open the embedding model.

    Returns:
        Cosine of two texts, and the model's name; None and "" where there is none.
    """
    embedder, report = open_query_embedder(EmbedderOptions())
    if embedder is None:
        return None, ""

    def similar(one: str, other: str) -> float:
        return float(np.dot(*embedder.encode([one, other])))

    return similar, report.key


def _arguments() -> argparse.Namespace:
    return common.arguments(__doc__).parse_args()


if __name__ == "__main__":
    main()
