import importlib.util
import json
import random
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

from benchmarks import common, datasets, quality, scoring
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import HashEmbedder
from tests.support import tiny_dataset as made_up

SHARED = Path(__file__).parents[3] / "shared"
REFEREE = SHARED / "eval" / "evaluate.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made_up.write(tmp_path / "made-up")


def answer(data: datasets.Dataset, path: Path, *, vectors: bool = True) -> dict[str, list[str]]:
    embedder = HashEmbedder() if vectors else None
    config = common.configuration(path / "store", embedding={"kind": "none"})
    engine = MemoryEngine(config, embedder=embedder)
    try:
        return quality.answer_all(engine, data)[0]
    finally:
        engine.close()


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


def test_quality_the_later_answer_would_be_found_if_it_could_be_seen(folder, tmp_path):
    data = datasets.load(folder)
    at_the_end = [replace(question, before="") for question in data.questions]
    run = answer(replace(data, questions=at_the_end), tmp_path)
    assert "c/S3:0" in run["q2"]


def test_quality_a_leak_is_taken_out_and_counted(folder):
    data = datasets.load(folder)
    scores = scoring.evaluate(data, {"q2": ["c/S3:0", "c/S2:0+c/S3:0", "c/S2:1"]})
    assert scores["all"]["leaks"] == 2
    assert scores["thing"]["MRR"] == pytest.approx(1 / 2)  # of two questions, one answered at 1


def test_quality_sessions_are_ranked_by_their_best_turn(folder):
    data = datasets.load(folder)
    run = {"q0": ["c/S2:0", "c/S2:1", "c/S1:2", "c/S1:0"], "q1": ["c/S3:0"]}
    scores = scoring.evaluate(data, run, "session")
    assert scores["pet"]["MRR"] == pytest.approx(1 / 2)  # the second session, not the fourth turn
    assert scores["thing"]["Hit@5"] == pytest.approx(1 / 2)


def test_quality_the_low_overlap_list_may_be_empty_and_one_category_says_nothing(folder):
    (folder / "low_overlap.txt").unlink()
    data = datasets.load(folder)
    pets = replace(data, questions=[q for q in data.questions if q.category == "pet"])
    assert list(scoring.evaluate(pets, {})) == ["all"]


def test_quality_a_search_may_be_given(folder, tmp_path):
    asked = []

    def search(engine, question, scope, k, now):
        asked.append((question.id, scope, k, now is not None))
        return engine.search("canoe", scope, 1, now=now)

    data = datasets.load(folder)
    engine = MemoryEngine(common.configuration(tmp_path / "store", embedding={"kind": "none"}))
    try:
        run, _ = quality.answer_all(engine, data, k=7, search=search)
    finally:
        engine.close()
    assert ("q2", "c", 7, True) in asked and len(asked) == len(data.questions)
    assert all(len(documents) <= 1 for documents in run.values())


def test_quality_items_of_a_list_are_no_talk(tmp_path):
    data = datasets.load(made_up.write_list(tmp_path / "list"))
    assert data.lists == {"l/S1"} and quality.levels_of(data, ["turn", "session"]) == ["turn"]
    run = answer(data, tmp_path, vectors=False)
    assert run == {"q": []}  # by words alone: no item has any, and none has a neighbour's


def test_quality_the_dialogue_before_a_question_is_known(tmp_path):
    question = datasets.load(made_up.write_list(tmp_path)).questions[0]
    assert question.context == ("Ada: What a winter.", "Assistant: Indeed.")


def test_quality_the_dialogue_before_a_question_comes_from_its_session_too(folder):
    rows = datasets.lines(folder / "questions.jsonl.gz")
    rows[2]["asked_turn_id"] = "c/S2:1"
    (folder / "questions.jsonl.gz").unlink()
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    questions = datasets.load(folder).questions
    assert questions[2].context == (
        "Ada: I bought a blue canoe at the flea market for ninety euros.",
    )
    assert questions[0].context == ()


def test_quality_data_folders_are_found_in_their_parent(tmp_path):
    one, two = made_up.write(tmp_path / "a"), made_up.write_list(tmp_path / "b")
    (tmp_path / "empty").mkdir()
    assert datasets.find([tmp_path]) == [one, two]
    assert datasets.find([two, one]) == [two, one]
    with pytest.raises(FileNotFoundError, match="empty"):
        datasets.find([tmp_path / "empty"])


def test_quality_a_folder_of_another_kind_is_refused(tmp_path):
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
