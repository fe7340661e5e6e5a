"""What is true since ever, or until for ever, has a date in every zone."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from slowcat_memory.cli.shell import when
from slowcat_memory.core.render.speech import full_date, spoken_date, spoken_until
from slowcat_memory.core.time.calendar import in_zone

EVER, FOR_EVER = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
ZONES = [ZoneInfo("Europe/Dublin"), ZoneInfo("America/Los_Angeles"), ZoneInfo("Asia/Tokyo"),
         timezone(timedelta(hours=-12)), UTC]  # fmt: skip


@pytest.mark.parametrize("zone", ZONES, ids=str)
@pytest.mark.parametrize("at", [EVER, FOR_EVER], ids=["ever", "for ever"])
def test_every_date_in_words_bears_the_first_and_the_last_moment(
    zone: tzinfo, at: datetime
) -> None:
    assert in_zone(at, zone).year == at.year
    assert full_date(at, zone).endswith(f" {at.year}")
    assert spoken_date(at, NOW, zone) and spoken_until(at, NOW, zone)
    assert when(at, zone)[:4] == f"{at.year:04}"
