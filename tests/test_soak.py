"""The days of ``tests.harness.soak``, a few hours of them."""

from tests.support.harnesses import harness


def test_soak_hours_lose_nothing_and_leave_nothing() -> None:
    harness("soak", "--count", "80")
