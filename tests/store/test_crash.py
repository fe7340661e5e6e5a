"""Kills, losses of power and damaged files, at the size of every pull request, and planted faults."""

import pytest

from tests.support.harnesses import harness


@pytest.mark.parametrize(
    "run",
    [
        "kill9 --count 30",
        "forget9 --count 6",
        "powerloss --count 60",
        "powerloss --what relaxed --count 40",
        "powerloss --what backup --count 24",
        "powerloss --what restore --count 24",
        "powerloss --what salvage --count 9",
        "powerloss --what index --count 24",
        "damage --count 30",
        "damage --what yield --count 24",
    ],
)
def test_crash_no_law_is_broken(run: str) -> None:
    harness(*run.split())


@pytest.mark.parametrize(
    "fault",
    [
        "kill9 --control early",
        "kill9 --control ageing",
        "kill9 --control pages",
        "forget9 --control erase",
        "forget9 --control thoughts",
        "powerloss --control no-fsync",
        "damage --control blind",
        "damage --what yield --control trees",
        "damage --what yield --control undead",
    ],
)
def test_crash_a_planted_fault_is_caught(fault: str) -> None:
    harness(*fault.split())
