from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.query.asked_facts import names_in
from slowcat_memory.core.ranking.offering import AnswerEvidence, answer_probability
from tests.support.rows import each_row, listed

GOOD = AnswerEvidence(coverage=0.7, max_similarity=0.8, unseen_names=0.0, memories=500)
BAD = AnswerEvidence(coverage=0.1, max_similarity=0.45, unseen_names=1.0, memories=500)


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
