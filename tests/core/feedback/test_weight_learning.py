"""What is learned is better on what it was not learned from, or it is not taken."""

import numpy as np
import pytest

from slowcat_memory.core.feedback.weight_learning import (
    Ranked,
    WeighOptions,
    agreement,
    descend,
    learn,
    precision,
)

BASE = np.array([0.6, 0.2, 0.2, 0.0])
OPTIONS = WeighOptions(rounds=300)


def queries(n: int, truth: int | None, noise: float = 0.25) -> list[Ranked]:
    """Queries of twelve candidates, of which the view ``truth`` knows the good ones; None: nobody."""
    chance = np.random.default_rng(1)
    made = []
    for _ in range(n):
        views = chance.random((12, 4))
        views[:, 3] = 0.0
        good = chance.random(12) < 0.2
        good[:2] = (True, False)
        if truth is not None:
            views[:, truth] = np.clip(good + chance.normal(0, noise, 12), 0, 1)
        made.append(Ranked(views, views @ BASE, good))
    return made


def test_weights_move_to_the_view_that_knows() -> None:
    found = learn(queries(120, truth=1), BASE, OPTIONS)
    assert found is not None and found.adopted and found.low > 0
    assert found.after > found.before + 0.05
    assert found.weights[1] > BASE[1] and found.weights[0] < BASE[0]


def test_weights_that_are_right_stay() -> None:
    found = learn(queries(120, truth=0, noise=0.05), BASE, OPTIONS)
    assert found is not None and not found.adopted


def test_judgements_at_random_are_not_learned_from() -> None:
    found = learn(queries(300, truth=None), BASE, OPTIONS)
    assert found is not None and not found.adopted


def test_too_few_queries_teach_nothing() -> None:
    assert learn(queries(40, truth=1), BASE, OPTIONS) is None
    same = [Ranked(q.views, q.scores, np.ones(12, bool)) for q in queries(200, truth=1)]
    assert learn(same, BASE, OPTIONS) is None  # nothing was told apart


def test_weights_stay_within_their_bounds_and_their_sum() -> None:
    change = descend(queries(100, truth=1), BASE, WeighOptions(bound=1.5, ridge=0.0))
    weights = BASE + change
    assert weights.sum() == pytest.approx(BASE.sum(), abs=1e-3) and weights[3] == 0
    assert (weights <= BASE * 1.5 + 1e-9).all() and (weights >= BASE / 1.5 - 1e-9).all()


def test_precision_is_that_of_the_order() -> None:
    one = Ranked(np.eye(3, 4), np.array([0.9, 0.5, 0.1]), np.array([False, True, True]))
    assert precision(one, BASE, BASE) == pytest.approx((1 / 2 + 2 / 3) / 2)
    other = np.array([0.0, 1.0, 0.0, 0.0])  # takes 0.6 from the first, gives 0.8 to the second
    assert precision(one, BASE, other) == pytest.approx((1 + 2 / 3) / 2)


def test_a_judge_at_random_agrees_by_chance() -> None:
    told, low = agreement(queries(200, truth=0))
    assert low > 0.6 and told > low
    by_chance, low = agreement(queries(200, truth=None))
    assert by_chance == pytest.approx(0.5, abs=0.06) and low < 0.5
    assert agreement([]) == (0.5, 0.0)
