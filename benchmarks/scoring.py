"""Recall of a ranking, and precision of what is offered.

A document is a turn id, or several joined by "+" (a chunk of several turns). *Gold* is the set of
turns that answer a question; at session level it is a set of sessions, and each document counts as the
sessions that it is from, at their first mention: sessions are ranked by their best turn, which is the
protocol of LongMemEval (Wu et al. 2024).

- ``R@k``: share of the gold that the first k documents cover.
- ``Hit@k``: they cover some of it ("recall_any"); ``All@k``: they cover all of it ("recall_all").
- ``MRR``: 1 / rank of the first document that covers any gold.
- ``nDCG@10``: a document gains the gold that it is the first to cover; ideal is each gold turn alone
  from rank 1, and no more than that is counted.
- ``R@300w``: share of the gold covered by the documents that fit, in rank order, into 300 words of
  retrieved text. It compares fairly across chunk sizes: a larger chunk costs more of the prompt. The
  first document that does not fit ends the walk; a turn's words count once.

Questions without gold are left out, and so is the category "adversarial". A document from a session
that is not before the question's is a leak: it is taken out of the ranking, and counted.

*Offered*: a ranking's recall does not show what is put before the LLM beside the answer. Each question is asked
once more as a turn asks it (gate, floor, share of the best, "nothing is remembered", packing), and the
memories of its block are compared with the set's gold.

- ``precision``: gold memories / memories, over all blocks together;
- ``recall``: share of a question's gold in its block, mean over the questions; ``hit``: any of it;
- ``offered``, ``beside``: memories a question, and those of them that are not gold;
- ``empty``: share of the questions with a block without memories; ``tokens``: mean size of a block.

At session level a memory is gold if it is from a gold session.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Literal

from msgspec import Struct

from benchmarks.datasets import ADVERSARIAL, Dataset, Origins, Question, dialogue_of
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import Query

Run = Mapping[str, Sequence[str]]
Level = Literal["turn", "session"]
METRICS = (
    *(f"{name}@{k}" for name in ("R", "Hit", "All") for k in (5, 10, 20)),
    *("MRR", "nDCG@10", "R@300w"),
)
ALL, LOW = "all", "low overlap"
BUDGET, DEPTH = 300, 10


def score(
    question: Question, ranking: Sequence[str], data: Dataset, level: Level = "turn"
) -> dict[str, float] | None:
    """Score one ranking.

    Args:
        question: What was asked.
        ranking: Documents, best first.
        data: For words and sessions.
        level: What counts as a document and as gold.

    Returns:
        Value by name of ``METRICS``, and ``leaks``; None when the question has no gold.
    """
    gold = question.evidence if level == "turn" else question.sessions
    if not gold:
        return None
    documents, leaks = _allowed(question, ranking, data)
    if level == "session":
        sessions = list(dict.fromkeys(data.session_of[t] for turns in documents for t in turns))
        documents = [data.turns_of[session] for session in sessions]
        covered = [gold & {session} for session in sessions]
    else:
        covered = [gold & set(turns) for turns in documents]
    found = [0, *map(len, accumulate(covered, frozenset.union))]  # so many after n documents
    first = next((rank for rank, part in enumerate(covered, 1) if part), 0)
    made = {"MRR": 1 / first if first else 0.0, "nDCG@10": _gain(found, len(gold)), "leaks": leaks}
    for k in (5, 10, 20):
        count = found[min(k, len(covered))]
        made[f"R@{k}"] = count / len(gold)
        made[f"Hit@{k}"], made[f"All@{k}"] = float(count > 0), float(count == len(gold))
    made["R@300w"] = found[_fitting(documents, data.words, BUDGET)] / len(gold)
    return made


def evaluate(data: Dataset, run: Run, level: Level = "turn") -> dict[str, dict[str, float]]:
    """Score a run, over all questions that count, those of little overlap, and by category.

    Args:
        data: The data set.
        run: Rankings by question id; a question without one scores 0.
        level: As in ``score``.

    Returns:
        Means by ``ALL``, ``LOW`` (when the data lists such questions) and category (when there are
        two or more): the metrics, ``n``, and the sum of ``leaks``.
    """
    every = {
        question.id: scores
        for question in data.questions
        if (scores := score(question, run.get(question.id, ()), data, level))
    }
    return {name: _means(some) for name, some in by_group(data, every).items()}


def by_group(
    data: Dataset, scores: Mapping[str, dict[str, float]]
) -> dict[str, list[dict[str, float]]]:
    """Group the scores of questions, without adversarial ones.

    Args:
        data: The data set.
        scores: By question id.

    Returns:
        By ``ALL``, ``LOW`` (when the data lists such questions) and category (when there are two).
    """
    groups: dict[str, list[dict[str, float]]] = defaultdict(list)
    kinds: dict[str, list[dict[str, float]]] = defaultdict(list)
    for question in data.questions:
        if question.id in scores and question.category != ADVERSARIAL:
            groups[ALL].append(scores[question.id])
            kinds[question.category].append(scores[question.id])
            if question.id in data.low_overlap:
                groups[LOW].append(scores[question.id])
    if len(kinds) > 1:
        groups |= dict(sorted(kinds.items()))
    return {name: groups[name] for name in sorted(groups, key=lambda name: name != ALL)}


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


def _gain(found: Sequence[int], gold: int) -> float:
    """Weigh what each rank adds, against gold turns alone from rank 1."""
    ranks = range(1, min(DEPTH, len(found) - 1) + 1)
    gain = sum((found[rank] - found[rank - 1]) / math.log2(rank + 1) for rank in ranks)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(gold, DEPTH) + 1))
    return min(1.0, gain / ideal)


def _means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    means = {name: sum(s[name] for s in scores) / len(scores) for name in METRICS}
    return {**means, "n": len(scores), "leaks": sum(s["leaks"] for s in scores)}


# -------------------------------------------------------------------- what is offered


class Block(Struct, frozen=True):
    """The turns of each memory in a question's block, best first, and the block's tokens."""

    memories: tuple[tuple[str, ...], ...]
    tokens: int


class Offered:
    """The blocks of questions, by question id."""

    def __init__(self) -> None:
        self.blocks: dict[str, Block] = {}
        self._origins = Origins()

    def ask(self, engine: MemoryEngine, question: Question, scope: str, at: datetime) -> None:
        """Ask a question as a turn does, without a deadline, and keep its block."""
        query = Query(
            text=question.text, scope=scope, now=at, dialogue=dialogue_of(question, at), local=True
        )
        packed = engine.blocks.pack(engine.retrieval.answer(query), at)
        turns = (tuple(self._origins.of(engine, hit.memory.sources)) for hit in packed.hits)
        self.blocks[question.id] = Block(tuple(turns), packed.tokens)


def evaluate_blocks(
    data: Dataset, blocks: Mapping[str, Block], level: Level = "turn"
) -> dict[str, dict[str, float]]:
    """Score blocks by group of questions.

    Returns:
        The measures and ``n`` by ``ALL``, ``LOW`` and category, as in benchmarks.scoring.
    """
    every = {
        question.id: _score_block(data, blocks[question.id], gold, level)
        for question in data.questions
        if (gold := question.evidence if level == "turn" else question.sessions)
        and question.id in blocks
    }
    return {name: _block_means(some) for name, some in by_group(data, every).items()}


def _score_block(
    data: Dataset, block: Block, gold: frozenset[str], level: Level
) -> dict[str, float]:
    named = [
        turns if level == "turn" else tuple(data.session_of[turn] for turn in turns)
        for turns in block.memories
    ]
    right = [bool(gold.intersection(names)) for names in named]
    covered = gold & frozenset[str]().union(*named)
    return {
        "gold": float(sum(right)),
        "offered": float(len(right)),
        "beside": float(len(right) - sum(right)),
        "recall": len(covered) / len(gold),
        "hit": float(bool(covered)),
        "empty": float(not right),
        "tokens": float(block.tokens),
    }


def _block_means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    means = {name: sum(s[name] for s in scores) / len(scores) for name in scores[0]}
    precision = means.pop("gold") / means["offered"] if means["offered"] else 0.0
    return {"precision": precision, **means, "n": len(scores)}
