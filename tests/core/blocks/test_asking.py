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


def test_the_first_statement_is_asked_about() -> None:
    assert is_due(None, 1, lines("a"), 0, NOW) and not is_due(None, 1, [], 0, NOW)


def test_nothing_new_is_never_asked_about() -> None:
    assert not due("abc", "abc", 300)


def test_a_few_changes_wait_for_a_week_and_many_for_a_day() -> None:
    assert not due("abcd", "abc", 5) and due("abcd", "abc", 6)
    many = "abcdefghij"[: 3 + MANY]
    assert not due(many, "abc", 0.5) and due(many, "abc", 1)


def test_of_a_long_list_half_must_change() -> None:
    before = "".join(map(chr, range(200, 240)))
    assert not due(before[:-10], before, 2) and due(before[:-20], before, 2)


def test_a_block_that_lost_all_its_lines_is_written_again_at_once() -> None:
    assert due("ab", "abc", 0, left=0)
    assert not due("ab", "abc", 0, kept=0, left=0), "it never had any"


def test_another_prompt_is_another_question() -> None:
    asked = Asked(at=NOW, version=1, seen=marks_of(lines("a")), lines=1)
    assert is_due(asked, 2, lines("a"), 1, NOW)
