"""The days of ``tests.harness.soak``, a few hours of them, and a leak."""

import pytest

from tests.support.harnesses import cases, harness


@pytest.mark.parametrize("run", cases("--count 80", "slow --control leak"))
def test_soak_hours_lose_nothing_and_leave_nothing(run: str) -> None:
    harness("soak", *run.split())
