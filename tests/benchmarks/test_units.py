"""Rankings of turns read as rankings of exchanges."""

from benchmarks import datasets, units
from benchmarks.scoring import score
from tests.support import tiny_dataset as made_up


def test_units_a_hit_stands_for_its_exchange(tmp_path):
    data = datasets.load(made_up.write(tmp_path))
    run = {"q0": ["c/S3:0", "c/S1:1", "c/S1:2", "c/S1:0"]}
    read = units.by_exchange(run, data)["q0"]
    assert read == ["c/S3:0", "c/S1:0+c/S1:1", "c/S1:2"], "the better half's place, each once"
    told = score(data.questions[0], read, data)
    assert told is not None and told["All@5"] == 1.0 and told["MRR"] == 0.5


def test_units_the_words_of_both_halves_count(tmp_path):
    data = datasets.load(made_up.write(tmp_path))
    data.words["c/S1:1"] = 300
    question = data.questions[0]
    turns, whole = ["c/S1:0"], units.by_exchange({"q0": ["c/S1:0"]}, data)["q0"]
    fits = [told["R@300w"] for run in (turns, whole) if (told := score(question, run, data))]
    assert fits == [0.5, 0.0]


def test_units_items_of_a_list_are_no_exchange(tmp_path):
    data = datasets.load(made_up.write(tmp_path))
    data = datasets.replace(data, lists=frozenset({"c/S1"}))
    assert units.exchanges(data)["c/S1:0"] == "c/S1:0"
    assert units.exchanges(data)["c/S2:0"] == "c/S2:0+c/S2:1"
