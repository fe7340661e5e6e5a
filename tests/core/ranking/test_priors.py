import pytest

from slowcat_memory.core.ranking.score import RankOptions
from tests.support.ranked import DAY, NOW, ranked


def test_priors_an_ordinary_old_memory_keeps_its_score() -> None:
    assert ranked(scores=[0.7], at=[-1e12]) == [pytest.approx(0.7)]


def test_priors_importance_adds_and_takes_away() -> None:
    low, plain, high = ranked(importance=[0.0, 0.5, 1.0])
    assert plain - low == pytest.approx(0.1) == high - plain


def test_priors_keys_say_whose_words_and_when_themselves() -> None:
    facts: dict[str, list] = {"named": [True, False], "when": [1.0, 0.0]}
    (plain, none), (less, same) = ranked(**facts), ranked(keyed=True, **facts)
    assert less - same == pytest.approx(0.6 * (plain - none))
    assert ranked(keyed=True, pinned=[True]) == [pytest.approx(ranked(pinned=[True])[0])]


def test_priors_a_pin_adds() -> None:
    plain, pinned = ranked(pinned=[False, True])
    assert pinned - plain == pytest.approx(0.2)


def test_priors_recency_halves_by_its_half_life() -> None:
    options = RankOptions(recency=0.2, half_life_days=30)
    at = [NOW, NOW - 30 * DAY, NOW - 60 * DAY, NOW + DAY]
    fresh, month, two, future = ranked(options, at=at)
    assert [fresh, month, two] == pytest.approx([0.7, 0.6, 0.55])
    assert future == fresh


def test_priors_recency_can_be_switched_off() -> None:
    for options in (RankOptions(half_life_days=0), RankOptions(recency=0)):
        assert ranked(options, at=[NOW, 0.0]) == pytest.approx([0.5, 0.5])


def test_priors_the_words_of_whom_the_query_names_gain() -> None:
    other, own = ranked(RankOptions(named=0.3), named=[False, True])
    assert own - other == pytest.approx(0.3)
    assert len(set(ranked(RankOptions(named=0.0), named=[False, True]))) == 1


def test_priors_what_lies_near_the_time_that_is_asked_about_gains_as_much_as_it_is_near() -> None:
    far, near, there = ranked(RankOptions(when=0.4), when=[0.0, 0.5, 1.0])
    assert [near - far, there - far] == pytest.approx([0.2, 0.4])
    assert len(set(ranked(RankOptions(when=0.0), when=[0.0, 1.0]))) == 1
