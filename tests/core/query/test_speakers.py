import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.language.english.vocabulary import COMMON_NAMES, ROLES
from slowcat_memory.core.query.understand import speakers_named, without_names
from tests.support.rows import each_row, listed

TWO = ("Caroline", "James")
MANY = ("Will", "May Berg", "Rose", "Mary Ann", "José", "小林", "O'Neill", "User", "Speaker 1")


@each_row(("text", "made"), listed("rules/speakers", "speakers_names_become_pronouns"))
def test_speakers_names_become_pronouns(text: str, made: str) -> None:
    assert without_names(text, TWO) == made


@each_row(("text", "speakers"), listed("rules/speakers", "named"))
def test_speakers_named_words_are_names_only_where_they_are_written_as_one(text, speakers) -> None:
    assert ", ".join(speakers_named(text, MANY)) == speakers


def test_speakers_who_share_a_name_are_all_meant() -> None:
    assert speakers_named("did anna call", ["Anna Berg", "Anna Stein"]) == [
        "Anna Berg",
        "Anna Stein",
    ]
    assert speakers_named("did anna stein call", ["Anna Berg", "Anna Stein"]) == ["Anna Stein"]


@pytest.mark.parametrize(
    "text", ["Caroline?", "Who is Caroline?", "caroline's", "What about James"]
)
def test_speakers_a_query_that_is_only_a_name_keeps_it(text: str) -> None:
    assert without_names(text, TWO) == text


def test_without_names_there_is_nothing_to_take_out() -> None:
    for names in ((), ("",), ("  ",), ("User", "Assistant"), ("...",)):
        assert without_names("where is the user", names) == "where is the user"
        assert speakers_named("where is the user", names) == []


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=4))
def test_speakers_named_no_query_is_emptied_and_no_name_breaks_the_pattern(
    text: str, names
) -> None:
    assert bool(without_names(text, names).strip()) == bool(text.strip())
    assert set(speakers_named(text, names)) <= set(names)


@given(st.sampled_from(["Kim Berg", "Zoë", "Bartholomew"]), st.booleans())
def test_speakers_named_a_name_that_is_no_word_is_found_in_any_case(name: str, lower: bool) -> None:
    said = f"did {name} call from the lake"
    said = said.lower() if lower else said
    assert speakers_named(said, [name]) == [name]
    assert without_names(said, [name]) == "did they call from the lake"


def test_speakers_the_lists_are_lower_case() -> None:
    assert all(word == word.lower() for word in COMMON_NAMES | ROLES)
