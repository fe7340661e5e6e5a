"""Kills, losses of power and damaged files, at the size of every pull request, and planted faults."""

from tests.support.harnesses import harness
from tests.support.rows import cases


@cases("store/crash")
def test_crash_no_law_is_broken(run):
    harness(*run.split())


@cases("store/crash")
def test_crash_a_planted_fault_is_caught(fault):
    harness(*fault.split())
