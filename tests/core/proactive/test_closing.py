"""Which later sentence closes an open matter."""

from datetime import UTC, datetime

from slowcat_memory.core.proactive.closing import Later, change_of, closed_by
from tests.support.rows import each_row, listed

AT = datetime(2026, 4, 19, 10, tzinfo=UTC)


def test_a_sentence_that_calls_off_or_moves_says_so():
    assert change_of("Friday's concert is cancelled.") == "off"
    assert change_of("Der Termin wurde auf Montag verschoben.") == "moved"
    assert change_of("The concert is on Friday.") is None


@each_row(("matter", "later"), listed("rules/closing", "a_result_closes_a_matter_whoever_did_it"))
def test_a_result_closes_a_matter_whoever_did_it(matter, later):
    found = closed_by(matter, "Ida", 1, [Later(later, AT, 2)])
    assert found and found[0] == "done"


@each_row(
    ("matter", "later"), listed("rules/closing", "what_is_not_done_yet_or_only_in_part_stays_open")
)
def test_what_is_not_done_yet_or_only_in_part_stays_open(matter, later):
    found = closed_by(matter, "Ida", 1, [Later(later, AT, 2)])
    assert found is None or found[0] == "told", "told closes no task"
