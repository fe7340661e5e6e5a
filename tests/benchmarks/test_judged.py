"""The simulation of use finds what is there."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import judged
from benchmarks.datasets import Dataset, Question
from slowcat_memory.config import Config, build
from slowcat_memory.core.ranking.fusion import fuse

PLACES = 40  # documents of the conversation, one of them gold for each question


@pytest.fixture(scope="module")
def use() -> tuple[Dataset, SimpleNamespace]:
    """Two conversations of 120 questions, whose gold stands anywhere among the first twenty."""
    chance, fusing = np.random.default_rng(2), build({}).fuse
    questions, plain, reworded = [], {}, {}
    documents = {c: [f"{c}{n}" for n in range(PLACES)] for c in "ab"}
    for n in range(240):
        chat, gold = "ab"[n % 2], int(chance.integers(PLACES))
        id_ = f"{chat}/q{n}"
        questions.append(
            Question(id=id_, conversation=chat, text="one two three four five six",
                     evidence=frozenset([f"{chat}{gold}"]))
        )  # fmt: skip
        vector = chance.normal(size=64)
        vector /= np.linalg.norm(vector)
        for into in (plain, reworded):
            views = {v: chance.random(PLACES) for v in ("dense", "tokens", "window", "session")}
            for view in views.values():
                view[gold] += 0.3
            scores = fuse(views, fusing)
            order = np.argsort(-scores)
            into[id_] = judged.Seen(
                documents=[documents[chat][k] for k in order], scores=scores[order],
                views={v: x[order] for v, x in views.items()},
                pinned=np.zeros(PLACES, bool), vector=vector,
            )  # fmt: skip
    data = Dataset(
        name="made-up", conversations=Path(), questions=questions,
        words={d: 5 for c in "ab" for d in documents[c]}, rank={"a": 0, "b": 1},
        session_of={d: c for c in "ab" for d in documents[c]}, turns_of=documents,
    )  # fmt: skip
    return data, SimpleNamespace(plain=plain, reworded=reworded)


def simulated(use: tuple[Dataset, SimpleNamespace], noise: float = 0.0) -> dict:
    config: Config = build({})
    return judged.simulate(*use, noise, config)  # type: ignore[arg-type]


def test_judged_gold_judgements_help_the_like_and_leave_others_alone(use) -> None:
    found = simulated(use)
    again = found["groups"]["reworded"]["judged"]
    assert again["low"] > 0.03 and again["n"] == found["used"]
    assert abs(found["groups"]["others"]["judged"]["change"]) < 0.01


def test_judged_simulate_a_judge_at_random_teaches_less_than_gold(use) -> None:
    again = simulated(use)["groups"]["reworded"]
    assert again["random"]["high"] < again["judged"]["low"]


def test_judged_words_are_left_out_always_the_same_ones() -> None:
    one = Question(id="q", conversation="a", text=" ".join(f"w{n}" for n in range(100)))
    assert judged.reworded(one) == judged.reworded(one)
    assert 65 < len(judged.reworded(one).split()) < 95
