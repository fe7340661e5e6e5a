import importlib.util
import json
import random
import re
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import common, datasets, quality, scoring
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.providers import ThinkingOptions
from slowcat_memory.testing import HashEmbedder
from tests.support import tiny_dataset as made_up
from tests.support.scripted_server import serving

SHARED = Path(__file__).parents[3] / "shared"


REFEREE = SHARED / "eval" / "evaluate.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made_up.write(tmp_path / "made-up")


def answer(data: datasets.Dataset, path: Path, *, vectors: bool = True) -> dict[str, list[str]]:
    embedder = HashEmbedder() if vectors else None
    config = common.configuration(path / "store", embedding={"kind": "none"})
    with closing(MemoryEngine(config, embedder=embedder)) as engine:
        return quality.answer_all(engine, data)[0]


@pytest.mark.parametrize("vectors", [True, False])
def test_quality_questions_are_answered_by_the_turns_that_were_told(folder, tmp_path, vectors):
    data = datasets.load(folder)
    run = answer(data, tmp_path, vectors=vectors)
    assert set(run["q0"][:2]) == {"c/S1:0", "c/S1:1"}
    assert "c/S3:0" in run["q1"]
    scores = scoring.evaluate(data, run)
    assert scores["all"]["n"] == 3 and scores["all"]["R@10"] == 1.0
    assert list(scores) == ["all", "low overlap", "pet", "thing"]
    assert scores["low overlap"]["n"] == 1


def test_quality_what_is_said_later_is_not_found(folder, tmp_path):
    run = answer(datasets.load(folder), tmp_path)
    assert run["q2"] and not any(turn.startswith("c/S3") for turn in run["q2"])


def test_quality_a_leak_is_taken_out_and_counted(folder):
    data = datasets.load(folder)
    scores = scoring.evaluate(data, {"q2": ["c/S3:0", "c/S2:0+c/S3:0", "c/S2:1"]})
    assert scores["all"]["leaks"] == 2
    assert scores["thing"]["MRR"] == pytest.approx(1 / 2)  # of two questions, one answered at 1


def referee() -> ModuleType:
    if not REFEREE.is_file():
        pytest.skip("the referee lies in ../shared/eval, and is not here")
    spec = importlib.util.spec_from_file_location("evaluate", REFEREE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_run(data: datasets.Dataset, seed: int) -> dict[str, list[str]]:
    """Rankings of turns and of chunks, in which the gold comes up here and there."""
    chance = random.Random(seed)
    turns = {}
    for turn in data.words:
        turns.setdefault(turn.split("/")[0], []).append(turn)
    run = {}
    for question in data.questions:
        own = turns[next(iter(question.evidence), question.conversation).split("/")[0]]
        mixed = chance.sample(own, min(40, len(own))) + sorted(question.evidence)
        chance.shuffle(mixed)
        chunks = [mixed[n : n + chance.choice((1, 1, 2, 3))] for n in range(0, len(mixed), 3)]
        run[question.id] = ["+".join(chunk) for chunk in chunks]
    return run


@pytest.mark.parametrize("level", ["turn", "session"])
@pytest.mark.parametrize("name", ["made-up", "LoCoMo", "RealMem", "MADialEN"])
def test_quality_the_metrics_are_those_of_the_referee(folder, name, level):
    judge = referee()
    path = folder if name == "made-up" else SHARED / "data" / name
    if not path.is_dir():
        pytest.skip(f"{name} lies in ../shared/data, and is not here")
    data, theirs = datasets.load(path), judge.Data(str(path))
    asked = [q for q in theirs.questions if q["category"] != "adversarial"]
    for seed in range(2):
        run = random_run(data, seed)
        expected = judge.evaluate(run, theirs, asked, level=level)
        groups = scoring.evaluate(data, run, level)
        assert groups["all"]["leaks"] == sum(m["_leaks"] for m in expected.values())
        for group, ours in groups.items():
            ids = [q["question_id"] for q in asked if belongs(q, group, data)]
            means = judge.mean(expected, ids)
            assert ours["n"] == sum(id_ in expected for id_ in ids)
            for metric in scoring.METRICS:
                assert ours[metric] == pytest.approx(means[metric], abs=1e-9), metric


def belongs(question: dict, group: str, data: datasets.Dataset) -> bool:
    if group == "low overlap":
        return question["question_id"] in data.low_overlap
    return group in ("all", question["category"])


def test_quality_a_recorded_run_is_repeated_without_its_server(folder, tmp_path):
    data, file = datasets.load(folder), tmp_path / "answers.jsonl"

    def reply(body):
        asked = re.search(r"about the turns ([\d, ]+)", body["messages"][1]["content"])[1]
        turns = [{"turn": int(n), "context": "Ada talks of her tortoise Hugo.", "questions": [],
                  "notes": []} for n in asked.split(",")]  # fmt: skip
        return json.dumps({"turns": turns})

    def thought(options, **how):
        with common.scratch() as store, common.thinking(options, **how) as llm:
            config = common.configuration(store, embedding={"kind": "none"})
            with quality.opened(config, llm) as engine:
                run, _ = quality.answer_all(engine, data, thinks=True)
                return run, quality._thought(engine)["contexts"]

    with serving(reply) as server:
        first = thought(ThinkingOptions(url=server.url), record=file)
    assert first[1] and thought(ThinkingOptions(), replay=file) == first
