"""Labelled pairs of names through the product's own stages: do two names mean one entity?

Every pair is two names of one type, with a label that says whether they mean one entity; hard negatives
(two Smiths, two flats of one house, two models of one series) are about half. Odd lines of the file were
looked at while the stages were tuned, even lines were not. Held-out pairs are judged by
``python -m benchmarks.unseen --list entities``.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from slowcat_memory.core.graph.dedup import Candidate, Similarity, resolve
from slowcat_memory.core.graph.options import DedupOptions
from slowcat_memory.providers import EmbedderOptions, open_query_embedder

FILE = Path(__file__).parent / "data" / "entities.tsv"
Pair = tuple[Candidate, Candidate, bool]


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
