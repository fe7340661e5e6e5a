"""Which questions ask for an overview, and of which periods."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from slowcat_memory.core.time.expressions import times
from slowcat_memory.core.time.periods import periods_of
from tests.support.rows import each_row, listed

NOW = datetime(2026, 5, 20, 15, tzinfo=UTC)  # a Wednesday


@each_row(("text", "first"), listed("rules/overview", "names_of_a_time"))
@each_row("zone", ["UTC", "Europe/Berlin", "Pacific/Honolulu"])
def test_names_of_a_time(text, first, zone):
    there = ZoneInfo(zone)
    told = list(periods_of(times(text, NOW, there), NOW, there))
    assert told[0] == first and len(set(told)) == len(told)
