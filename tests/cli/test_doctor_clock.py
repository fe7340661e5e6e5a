"""``doctor`` on a doubted clock, and on what ``raw_days`` leaves."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Turn
from slowcat_memory.testing import FixedClock, memory_config

DAYS = '[memory]\ntime_zone = "UTC"\n[embedding]\nkind = "none"\n[retention]\nraw_days = 30\n'


def turn(at: datetime) -> Turn:
    return Turn(session="s", scope="anna", speaker="Anna", role="user", text="tea", at=at)


@pytest.fixture
def long_ago(sm: Any) -> Any:
    """A command line whose store was closed two months ago, with a turn of then."""
    sm.config.write_text(DAYS)
    then = datetime.now(UTC) - timedelta(days=60)
    engine = MemoryEngine(memory_config(sm.store), clock=FixedClock(then))
    engine.append(turn(then))
    engine.close()
    return sm


def findings(sm: Any, *options: str) -> dict[str, dict[str, Any]]:
    return {one["what"]: one for one in json.loads(sm("doctor", *options, "--json").stdout)}


def test_doctor_says_why_the_clock_is_doubted_what_waits_and_the_remedy(
    long_ago: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slowcat_memory.clock.kernel_is_synchronised", lambda: False)
    found = findings(long_ago)
    assert "60.0 days later than expected" in found["clock"]["found"]
    assert "--clock-is-right" in found["clock"]["hint"]
    assert found["erasure"]["found"].endswith("1 expired turn")
    assert "60.0 days later than expected" in " ".join(long_ago.ok("show", "stats").split())
    assert json.loads(long_ago.ok("show", "stats", "--json"))["clock_doubted"]
    long_ago.ok("backup")  # opens it for writing, and erases nothing
    assert findings(long_ago)["erasure"]["found"].endswith("1 expired turn")


def test_doctor_a_clock_that_the_user_confirms_erases_what_waits(
    long_ago: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slowcat_memory.clock.kernel_is_synchronised", lambda: False)
    found = findings(long_ago, "--clock-is-right")
    assert found["clock"]["state"] == found["erasure"]["state"] == "fine"
    assert json.loads(long_ago.ok("show", "stats", "--json"))["scopes"] == {}
