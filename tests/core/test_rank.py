import numpy as np
import pytest

from slowcat_memory.core.rank import RankOptions, apply_priors

DAY = 86_400.0
NOW = 1000 * DAY


def ranked(options: RankOptions = RankOptions(), **facts: list) -> list[float]:
    size = max(len(values) for values in facts.values())
    given = {
        "scores": [0.5] * size,
        "at": [0.0] * size,
        "importance": [0.5] * size,
        "pinned": [False] * size,
        "agent": [False] * size,
        **facts,
    }
    scores = np.array(given.pop("scores"))
    columns = {name: np.array(values) for name, values in given.items()}
    return apply_priors(scores, **columns, now=NOW, options=options).tolist()


def test_an_ordinary_old_memory_keeps_its_score() -> None:
    assert ranked(scores=[0.7], at=[-1e12]) == [pytest.approx(0.7)]


def test_importance_adds_and_takes_away() -> None:
    low, plain, high = ranked(importance=[0.0, 0.5, 1.0])
    assert plain - low == pytest.approx(0.1) == high - plain


def test_a_pin_adds() -> None:
    plain, pinned = ranked(pinned=[False, True])
    assert pinned - plain == pytest.approx(0.2)


def test_recency_halves_by_its_half_life() -> None:
    fresh, month, two, future = ranked(at=[NOW, NOW - 30 * DAY, NOW - 60 * DAY, NOW + DAY])
    assert [fresh, month, two] == pytest.approx([0.55, 0.525, 0.5125])
    assert future == fresh


def test_recency_can_be_switched_off() -> None:
    for options in (RankOptions(half_life_days=0), RankOptions(recency=0)):
        assert ranked(options, at=[NOW, 0.0]) == pytest.approx([0.5, 0.5])


def test_what_people_said_comes_before_the_agents_words() -> None:
    person, agent = ranked(agent=[False, True])
    assert agent == pytest.approx(0.9 * 0.5) and person > agent


def test_no_candidates_no_scores() -> None:
    assert ranked(scores=[], at=[]) == []
