import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.time import calendar
from slowcat_memory.core.time.calendar import zone_of
from slowcat_memory.core.time.periods import day_of, week_of
from slowcat_memory.errors import ConfigError

WINTER, SUMMER = (datetime(2026, month, 1, 12, tzinfo=UTC) for month in (1, 7))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine in Lisbon, whatever machine this is; its zone is a link that a test may change."""
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Europe/Lisbon")
    monkeypatch.setattr(calendar, "LOCALTIME", link)
    monkeypatch.delenv("TZ", raising=False)
    yield link
    monkeypatch.undo()
    time.tzset()


def offsets(name: str = "") -> tuple[timedelta | None, ...]:
    return tuple(day.astimezone(zone_of(name)).utcoffset() for day in (WINTER, SUMMER))


def test_zone_of_a_name() -> None:
    assert offsets("Asia/Tokyo") == (timedelta(hours=9),) * 2
    with pytest.raises(ConfigError, match="there is no 'Nowhere/Land'"):
        zone_of("Nowhere/Land")


def test_zone_of_this_machine_knows_summer_time(machine: Path) -> None:
    assert offsets() == (timedelta(0), timedelta(hours=1))


def test_zone_of_this_machine_prefers_the_environment(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert offsets() == (timedelta(hours=9),) * 2


@pytest.mark.parametrize("name", ["<+03>-3", ":/etc/localtime", "../../etc/passwd"])
def test_zone_of_this_machine_without_a_name_is_the_current_offset(
    machine: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TZ", name)
    time.tzset()
    winter, summer = offsets()
    assert winter == summer == datetime.now().astimezone().utcoffset()


def test_zone_of_a_machine_without_a_zone(machine: Path) -> None:
    machine.unlink()
    assert offsets()[0] is not None


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
