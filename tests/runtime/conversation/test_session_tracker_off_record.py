from datetime import UTC, datetime, timedelta

import pytest

from slowcat_memory.runtime.conversation.session_tracker import OffRecord, SessionOptions

NOON = datetime(2026, 5, 12, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.fixture
def changes() -> list[bool]:
    return []


@pytest.fixture
def record(changes: list[bool]) -> OffRecord:
    return OffRecord(SessionOptions(silence_s=100, resume_grace_s=50), changes.append)


def test_off_record_it_is_told_once_for_each_change(record: OffRecord, changes: list[bool]) -> None:
    record.set(False)
    record.set(True)
    record.set(True)
    assert record.off
    record.set(False)
    assert not record.off and changes == [True, False]


def test_off_record_it_lasts_while_somebody_speaks(record: OffRecord) -> None:
    record.set(True)
    for seconds in range(0, 900, 90):
        record.touch(at(seconds))
    assert record.off


def test_off_record_silence_that_ends_a_conversation_ends_it(
    record: OffRecord, changes: list[bool]
) -> None:
    record.touch(at(0))
    record.set(True)
    record.touch(at(10))
    record.tick(at(109))
    assert record.off
    record.tick(at(110))
    assert not record.off and changes == [True, False]


def test_off_record_timer_that_is_late_does_not_stretch_it(record: OffRecord) -> None:
    record.set(True)
    record.touch(at(0))
    record.touch(at(500))
    assert not record.off


def test_off_record_it_outlasts_a_line_that_comes_back(record: OffRecord) -> None:
    record.set(True)
    record.touch(at(0))
    record.disconnected(at(1))
    record.touch(at(50))
    assert record.off
    record.disconnected(at(60))
    record.tick(at(110))
    assert not record.off


def test_off_record_old_conversation_does_not_end_what_begins_now(record: OffRecord) -> None:
    record.touch(at(0))
    record.set(True)
    record.tick(at(1000))
    assert record.off
