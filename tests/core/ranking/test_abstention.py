from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.query.asked_facts import names_in
from slowcat_memory.core.ranking.offering import AnswerEvidence, answer_probability
from tests.support.rows import each_row, listed

NAN = float("nan")
GOOD = AnswerEvidence(coverage=0.7, max_similarity=0.8, unseen_names=0.0, memories=500)
BAD = AnswerEvidence(coverage=0.1, max_similarity=0.45, unseen_names=1.0, memories=500)
share = st.floats(0, 1)
signs = st.builds(
    AnswerEvidence,
    coverage=share,
    max_similarity=share | st.just(NAN),
    unseen_names=share,
    memories=st.integers(0, 10**6),
)


@given(signs)
def test_answer_probability_is_between_0_and_1(some: AnswerEvidence) -> None:
    assert 0.0 <= answer_probability(some) <= 1.0


def test_answer_probability_separates_near_from_unseen() -> None:
    assert answer_probability(GOOD) > 0.8 > 0.2 > answer_probability(BAD)
    by_words = [replace(some, max_similarity=NAN) for some in (GOOD, BAD)]
    assert answer_probability(by_words[0]) > 0.7 > 0.3 > answer_probability(by_words[1])


@given(signs, share)
def test_answer_probability_falls_with_unseen_names(some: AnswerEvidence, more: float) -> None:
    low, high = sorted((some.unseen_names, more))
    assert answer_probability(replace(some, unseen_names=high)) <= answer_probability(
        replace(some, unseen_names=low)
    )


@given(signs, share)
def test_answer_probability_rises_with_similarity(some: AnswerEvidence, more: float) -> None:
    low, high = sorted((some.coverage, more))
    nearer = replace(some, coverage=high, max_similarity=max(some.max_similarity, high))
    assert answer_probability(replace(some, coverage=low)) <= answer_probability(nearer)


@each_row(("language", "text", "names"), listed("rules/abstention", "names"))
def test_names_in_a_question_are_told_from_nouns_and_ordinary_words(language, text, names) -> None:
    assert names_in(text, language) == names.split()


@given(st.text(max_size=300))
def test_names_in_takes_any_text(text: str) -> None:
    assert all(name in text for name in names_in(text))


def test_answer_probability_the_nearest_of_few_memories_says_more() -> None:
    few, many = replace(BAD, memories=15), replace(BAD, memories=5000)
    assert answer_probability(few) > answer_probability(many)
    assert answer_probability(replace(GOOD, memories=0)) == 0.0
