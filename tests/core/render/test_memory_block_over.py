"""A memory that is over, in whole or in part, is worded so."""

from datetime import UTC, timedelta

import pytest
from msgspec.structs import replace

from slowcat_memory.core.language import language_of
from slowcat_memory.core.render.memory_block import memory_line
from tests.support.recall_without_store import NOW, memory

SAID = memory("chunk/1", "I live in Lisbon and my dog is called Max", days=40)
UNTIL = NOW - timedelta(days=9)


@pytest.mark.parametrize(
    ("language", "whole", "part", "earlier"),
    [
        (
            "english",
            "(until 3 May)",
            "(2 April; until 3 May: I live in Lisbon)",
            "(earlier, 2 April)",
        ),
        (
            "german",
            "(bis 3. Mai)",
            "(2. April; bis 3. Mai: I live in Lisbon)",
            "(früher, 2. April)",
        ),
    ],
)
def test_a_line_tells_what_is_over(language: str, whole: str, part: str, earlier: str) -> None:
    words = language_of(language)

    def line(**facets: str) -> str:
        return memory_line(replace(SAID, facets=facets), NOW, UTC, 80, language=words)

    over = replace(SAID, valid_to=UNTIL)
    assert whole in memory_line(over, NOW, UTC, 80, language=words)
    assert part in line(over="I live in Lisbon", until=UNTIL.isoformat())
    assert earlier in line(earlier="yes")
