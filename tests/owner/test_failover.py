"""The owner is killed while clients speak: the laws, and that each finds what it must find."""

import pytest

from tests.support.harnesses import cases, harness


@pytest.mark.parametrize("run", cases("--count 1", "slow --what starters"))
def test_failover_kills_lose_double_and_keep_nothing(run: str) -> None:
    harness("failover", *run.split())


@pytest.mark.parametrize("fault", cases("slow dropped", "slow twice", "slow kept"))
def test_failover_a_planted_fault_is_caught(fault: str) -> None:
    harness("failover", "--control", fault)
