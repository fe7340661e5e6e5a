"""Which words introduce the speaker."""

from slowcat_memory.core.extraction.bounded_names import introduced
from tests.support.rows import each_row, listed, listed_texts


@each_row(("text", "name"), listed("rules/introductions", "an_introduction_gives_the_name"))
def test_an_introduction_gives_the_name(text: str, name: str) -> None:
    assert introduced(text) == name


@each_row("text", listed_texts("rules/introductions", "nothing_else_introduces_anybody"))
def test_nothing_else_introduces_anybody(text: str) -> None:
    assert introduced(text) == ""
