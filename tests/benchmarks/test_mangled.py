"""The mangler, and the benchmark that asks with it."""

import argparse

import pytest

from benchmarks import datasets, mangled, recall_plots, recall_tables
from benchmarks.mangler import mangle
from tests.support import tiny_dataset as made_up

QUESTION = "What did Isaura tell Melanie about her pottery class in Lisbon?"


def test_mangle_it_mangles_names_and_rare_words_and_nothing_else() -> None:
    made = mangle(QUESTION, {"pottery"}, "1")
    assert made == mangle(QUESTION, {"pottery"}, "1") != mangle(QUESTION, {"pottery"}, "2")
    for word in ("Isaura", "Melanie", "pottery", "Lisbon"):
        assert word not in made.replace("?", "").split()
    for word in ("What", "did", "tell", "about", "her", "class", "in"):
        assert word in made.split()


def test_mangle_a_question_without_names_stays_as_it_is() -> None:
    assert mangle("what did you say", (), "1") == "what did you say"


@pytest.mark.parametrize("seed", range(20))
def test_mangle_what_it_makes_still_looks_like_the_name(seed: int) -> None:
    made = mangle("and Caroline", (), str(seed)).removeprefix("and ").replace(" ", "").lower()
    assert made != "caroline" and abs(len(made) - len("caroline")) <= 4


def test_mangled_every_arm_answers_clean_and_mangled_questions(tmp_path) -> None:
    data = datasets.load(made_up.write(tmp_path / "made-up"))
    options = argparse.Namespace(seed="1", no_vectors=True, limit=0, cache=None)
    result = mangled.measure(data, options)
    assert result["n"] == 3 and set(result["arms"]) == set(mangled.ARMS)
    assert all(0 <= arm["mangled"] <= arm["clean"] <= 1 for arm in result["arms"].values())
    assert "sounds" in recall_tables.mangled([{"results": [result]}])
    recall_plots.mangled([result], tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000
