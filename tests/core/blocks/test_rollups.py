"""The background block has what the latest day and week were about."""

from datetime import UTC, datetime, timedelta

from slowcat_memory.core.blocks import rules
from slowcat_memory.core.blocks.rules import rollup_lines
from slowcat_memory.core.language import language_of
from slowcat_memory.records import Memory

MONDAY = datetime(2026, 5, 11, 4, tzinfo=UTC)


def summary(id: str, text: str, days: int = 0, length: int = 1) -> Memory:
    at = MONDAY + timedelta(days=days)
    return Memory(
        id=f"summary/{id}", kind=f"summary/{id.partition('/')[0]}", scope="anna", speaker="Summary",
        text=text, valid_from=at, sources=(days + 1,),
        facets={"until": (at + timedelta(days=length)).isoformat()},
    )  # fmt: skip


MEMORIES = [
    summary("week/2026-W19", "Anna was ill.", -7, 7),
    summary("week/2026-W20", "Anna moved to Porto. Anna: I sold the car.", 0, 7),
    summary("day/2026-05-12", "Anna moved to Porto.", 1),
    summary("day/2026-05-15", "Anna: I sold the car. The lamp broke.", 4),
    summary("session/s", "Anna: The lamp broke.", 4),
]


def test_rollup_lines_the_latest_of_each_and_nothing_twice() -> None:
    lines = list(rollup_lines(MEMORIES, ["Anna: The lamp broke."], UTC))
    assert [line.text for line in lines] == [
        "The week of 11 May: Anna moved to Porto. Anna: I sold the car."
    ]
    assert lines[0].of == "summary/week/2026-W20" and lines[0].sources == (1,)


def test_rollup_lines_a_day_that_says_more_than_the_week() -> None:
    lines = list(rollup_lines(MEMORIES, [], UTC, language_of("german")))
    assert [line.text for line in lines] == [
        "Die Woche ab dem 11. Mai: Anna moved to Porto. Anna: I sold the car.",
        "Am 15. Mai: Anna: The lamp broke.",
    ]


def test_background_of_a_week() -> None:
    lines = rules.background(MEMORIES, MONDAY + timedelta(days=8), UTC, 3)
    assert [line.text for line in lines] == [
        "Recent: Anna: The lamp broke.",
        "The week of 11 May: Anna moved to Porto. Anna: I sold the car.",
    ]
