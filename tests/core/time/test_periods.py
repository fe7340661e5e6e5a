"""Days and weeks in a person's time zone."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.time.periods import day_of, week_of

LISBON, BERLIN, KIRITIMATI = (
    ZoneInfo(name) for name in ("Europe/Lisbon", "Europe/Berlin", "Pacific/Kiritimati")
)


def test_day_of_the_small_hours_is_the_day_before() -> None:
    late = datetime(2026, 5, 13, 1, tzinfo=BERLIN)
    assert day_of(late, BERLIN).name == "2026-05-12"
    assert day_of(late, BERLIN, begins=0).name == "2026-05-13"


def test_week_of_the_turn_of_the_year() -> None:
    week = week_of(datetime(2027, 1, 2, 12, tzinfo=UTC), LISBON)
    assert week.name == "2026-W53"
    assert week.start.astimezone(LISBON).isoformat()[:13] == "2026-12-28T04"


moments = st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1)).map(
    lambda at: at.replace(tzinfo=UTC)
)


@given(moments, st.sampled_from([LISBON, BERLIN, KIRITIMATI]), st.integers(0, 6))
def test_day_of_and_week_of_leave_no_gap(at: datetime, zone: ZoneInfo, begins: int) -> None:
    for of in (day_of, week_of):
        one = of(at, zone, begins)
        assert one.start <= at < one.end
        assert of(one.start, zone, begins) == one
        assert of(one.end, zone, begins).start == one.end
