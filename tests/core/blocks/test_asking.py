"""An LLM writes a block again when enough of what it is about changed, and not before."""

from datetime import UTC, datetime, timedelta

from slowcat_memory.core.blocks.prompt import Asked, is_due, marks_of
from slowcat_memory.core.blocks.statements import SourcedLine

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def lines(*texts: str) -> list[SourcedLine]:
    return [SourcedLine(text=text, at=NOW) for text in texts]


def due(now: str, before: str, days: float, *, kept: int = 2, left: int = 2) -> bool:
    asked = Asked(at=NOW, version=1, seen=marks_of(lines(*before)), lines=kept)
    return is_due(asked, 1, lines(*now), left, NOW + days * DAY)


def test_a_block_that_lost_all_its_lines_is_written_again_at_once() -> None:
    assert due("ab", "abc", 0, left=0)
    assert not due("ab", "abc", 0, kept=0, left=0), "it never had any"
