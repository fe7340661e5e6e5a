"""Which later sentence closes an open matter."""

from datetime import UTC, datetime

from slowcat_memory.core.proactive.closing import Later, closed_by
from tests.support.rows import each_row, listed

AT = datetime(2026, 4, 19, 10, tzinfo=UTC)


@each_row(("matter", "later"), listed("rules/closing", "a_result_closes_a_matter_whoever_did_it"))
def test_a_result_closes_a_matter_whoever_did_it(matter, later):
    found = closed_by(matter, "Ida", 1, [Later(later, AT, 2)])
    assert found and found[0] == "done"
