from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from slowcat_memory.core.memory.validity import holds
from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.records import Memory

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
YEAR = timedelta(days=365)
ROME = Memory(
    id="note/1", kind="note", scope="anna", speaker="Anna", text="Anna lives in Rome.",
    valid_from=NOW - 3 * YEAR, valid_to=NOW - YEAR,
)  # fmt: skip


def asked(start: datetime, end: datetime) -> tuple[Interval, ...]:
    return (Interval(start=start, end=end, words="then"),)


def test_holds_what_is_over_is_offered_only_for_its_own_time() -> None:
    assert not holds(ROME, NOW)
    assert holds(ROME, NOW, asked(NOW - 2 * YEAR, NOW - 1.9 * YEAR))
    assert not holds(ROME, NOW, asked(NOW - 0.5 * YEAR, NOW))
    assert not holds(ROME, NOW, asked(NOW - 5 * YEAR, NOW - 4 * YEAR))
    assert holds(ROME, NOW - 1.5 * YEAR)  # asked as of then


def test_holds_what_was_superseded_is_never_offered() -> None:
    gone = replace(ROME, valid_to=None, retired_at=NOW)
    assert not holds(gone, NOW) and not holds(gone, NOW, asked(NOW - 2 * YEAR, NOW))
    assert holds(replace(ROME, valid_to=None), NOW)
    assert holds(replace(ROME, valid_to=NOW + YEAR), NOW)
