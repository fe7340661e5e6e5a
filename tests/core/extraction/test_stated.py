"""Facts without an LLM: what is taken up, and what is not."""

import pytest

from slowcat_memory.core.extraction.stated import stated
from slowcat_memory.errors import ConfigError


def test_stated_of_an_unknown_language_or_an_odd_text() -> None:
    with pytest.raises(ConfigError, match="french"):
        stated("J'habite à Lyon.", "Anna", "french")
    for odd in ("", "I live in " * 3000, "My name is \ud800", "I am " + "9" * 500, "\0"):
        stated(odd, "Anna")
