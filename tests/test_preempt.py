"""Somebody speaks: the LLM is theirs at once. See the harness; here with fewer interruptions."""

import pytest

from tests.harness.preempt import CONTROL, broken


@pytest.mark.parametrize("arm", ["one server", "two servers"])
def test_preempt_idle_work_gives_way(arm, tmp_path):
    assert broken(arm, 10, tmp_path, by="p50") == []


def test_preempt_a_thinker_whom_nobody_tells_is_caught(tmp_path):
    assert any(law.startswith("beside") for law in broken(CONTROL, 3, tmp_path))
