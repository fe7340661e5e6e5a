"""What a user asks the name of."""

from slowcat_memory.core.query.asked_facts import named_thing
from tests.support.rows import each_row, listed


@each_row(("query", "language", "thing"), listed("rules/asked_names", "what_is_asked_the_name_of"))
def test_what_is_asked_the_name_of(query: str, language: str, thing: str) -> None:
    assert (named_thing(query, language) or [""])[0] == thing
