from datetime import UTC, datetime, timedelta

import pytest
from msgspec import convert, json, to_builtins

from slowcat_memory.clock import Reading
from slowcat_memory.core.retention.clock_doubt import (
    MARK_EVERY_S,
    MOST_RANGES,
    UNSEEN_S,
    ClockState,
    confirmed,
    first_look,
    next_look,
)

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
HOUR, DAY, YEAR = 3600.0, 86400.0, 365 * 86400.0


def reading(
    passed_s: float, off_s: float = 0.0, boot: str = "a", synchronised_s: float | None = None
) -> Reading:
    """Read clocks so long after NOW, the wall clock wrong by ``off_s``."""
    wall = NOW + timedelta(seconds=passed_s + off_s)
    return Reading(wall=wall, boot_s=passed_s, boot=boot, synchronised_s=synchronised_s)


def looks(*readings: Reading, last_id: int = 10, same_run: bool = True) -> ClockState:
    state = first_look(readings[0], last_id, NOW)
    for one in readings[1:]:
        state = next_look(state, one, last_id, same_run=same_run)
    return state


@pytest.mark.parametrize("off_s", [59.0, -59.0])
def test_look_small_steps_are_ordinary(off_s: float) -> None:
    assert looks(reading(0), reading(HOUR, off_s), reading(2 * HOUR)).doubt is None


def test_look_sleep_is_no_jump() -> None:
    assert looks(reading(0), reading(100 * DAY)).doubt is None


@pytest.mark.parametrize("off_s", [61.0, -61.0, YEAR, -YEAR])
def test_look_a_jump_within_a_run_is_doubted_until_it_is_undone(off_s: float) -> None:
    jumped = looks(reading(0), reading(HOUR, off_s))
    assert jumped.doubt is not None and jumped.doubt.reason == "jump"
    assert jumped.doubt.off_s == pytest.approx(off_s)
    still = next_look(jumped, reading(2 * HOUR, off_s), 10, same_run=True)
    assert still.doubt is not None
    assert next_look(still, reading(3 * HOUR), 10, same_run=True).doubt is None


@pytest.mark.parametrize(
    ("gap_s", "reason"),
    [
        (0, ""),
        (29 * DAY, ""),
        (31 * DAY, "gap"),
        (-30, ""),
        (-HOUR, "behind"),
        (-50 * YEAR, "behind"),
    ],
)
def test_look_after_a_restart_only_a_long_or_a_negative_gap_is_doubted(
    gap_s: float, reason: str
) -> None:
    state = next_look(looks(reading(0)), reading(gap_s, boot="b"), 10, same_run=False)
    assert (state.doubt.reason if state.doubt else "") == reason


def test_look_another_process_of_the_same_boot_compares_the_boot_clock() -> None:
    jumped = next_look(looks(reading(0)), reading(HOUR, 20 * DAY), 10, same_run=False)
    assert jumped.doubt is not None
    asleep = next_look(looks(reading(0)), reading(40 * DAY), 10, same_run=False)
    assert asleep.doubt is None


def test_look_a_doubt_outlasts_restarts_with_the_same_wrong_clock() -> None:
    state = looks(reading(0), reading(HOUR, YEAR))
    for boot in "bcd":
        state = next_look(state, reading(DAY, YEAR, boot), 10, same_run=False)
        assert state.doubt is not None
    right = next_look(state, reading(2 * DAY, 0, "e"), 10, same_run=False)
    assert right.doubt is None


@pytest.mark.parametrize(
    ("synchronised_s", "doubted"), [(None, True), (HOUR + 10, True), (10.0, False)]
)
def test_look_only_a_synchronisation_after_the_jump_counts(
    synchronised_s: float | None, doubted: bool
) -> None:
    jumped = looks(reading(0), reading(HOUR, YEAR))
    state = next_look(
        jumped, reading(2 * HOUR, YEAR, synchronised_s=synchronised_s), 10, same_run=True
    )
    assert (state.doubt is not None) is doubted


def test_look_a_long_gap_is_believed_at_once_where_the_time_is_synchronised() -> None:
    state = looks(reading(0))
    again = reading(90 * DAY, boot="b", synchronised_s=500.0)
    assert next_look(state, again, 10, same_run=False).doubt is None


def test_confirmed_a_clock_that_is_right_makes_what_was_dated_before_unsure() -> None:
    started_in_1970 = first_look(reading(0, -50 * YEAR), 0)
    jumped = next_look(started_in_1970, reading(HOUR), 7, same_run=True)
    state = confirmed(jumped, 9)
    assert state.doubt is None
    assert [id for id in range(1, 12) if state.is_unsure(id)] == list(range(1, 10))


def test_least_age_counts_what_no_clock_can_advance() -> None:
    state = first_look(reading(0), 0)
    state = next_look(state, reading(MARK_EVERY_S), 5, same_run=True)
    state = next_look(state, reading(2 * MARK_EVERY_S, YEAR), 8, same_run=True)
    assert state.least_age_s(5) == MARK_EVERY_S
    assert state.least_age_s(8) == state.least_age_s(9) == 0
    state = next_look(state, reading(DAY, YEAR), 8, same_run=True)
    assert state.least_age_s(8) == DAY - 2 * MARK_EVERY_S


def test_least_age_a_gap_that_is_confirmed_ages_only_what_was_before_it() -> None:
    state = next_look(looks(reading(0)), reading(100 * DAY, boot="b"), 10, same_run=False)
    state = next_look(state, reading(100 * DAY + HOUR, boot="b"), 20, same_run=True)
    state = confirmed(state, 20)
    assert state.least_age_s(10) == 100 * DAY + HOUR - UNSEEN_S
    assert state.least_age_s(20) == 0


def test_state_stays_small_over_years() -> None:
    state, last_id = first_look(reading(0), 0), 0
    for hour in range(1, 2 * 365 * 24, 2):
        last_id += 1
        state = next_look(state, reading(hour * HOUR), last_id, same_run=True)
    assert len(state.marks) < 1000
    ages = [
        abs(state.least_age_s(id) - (state.seen.lived_s - (2 * id - 1) * HOUR))
        for id in range(1, last_id, 97)
    ]
    assert max(ages) < 0.03 * state.seen.lived_s + 2 * HOUR
    for jump in range(100):
        off_s = YEAR * (jump + 1)
        at = reading(state.seen.boot_s + HOUR, off_s)
        last_id += 1
        state = confirmed(next_look(state, at, last_id, same_run=True), last_id)
    assert len(state.unsure) <= MOST_RANGES and state.is_unsure(last_id - 50)
    assert convert(json.decode(json.encode(to_builtins(state))), ClockState) == state
