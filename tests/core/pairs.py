"""The labelled pairs of names, and how well they are told apart."""

from collections import Counter
from pathlib import Path

from slowcat_memory.core.same_entity import Candidate, DedupOptions, Similar, resolve

FILE = Path(__file__).parent / "data" / "entities.tsv"
Pair = tuple[Candidate, Candidate, bool]


def pairs() -> list[Pair]:
    lines = [line for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines[1:]]
    return [(candidate(row[0], row[1]), candidate(row[0], row[2]), row[3] == "1") for row in rows]


def candidate(kind: str, told: str) -> Candidate:
    name, *attributes = [part.strip() for part in told.split(";")]
    return Candidate(name, kind, dict(one.split("=") for one in attributes))  # type: ignore[misc]


def judged(
    tried: list[Pair], similar: Similar | None, options: DedupOptions = DedupOptions()
) -> tuple[float, float, float, Counter[tuple[str, bool]]]:
    """Return precision, recall, F1, and how often each stage was right."""
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
