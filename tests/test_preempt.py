"""Somebody speaks: the LLM is theirs at once. See the harness; here with fewer interruptions."""

from tests.harness.preempt import CONTROL, interrupt


def test_preempt_idle_work_gives_way(tmp_path):
    assert interrupt(tmp_path, 10, 1, "")["broken"] == []


def test_preempt_a_thinker_whom_nobody_tells_is_caught(tmp_path):
    assert any("beside" in law for law in interrupt(tmp_path, 3, 1, CONTROL)["broken"])
