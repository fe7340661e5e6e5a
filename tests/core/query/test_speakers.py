from slowcat_memory.core.language.english.vocabulary import COMMON_NAMES, ROLES
from slowcat_memory.core.query.understand import speakers_named
from tests.support.rows import each_row, listed

MANY = ("Will", "May Berg", "Rose", "Mary Ann", "José", "小林", "O'Neill", "User", "Speaker 1")


@each_row(("text", "speakers"), listed("rules/speakers", "named"))
def test_speakers_named_words_are_names_only_where_they_are_written_as_one(text, speakers) -> None:
    assert ", ".join(speakers_named(text, MANY)) == speakers


def test_speakers_the_lists_are_lower_case() -> None:
    assert all(word == word.lower() for word in COMMON_NAMES | ROLES)
