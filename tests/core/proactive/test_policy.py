from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest

from slowcat_memory.core.memory import ICEBREAKER
from slowcat_memory.core.proactive.policy import (
    ANY_HOUR,
    IcebreakerOptions,
    choose,
    is_quiet,
)
from slowcat_memory.records import Memory

NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)
LISBON = ZoneInfo("Europe/Lisbon")
NIGHT = "22:00-08:00"


def icebreaker(id_: str, priority: float = 0.5, hours: float = 48, **more: object) -> Memory:
    facts = {"kind": ICEBREAKER, "scope": "anna", "speaker": "Anna", "text": id_}
    facts |= {"valid_from": NOON, "valid_to": NOON + timedelta(hours=hours)}
    return Memory(id=id_, importance=priority, **{**facts, **more})  # type: ignore[arg-type]


def chosen(*memories: Memory, now: datetime = NOON, last: datetime | None = None, **how) -> str:
    options = IcebreakerOptions(**how)
    found = choose(memories, now, UTC, last, options)
    return found.id if found else ""


def local(*parts: int, fold: int = 0) -> datetime:
    """A time on a wall in Lisbon."""
    return datetime(*parts, tzinfo=LISBON, fold=fold).astimezone(UTC)  # type: ignore[misc]


# ------------------------------------------------------------------- quiet hours


def test_is_quiet_follows_local_time_at_a_change_of_clocks() -> None:
    # On 29 March 2026 Lisbon's clocks go from 01:00 to 02:00, on 25 October from 02:00 to 01:00.
    for day in (datetime(2026, 3, 28), datetime(2026, 3, 29), datetime(2026, 10, 25)):
        before = local(day.year, day.month, day.day, 7, 59)
        assert is_quiet(before, LISBON, NIGHT)
        assert not is_quiet(before + timedelta(minutes=1), LISBON, NIGHT)
    assert local(2026, 3, 28, 8).hour == 8 and local(2026, 3, 29, 8).hour == 7  # in UTC
    short = "01:30-03:00"  # half of it does not exist in March; in October it comes twice
    assert is_quiet(local(2026, 3, 29, 2, 15), LISBON, short)
    assert [is_quiet(local(2026, 10, 25, 1, 45, fold=n), LISBON, short) for n in (0, 1)] == [1, 1]
    assert not is_quiet(local(2026, 10, 25, 1, 15, fold=1), LISBON, short)


@pytest.mark.parametrize("wrong", ["22-8", "22:00", "25:00-08:00", "22:60-08:00", "22:00-08:00 "])
def test_policy_options_refuse_wrong_quiet_hours(wrong: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"quiet_hours": wrong}, IcebreakerOptions)
    assert msgspec.convert({"quiet_hours": ""}, IcebreakerOptions).quiet_hours == ""


# ------------------------------------------------------------------- which


def test_waiting_leaves_out_used_and_expired() -> None:
    gone = (
        icebreaker("used", 0.9, retired_at=NOON),
        icebreaker("expired", 0.9, hours=0),
        icebreaker("note", 0.9, kind="note"),
    )
    assert chosen(*gone) == "" and chosen(*gone, icebreaker("left", 0.1)) == "left"
    assert chosen(icebreaker("x", hours=1), now=NOON + timedelta(minutes=59)) == "x"
    assert chosen(icebreaker("x", hours=1), now=NOON + timedelta(minutes=60)) == ""


def test_choose_in_quiet_hours_only_any_hour() -> None:
    night = NOON + timedelta(hours=11)
    both = (icebreaker("polite", 0.9), icebreaker("urgent", 0.2, kind=ANY_HOUR))
    assert chosen(*both, now=night) == "urgent"
    assert chosen(*both) == "polite"
    assert chosen(both[0], now=night) == "" and chosen(both[0], now=night, quiet_hours="") != ""
