"""Recall metrics of a ranking, and the TREC run file that holds rankings.

A document is a turn id, or several joined by "+" (a chunk of several turns). *Gold* is the set of
turns that answer a question.

- ``R@k``: share of the gold that the first k documents cover.
- ``MRR``: 1 / rank of the first document that covers any gold.
- ``R@300w``: share of the gold covered by the documents that fit, in rank order, into 300 words of
  retrieved text. It compares fairly across chunk sizes: a larger chunk costs more of the prompt. The
  first document that does not fit ends the walk; a turn's words count once.

Questions without gold are left out, and so is the category "adversarial". A document from a session
that is not before the question's is a leak: it is taken out of the ranking, and counted.
"""

import gzip
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.datasets import ADVERSARIAL, Dataset, Question

Run = Mapping[str, Sequence[str]]
METRICS = ("R@5", "R@10", "MRR", "R@300w")


def score(question: Question, ranking: Sequence[str], data: Dataset) -> dict[str, float] | None:
    """Score one ranking.

    Args:
        question: What was asked.
        ranking: Documents, best first.
        data: For words and sessions.

    Returns:
        Value by name of ``METRICS``, and ``leaks``; None when the question has no gold.
    """
    if not question.evidence:
        return None
    documents, leaks = _allowed(question, ranking, data)
    covered = [question.evidence & set(turns) for turns in documents]
    first = next((rank for rank, gold in enumerate(covered, 1) if gold), 0)
    return {
        "R@5": _share(covered[:5], question.evidence),
        "R@10": _share(covered[:10], question.evidence),
        "MRR": 1 / first if first else 0.0,
        "R@300w": _share(covered[: _fitting(documents, data.words, 300)], question.evidence),
        "leaks": leaks,
    }


def evaluate(data: Dataset, run: Run) -> dict[str, dict[str, float]]:
    """Score a run, over all questions that count and by category.

    Args:
        data: The data set.
        run: Rankings by question id; a question without one scores 0.

    Returns:
        Means by ``"all"`` and by category: the metrics, ``n``, and the sum of ``leaks``.
    """
    groups: dict[str, list[dict[str, float]]] = defaultdict(list)
    for question in data.questions:
        scores = score(question, run.get(question.id, ()), data)
        if scores is not None and question.category != ADVERSARIAL:
            groups["all"].append(scores)
            groups[question.category].append(scores)
    if set(groups) - {"all"} == {""}:
        del groups[""]
    return {name: _means(groups[name]) for name in sorted(groups, key=lambda n: (n != "all", n))}


def write_run(path: Path, run: Run, tag: str = "slowcat") -> None:
    """Write rankings as a TREC run: ``question Q0 document rank score tag``.

    Args:
        path: The file; compressed when it ends in ``.gz``.
        run: Documents by question id, best first.
        tag: Name of the run.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        for question, documents in run.items():
            for rank, document in enumerate(documents, 1):
                file.write(f"{question} Q0 {document} {rank} {1 / rank:.6f} {tag}\n")


def _allowed(
    question: Question, ranking: Sequence[str], data: Dataset
) -> tuple[list[list[str]], int]:
    """Split documents into turns, and take out what had not been said when it was asked."""
    limit = data.rank.get(question.before)
    kept, leaks = [], 0
    for document in ranking:
        turns = document.split("+")
        earlier = [
            turn for turn in turns if limit is None or data.rank[data.session_of[turn]] < limit
        ]
        leaks += len(earlier) < len(turns)
        if earlier:
            kept.append(earlier)
    return kept, leaks


def _fitting(documents: Iterable[Sequence[str]], words: Mapping[str, int], budget: int) -> int:
    """Count the documents that fit into a budget of words."""
    used, seen, count = 0, set[str](), 0
    for turns in documents:
        used += sum(words[turn] for turn in turns if turn not in seen)
        if used > budget:
            break
        seen.update(turns)
        count += 1
    return count


def _share(covered: Iterable[frozenset[str]], gold: frozenset[str]) -> float:
    return len(frozenset[str]().union(*covered)) / len(gold)


def _means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    means = {name: sum(s[name] for s in scores) / len(scores) for name in METRICS}
    return {**means, "n": len(scores), "leaks": sum(s["leaks"] for s in scores)}
