"""Off the record: who begins and ends it, and what ends it by itself."""

import pytest

from slowcat_memory.runtime.conversation.session_tracker import OffRecord, SessionOptions


class Home:
    """A record with a monotonic clock of its own, and its changes."""

    def __init__(self) -> None:
        self.changes: list[bool] = []
        self.seconds = 0.0
        options = SessionOptions(silence_s=100, resume_grace_s=50)
        self.record = OffRecord(options, self.changes.append, lambda: self.seconds)

    def at(self, seconds: float) -> OffRecord:
        self.seconds = seconds
        return self.record


@pytest.fixture
def home() -> Home:
    return Home()


def test_off_record_only_who_began_it_ends_it(home: Home) -> None:
    record = home.record
    record.begin("anna")
    assert not record.end("ben") and not record.end("guest") and record.off
    assert record.end("anna") and home.changes == [True, False]


def test_off_record_lasts_while_anybody_wants_it(home: Home) -> None:
    record = home.record
    record.begin("anna")
    record.begin("ben")
    assert not record.end("anna")
    assert record.end("ben") and home.changes == [True, False]


def test_off_record_application_ends_it_for_everybody_and_nobody_ends_the_applications(
    home: Home,
) -> None:
    record = home.record
    record.begin("anna")
    assert record.end() and not record.off
    record.begin()
    assert not record.end("anna") and record.off


def test_off_record_silence_that_ends_a_conversation_ends_it(home: Home) -> None:
    home.at(0).touch()
    home.record.begin("anna")
    home.at(10).touch()
    home.at(109).tick()
    assert home.record.off
    home.at(110).tick()
    assert not home.record.off and home.changes == [True, False]


def test_off_record_timer_that_is_late_does_not_stretch_it(home: Home) -> None:
    home.record.begin()
    home.at(0).touch()
    home.at(500).touch()
    assert not home.record.off


def test_off_record_it_outlasts_a_line_that_comes_back(home: Home) -> None:
    home.record.begin()
    home.at(0).touch()
    home.at(1).disconnected()
    home.at(50).touch()
    assert home.record.off
    home.at(60).disconnected()
    home.at(110).tick()
    assert not home.record.off
