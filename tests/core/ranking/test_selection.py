from slowcat_memory.core.ranking.offering import AnswerEvidence, any_answers

GOOD = AnswerEvidence(coverage=0.7, max_similarity=0.8, unseen_names=0.0, memories=500)
BAD = AnswerEvidence(coverage=0.1, max_similarity=0.3, unseen_names=1.0, memories=500)
LIMITS = {"floor": 0.1, "unknown_below": 0.15}


def test_a_question_of_the_world_is_offered_what_answers_or_reaches_the_floor() -> None:
    world = {"asks": True, "asks_for_memory": False}
    assert any_answers(GOOD, 0.0, **world, **LIMITS) and any_answers(BAD, 0.2, **world, **LIMITS)
    assert not any_answers(BAD, 0.05, **world, **LIMITS)
