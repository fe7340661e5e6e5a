"""Kills, losses of power and damaged files, at the size of every pull request, and planted faults."""

import pytest

from tests.support.harnesses import harness


@pytest.mark.parametrize(
    "run",
    [
        "kill9 --count 12",
        "forget9 --count 3 --seed 2001",
        "powerloss --count 24",
        "powerloss --what relaxed --count 16",
        "powerloss --what backup --count 12",
        "powerloss --what restore --count 12",
        "powerloss --what salvage --count 9",
        "powerloss --what index --count 12",
        "damage --count 12",
        "damage --what yield --count 8",
    ],
)
def test_crash_no_law_is_broken(run):
    harness(*run.split())


@pytest.mark.parametrize(
    "fault",
    [
        "kill9 --control early",
        "kill9 --control ageing",
        "kill9 --control pages",
        "forget9 --control erase",
        "powerloss --control no-fsync",
        "damage --control blind",
        "damage --what yield --control undead",
    ],
)
def test_crash_a_planted_fault_is_caught(fault):
    harness(*fault.split())
