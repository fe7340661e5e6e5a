"""Names in German, where every noun has a capital."""

from slowcat_memory.core.text.capitalised import names
from tests.support.rows import each_row, listed


@each_row(("text", "expected"), listed("text/german_names"))
def test_names_of_german_texts(text: str, expected: str) -> None:
    assert list(names(text)) == expected.split()
