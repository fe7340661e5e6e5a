"""The owner is killed while clients speak."""

from tests.support.harnesses import harness


def test_failover_kills_lose_double_and_keep_nothing() -> None:
    harness("failover", "--count", "1")
