"""Which texts speak of what is to be forgotten."""

from slowcat_memory.core.commands.mentions import mentions
from slowcat_memory.core.text.normalize import Tokenizer
from tests.support.rows import each_row

ENGLISH = Tokenizer("english")


@each_row(
    ("about", "text", "expected"),
    [
        ("Ben", "I met Ben in the park", True),
        ("ben", "That is Ben's car", True),
        ("Ben", "The bench is broken", False),
        ("my old job", "I hated that old job of mine", True),
        ("my old job", "I have an old house and a job", False),
        ("the surgery", "Two surgeries in one year", True),
        ("aunt Ruth", "Aunt Ruth bakes bread", True),
        ("aunt Ruth", "My aunt said that Ruth bakes", False),
        ("who", "who is there", True),
        ("Łukasz", "łukasz called", True),
    ],
)
def test_mentions(about: str, text: str, expected: bool) -> None:
    assert mentions(about, ENGLISH)(text) is expected


def test_mentions_of_no_words_is_never_true() -> None:
    assert not mentions("…", ENGLISH)("anything at all")
