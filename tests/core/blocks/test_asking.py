"""An LLM writes a block again when enough of what it is about changed, and not before."""

from datetime import UTC, datetime, timedelta

from slowcat_memory.core.blocks.prompt import MANY, Asked, is_due, marks_of
from slowcat_memory.core.blocks.statements import SourcedLine

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def lines(*texts: str) -> list[SourcedLine]:
    return [SourcedLine(text=text, at=NOW) for text in texts]


def due(now: str, before: str, days: float, *, kept: int = 2, left: int = 2) -> bool:
    asked = Asked(at=NOW, version=1, seen=marks_of(lines(*before)), lines=kept)
    return is_due(asked, 1, lines(*now), left, NOW + days * DAY)


def test_a_few_changes_wait_for_a_week_and_many_for_a_day() -> None:
    assert not due("abcd", "abc", 5) and due("abcd", "abc", 6)
    many = "abcdefghij"[: 3 + MANY]
    assert not due(many, "abc", 0.5) and due(many, "abc", 1)


def test_a_block_that_lost_all_its_lines_is_written_again_at_once() -> None:
    assert due("ab", "abc", 0, left=0)
    assert not due("ab", "abc", 0, kept=0, left=0), "it never had any"
