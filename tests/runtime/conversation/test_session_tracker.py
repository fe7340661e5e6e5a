"""The session tracker as a table, and the law that its edges obey."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.records import Event, Role, Session, SessionEdge, Turn
from slowcat_memory.runtime.conversation.session_tracker import (
    ClockReading,
    OffRecord,
    SessionOptions,
    SessionTracker,
)
from tests.support.rows import cases, each_listed
from tests.support.said import turn_at

NOON = datetime(2026, 5, 12, 12, 0, tzinfo=UTC)
SILENCE, GRACE = 300.0, 120.0


def after(seconds: float, step: float = 0.0) -> ClockReading:
    """So many seconds after noon; the wall clock has been stepped by ``step`` seconds."""
    return ClockReading(NOON + timedelta(seconds=seconds + step), seconds)


def tracker(previous: Session | None = None, now: ClockReading | None = None) -> SessionTracker:
    made = iter(range(1, 1000))
    return SessionTracker(
        "anna",
        lambda now: f"s{next(made)}",
        SessionOptions(silence_s=SILENCE, resume_grace_s=GRACE),
        previous,
        after(0) if now is None else now,
    )


def earlier(reason: str, *, last: float = 0.0, ended: float | None = None) -> Session:
    end = None if reason == "" else after(last if ended is None else ended).at
    return Session(
        id="old", scope="anna", started=NOON, last=after(last).at, ended=end, reason=reason, turns=2
    )


def told(events: list[Event]) -> list[str]:
    """Events in short: "start s1", "user s1", "end s1 silence"."""
    return [
        f"{e.role} {e.session}"
        if isinstance(e, Turn)
        else " ".join(filter(None, (e.kind, e.session, e.reason)))
        for e in events
    ]


def uttered(machine: SessionTracker, now: ClockReading, role: Role = "user") -> list[Event]:
    return [*machine.said(now), turn_at("hello", now.at, session=machine.session, role=role)]


def say(machine: SessionTracker, now: ClockReading, role: Role = "user") -> list[str]:
    return told(uttered(machine, now, role))


def said(machine: SessionTracker, at: float) -> list[str]:
    return say(machine, after(at))


def opened() -> SessionTracker:
    machine = tracker()
    say(machine, after(0))
    return machine


def dropped() -> SessionTracker:
    machine = opened()
    machine.disconnected(after(0))
    return machine


@cases("rules/session_tracker.jsonl")
def test_session_tracker_tracker_every_event_in_every_state(state, at, user, agent, drop, tick):
    now, made = after(at), {"idle": tracker, "opened": opened, "dropped": dropped}[state]
    assert say(made(), now) == user
    assert say(made(), now, "assistant") == agent
    assert told(made().disconnected(now)) == drop
    assert told(made().tick(now)) == tick


@each_listed("rules/session_tracker.jsonl")
def test_session_tracker_tracker_restart_goes_on_within_the_grace(reason, ended, at, first):
    """A session without an end is open elsewhere: on another device of the same person."""
    previous = None if reason == "none" else earlier(reason, ended=ended)
    now = after(ended or 0)
    assert said(tracker(previous, now), at)[0] == first


@pytest.mark.parametrize("step", [-7200, 7200])
def test_session_tracker_tracker_step_of_the_wall_clock_neither_ends_nor_resumes(step):
    machine = opened()
    machine.touch(after(10, step))
    assert machine.tick(after(20, step)) == []
    assert say(machine, after(SILENCE, step)) == ["user s1"]
    machine.disconnected(after(310, step))
    assert say(machine, after(320, 0)) == ["resume s1", "user s1"]
    machine.disconnected(after(330, 0))
    assert say(machine, after(331 + GRACE, -331 - GRACE)) == ["start s2", "user s2"]


def test_session_tracker_tracker_session_that_another_conversation_resumed_is_left_to_it():
    options = SessionOptions(silence_s=SILENCE, resume_grace_s=GRACE)
    shared = (options, earlier("disconnect"), after(0), set[str]())
    one = SessionTracker("anna", lambda now: "one", *shared)
    two = SessionTracker("anna", lambda now: "two", *shared)
    assert said(one, 1)[0] == "resume old"
    assert said(two, 2)[0] == "start two"
    one.disconnected(after(3))
    assert said(one, 4)[0] == "resume old"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["user", "agent", "drop", "tick", "touch"]),
        st.floats(0, 700, allow_nan=False),
    ),
    max_size=40,
)
PREVIOUS = st.sampled_from([None, *map(earlier, ("disconnect", "close", "crash", "silence", ""))])


@given(STEPS, PREVIOUS)
def test_session_tracker_tracker_edges_alternate_and_every_turn_is_inside_a_session(
    steps, previous
):
    machine, at, log = tracker(previous), 0.0, list[Event]()
    for step, passed in steps:
        at += passed
        now = after(at)
        if step == "touch":
            machine.touch(now)
            continue
        log += {
            "user": lambda: uttered(machine, now),  # noqa: B023
            "agent": lambda: uttered(machine, now, "assistant"),  # noqa: B023
            "drop": lambda: machine.disconnected(now),  # noqa: B023
            "tick": lambda: machine.tick(now),  # noqa: B023
        }[step]()
    open_session, known, ended_for_good = "", {"old"}, set()
    for event in log:
        if isinstance(event, Turn):
            assert event.session == open_session != ""
        elif event.kind == "end":
            assert event.session == open_session
            open_session = ""
            if event.reason == "silence":
                ended_for_good.add(event.session)
        else:
            assert isinstance(event, SessionEdge) and not open_session
            assert (event.kind == "resume") == (event.session in known)
            assert event.session not in ended_for_good
            open_session = event.session
            known.add(open_session)
    assert machine.session == open_session
    turns_in = {e.session for e in log if isinstance(e, Turn)}
    assert {e.session for e in log} == turns_in  # no session without a word


# ------------------------------------------------------------------- off the record


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


def test_off_record_lasts_while_anybody_wants_it_and_only_who_began_it_ends_it(home):
    record = home.record
    record.begin("anna")
    assert not record.end("ben") and not record.end("guest") and record.off
    record.begin("ben")
    assert not record.end("anna")
    assert record.end("ben") and home.changes == [True, False]


def test_off_record_application_ends_it_for_everybody_and_nobody_ends_the_applications(home):
    record = home.record
    record.begin("anna")
    assert record.end() and not record.off
    record.begin()
    assert not record.end("anna") and record.off


def test_off_record_silence_that_ends_a_conversation_ends_it(home):
    home.at(0).touch()
    home.record.begin("anna")
    home.at(10).touch()
    home.at(109).tick()
    assert home.record.off
    home.at(110).tick()
    assert not home.record.off and home.changes == [True, False]


def test_off_record_timer_that_is_late_does_not_stretch_it(home):
    home.record.begin()
    home.at(0).touch()
    home.at(500).touch()
    assert not home.record.off


def test_off_record_it_outlasts_a_line_that_comes_back(home):
    home.record.begin()
    home.at(0).touch()
    home.at(1).disconnected()
    home.at(50).touch()
    assert home.record.off
    home.at(60).disconnected()
    home.at(110).tick()
    assert not home.record.off
