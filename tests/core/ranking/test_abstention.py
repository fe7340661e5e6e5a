import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from slowcat_memory.core.query.asked_facts import names_in
from slowcat_memory.core.ranking.offering import AnswerEvidence, answer_probability
from tests.support.rows import each_row

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


def test_answer_probability_of_an_empty_memory_is_0() -> None:
    assert answer_probability(replace(GOOD, memories=0)) == 0.0


@given(signs, share)
def test_answer_probability_rises_with_similarity(some: AnswerEvidence, more: float) -> None:
    low, high = sorted((some.coverage, more))
    nearer = replace(some, coverage=high, max_similarity=max(some.max_similarity, high))
    assert answer_probability(replace(some, coverage=low)) <= answer_probability(nearer)


@each_row(
    ("text", "names"),
    [
        ("When did Caroline move to Lisbon?", ["Caroline", "Lisbon"]),
        ("Caroline's dog", ["Caroline"]),
        ("What is Tom's job?", ["Tom"]),
        ("Where do I live? Remember?", []),
        ("what does ada like", ["ada"]),
        ("WHERE DOES ADA LIVE", ["ADA"]),
        ("I'm fine. Thanks", []),
        ("was Mary-Jane there", ["Mary-Jane"]),
        ("was Österreicher there", ["Österreicher"]),
        ("", []),
    ],
)
def test_names_in_finds_capitalised_words_and_possessives(text: str, names: list[str]) -> None:
    assert names_in(text) == names


@given(st.text(max_size=300))
def test_names_in_takes_any_text(text: str) -> None:
    assert all(name in text for name in names_in(text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Was hat Olga gegessen?", ["Olga"]),
        ("Wann ist die Zwischenprüfung?", []),
        ("Hat die Kunigunt angerufen?", ["Kunigunt"]),
        ("Welche Diagnose habe ich?", []),
        ("Wie heißt mein Hund?", []),
        ("was mag olga", ["olga"]),
    ],
)
def test_names_in_german_nouns_are_no_names(text: str, names: list[str]) -> None:
    assert names_in(text, "german") == names


def test_answer_probability_the_nearest_of_few_memories_says_more() -> None:
    few, many = replace(BAD, memories=15), replace(BAD, memories=5000)
    assert answer_probability(few) > answer_probability(many)
    assert answer_probability(replace(GOOD, memories=0)) == 0.0


@pytest.mark.parametrize(
    ("text", "language", "names"),
    [
        ("what did brunhilde say about the fence", "english", ["brunhilde"]),
        ("when does the new dishwasher arrive", "english", []),
        ("where does zendelia live", "english", ["zendelia"]),
        ("what insect frightens me", "english", []),
        ("what should nobody bring", "english", []),
        ("was hat olga gesagt", "german", ["olga"]),
        ("wann kommt der fliesenleger", "german", []),
    ],
)
def test_names_in_lower_case_are_told_from_ordinary_words(
    text: str, language: str, names: list[str]
) -> None:
    assert names_in(text, language) == names
