from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowcat_memory.core.ranking.score import LEAST_SCALE, closeness, overlap
from slowcat_memory.core.time.expressions import Interval

DAY = 86_400.0
NAN = float("nan")


def interval(start: float, end: float) -> Interval:
    return Interval(datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC), "")


WEEKEND = interval(10 * DAY, 12 * DAY)
seconds = st.lists(st.floats(0, 4e9), max_size=30).map(np.array)
intervals = st.lists(
    st.tuples(st.integers(0, 40_000), st.integers(1, 4_000)).map(
        lambda pair: interval(pair[0] * DAY, (pair[0] + pair[1]) * DAY)
    ),
    max_size=3,
)


def test_closeness_is_1_inside_and_halves_with_every_scale_outside() -> None:
    at = np.array([9.0, 10.0, 11.0, 12.0, 13.0, 14.0]) * DAY
    assert closeness(at, [WEEKEND]) == pytest.approx([0.5, 1, 1, 1, 0.5, 0.25])


def test_closeness_a_few_minutes_are_not_sharper_than_hours_and_years_not_softer_than_months() -> (
    None
):
    minute, decade = interval(0, 60), interval(0, 3650 * DAY)
    assert closeness(np.array([60 + LEAST_SCALE]), [minute]) == pytest.approx([0.5])
    assert closeness(np.array([3740 * DAY]), [decade]) == pytest.approx([0.5])


@given(seconds, intervals)
def test_closeness_stays_between_0_and_1_and_more_intervals_never_lower_it(at, many) -> None:
    near = closeness(at, many)
    assert near.shape == at.shape and ((near >= 0) & (near <= 1)).all()
    assert (near >= closeness(at, many[:1])).all()
    if not many:
        assert not near.any()


def test_overlap_is_the_share_of_the_shorter_of_two_times() -> None:
    starts = np.array([10.0, 11.5, 12.0, 0.0, NAN]) * DAY
    ends = np.array([11.0, 12.5, 13.0, 100.0, NAN]) * DAY
    assert overlap(starts, ends, [WEEKEND]) == pytest.approx([1, 0.5, 0, 1, 0])
    assert overlap(starts, ends, []).tolist() == [0] * 5


@given(intervals, intervals)
def test_overlap_agrees_with_common_days(said, asked) -> None:
    starts = np.array([one.start.timestamp() for one in said])
    ends = np.array([one.end.timestamp() for one in said])
    shared = overlap(starts, ends, asked)
    assert ((shared >= 0) & (shared <= 1)).all()
    for value, one in zip(shared, said, strict=True):
        assert (value > 0) == any(one.start < two.end and two.start < one.end for two in asked)
