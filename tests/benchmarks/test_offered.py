from pathlib import Path

import pytest

from benchmarks import common, datasets, offered, quality
from benchmarks.offered import Block
from slowcat_memory.engine import MemoryEngine
from tests.support import tiny_dataset as made_up


@pytest.fixture
def data(tmp_path: Path) -> datasets.Dataset:
    return datasets.load(made_up.write(tmp_path / "made-up"))


def blocks_of(data: datasets.Dataset, gold: int, others: int) -> dict[str, Block]:
    wrong = ("x/S9:9",)
    return {
        q.id: Block((*((turn,) for turn in sorted(q.evidence)[:gold]), *[wrong] * others), 40)
        for q in data.questions
    }


def test_offered_precision_counts_the_memories_of_all_blocks(data: datasets.Dataset) -> None:
    got = offered.evaluate(data, blocks_of(data, gold=1, others=3))["all"]
    assert got["precision"] == pytest.approx(0.25)
    assert (got["beside"], got["offered"], got["hit"], got["empty"]) == (3.0, 4.0, 1.0, 0.0)


def test_offered_a_block_is_what_a_turn_would_get(data: datasets.Dataset, tmp_path: Path) -> None:
    config = common.configuration(tmp_path / "store", embedding={"kind": "none"})
    engine, blocks = MemoryEngine(config), offered.Offered()
    try:
        quality.answer_all(engine, data, also=blocks.ask)
    finally:
        engine.close()
    assert set(blocks.blocks) == {question.id for question in data.questions}
    got = offered.evaluate(data, blocks.blocks)["all"]
    assert 0 < got["precision"] <= 1 and got["offered"] <= config.pack.memories
