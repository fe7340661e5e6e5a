"""Idle work that is killed, at the size of every pull request, and planted faults."""

import pytest

from tests.support.harnesses import cases, harness


@pytest.mark.parametrize("run", cases("jobs9 --count 40", "week --count 3", "slow week --count 7"))
def test_crash_a_kill_loses_no_task_and_does_none_twice(run: str) -> None:
    harness(*run.split())


@pytest.mark.parametrize("fault", cases("jobs9 --control torn", "week --control torn"))
def test_crash_a_result_and_its_end_apart_are_found_out(fault: str) -> None:
    harness(*fault.split())
