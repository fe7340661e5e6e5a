import importlib.util
import random
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

from benchmarks import common, datasets, quality, scoring
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import HashEmbedder
from tests.benchmarks import made_up

SHARED = Path(__file__).parents[3] / "shared"
REFEREE = SHARED / "eval" / "evaluate.py"
PAIRS = {"R@5": "R@5", "R@10": "R@10", "MRR": "MRR", "R@300w": "R@300w"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made_up.write(tmp_path / "made-up")


def answer(data: datasets.Dataset, path: Path, *, vectors: bool = True) -> dict[str, list[str]]:
    embedder = HashEmbedder() if vectors else None
    config = common.configuration(path / "store", embedding={"kind": "none"})
    engine = MemoryEngine(config, embedder=embedder)
    try:
        return quality.answer_all(engine, data, embedder)[0]
    finally:
        engine.close()


@pytest.mark.parametrize("vectors", [True, False])
def test_questions_are_answered_by_the_turns_that_were_told(folder, tmp_path, vectors):
    data = datasets.load(folder)
    run = answer(data, tmp_path, vectors=vectors)
    assert set(run["q0"][:2]) == {"c/S1:0", "c/S1:1"}
    assert "c/S3:0" in run["q1"]
    scores = scoring.evaluate(data, run)
    assert scores["all"]["n"] == 3 and scores["all"]["R@10"] == 1.0
    assert set(scores) == {"all", "pet", "thing"}


def test_what_is_said_later_is_not_found(folder, tmp_path):
    run = answer(datasets.load(folder), tmp_path)
    assert run["q2"] and not any(turn.startswith("c/S3") for turn in run["q2"])


def test_the_later_answer_would_be_found_if_it_could_be_seen(folder, tmp_path):
    data = datasets.load(folder)
    at_the_end = [replace(question, before="") for question in data.questions]
    run = answer(replace(data, questions=at_the_end), tmp_path)
    assert "c/S3:0" in run["q2"]


def test_a_leak_is_taken_out_and_counted(folder):
    data = datasets.load(folder)
    scores = scoring.evaluate(data, {"q2": ["c/S3:0", "c/S2:0+c/S3:0", "c/S2:1"]})
    assert scores["all"]["leaks"] == 2
    assert scores["thing"]["MRR"] == pytest.approx(1 / 2)  # of two questions, one answered at 1


def test_a_run_is_written_as_trec(folder, tmp_path):
    scoring.write_run(tmp_path / "run.trec", {"q0": ["a+b", "c"]}, "mine")
    lines = (tmp_path / "run.trec").read_text().splitlines()
    assert lines == ["q0 Q0 a+b 1 1.000000 mine", "q0 Q0 c 2 0.500000 mine"]


def test_a_folder_of_another_kind_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="conversations"):
        datasets.load(tmp_path)


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


@pytest.mark.parametrize("name", ["made-up", "LoCoMo", "RealMem", "MADialEN"])
def test_the_metrics_are_those_of_the_referee(folder, name):
    judge = referee()
    path = folder if name == "made-up" else SHARED / "data" / name
    if not path.is_dir():
        pytest.skip(f"{name} lies in ../shared/data, and is not here")
    data, theirs = datasets.load(path), judge.Data(str(path))
    asked = [q for q in theirs.questions if q["category"] != "adversarial"]
    for seed in range(3):
        run = random_run(data, seed)
        expected = judge.evaluate(run, theirs, asked)
        ours = scoring.evaluate(data, run)["all"]
        assert ours["n"] == len(expected)
        assert ours["leaks"] == sum(m["_leaks"] for m in expected.values())
        means = judge.mean(expected)
        for mine, other in PAIRS.items():
            assert ours[mine] == pytest.approx(means[other], abs=1e-9)
