import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slowcat_memory.core.time import calendar
from slowcat_memory.core.time.calendar import zone_of
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


@pytest.mark.parametrize("name", ["<+03>-3", ":/etc/localtime", "../../etc/passwd"])
def test_zone_of_this_machine_without_a_name_is_the_current_offset(
    machine: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TZ", name)
    time.tzset()
    winter, summer = offsets()
    assert winter == summer == datetime.now().astimezone().utcoffset()
