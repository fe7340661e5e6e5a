"""Precision of what is offered: how many of the memories in a block are gold by the set's own labels.

A ranking's recall does not show what is put before the LLM beside the answer. Each question is asked
once more as a turn asks it (gate, floor, share of the best, "nothing is remembered", packing), and the
memories of its block are compared with the set's gold.

- ``precision``: gold memories / memories, over all blocks together;
- ``recall``: share of a question's gold in its block, mean over the questions; ``hit``: any of it;
- ``offered``, ``beside``: memories a question, and those of them that are not gold;
- ``empty``: share of the questions with a block without memories; ``tokens``: mean size of a block.

At session level a memory is gold if it is from a gold session. Questions without gold and adversarial
ones are left out, as in benchmarks.scoring.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from benchmarks.datasets import Dataset, Question
from benchmarks.scoring import Level, by_group
from benchmarks.telling import Origins, dialogue_of
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import Query


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
        packed = engine.pack(engine.wiring.retrieval.answer(query), at)
        turns = (tuple(self._origins.of(engine, hit.memory.sources)) for hit in packed.hits)
        self.blocks[question.id] = Block(tuple(turns), packed.tokens)


def evaluate(
    data: Dataset, blocks: Mapping[str, Block], level: Level = "turn"
) -> dict[str, dict[str, float]]:
    """Score blocks by group of questions.

    Returns:
        The measures and ``n`` by ``ALL``, ``LOW`` and category, as in benchmarks.scoring.
    """
    every = {
        question.id: _score(data, blocks[question.id], gold, level)
        for question in data.questions
        if (gold := question.evidence if level == "turn" else question.sessions)
        and question.id in blocks
    }
    return {name: _means(some) for name, some in by_group(data, every).items()}


def _score(data: Dataset, block: Block, gold: frozenset[str], level: Level) -> dict[str, float]:
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


def _means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    means = {name: sum(s[name] for s in scores) / len(scores) for name in scores[0]}
    precision = means.pop("gold") / means["offered"] if means["offered"] else 0.0
    return {"precision": precision, **means, "n": len(scores)}
