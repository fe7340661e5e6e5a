"""Idle work that is killed, at the size of every pull request, and a planted fault."""

import pytest

from tests.support.harnesses import harness


@pytest.mark.parametrize("run", ["--count 40", "--control torn"])
def test_crash_a_kill_loses_no_task_and_does_none_twice(run: str) -> None:
    harness("jobs9", *run.split())
