"""Which texts speak of what is to be forgotten."""

from slowcat_memory.core.commands.mentions import mentions
from slowcat_memory.core.text.normalize import Tokenizer
from tests.support.rows import each_row, listed

ENGLISH = Tokenizer("english")


@each_row(("about", "text", "expected"), listed("commands/mentions"))
def test_mentions(about: str, text: str, expected: str) -> None:
    assert mentions(about, ENGLISH)(text) is (expected == "yes")
