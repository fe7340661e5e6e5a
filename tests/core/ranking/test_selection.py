import pytest

from slowcat_memory.core.ranking.offering import AnswerEvidence, any_answers, least_share

GOOD = AnswerEvidence(coverage=0.7, max_similarity=0.8, unseen_names=0.0, memories=500)
BAD = AnswerEvidence(coverage=0.1, max_similarity=0.3, unseen_names=1.0, memories=500)
LIMITS = {"floor": 0.1, "unknown_below": 0.15}


def test_a_question_is_offered_an_answer_whatever_its_probability_and_nothing_without_one() -> None:
    for likeliest in (0.0, 0.9):
        asks = {"asks": True, "asks_for_memory": True}
        assert any_answers(GOOD, likeliest, **asks, **LIMITS)
        assert not any_answers(BAD, likeliest, **asks, **LIMITS)


@pytest.mark.parametrize(("likeliest", "offers"), [(0.05, False), (0.2, True)])
def test_the_floor_decides_where_nothing_is_asked_or_the_index_was_not_read(
    likeliest: float, offers: bool
) -> None:
    told = {"asks": False, "asks_for_memory": False}
    assert any_answers(GOOD, likeliest, **told, **LIMITS) == offers
    asks = {"asks": True, "asks_for_memory": True}
    assert any_answers(None, likeliest, **asks, **LIMITS) == offers
    never = {"floor": 0.1, "unknown_below": 0.0}
    assert any_answers(BAD, likeliest, **asks, **never) == offers


def test_a_question_of_the_world_is_offered_what_answers_or_reaches_the_floor() -> None:
    world = {"asks": True, "asks_for_memory": False}
    assert any_answers(GOOD, 0.0, **world, **LIMITS) and any_answers(BAD, 0.2, **world, **LIMITS)
    assert not any_answers(BAD, 0.05, **world, **LIMITS)


def test_each_further_memory_must_come_nearer() -> None:
    shares = [least_share(0.8, better) for better in range(1, 9)]
    assert shares[0] == 0.8 and shares == sorted(shares) and shares[-1] == 1.0
    assert least_share(0.0, 5) == 0.0
