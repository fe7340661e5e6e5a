"""Somebody speaks: the LLM is theirs at once. See the harness; here with fewer interruptions."""

import pytest

from benchmarks import preempt
from benchmarks.preempt import Span
from tests.harness.preempt import broken


@pytest.mark.parametrize("arm", ["one server", "two servers"])
def test_preempt_idle_work_gives_way(arm, tmp_path):
    assert broken(arm, 10, tmp_path, by="p50") == []


def test_preempt_a_thinker_whom_nobody_tells_is_caught(tmp_path):
    assert any(law.startswith("beside") for law in broken(preempt.CONTROL, 3, tmp_path))


def test_preempt_side_by_side_is_counted():
    asked = Span(False, 1.0, 2.0)
    assert preempt.overlaps([asked, Span(True, 0.0, 1.0), Span(True, 2.0, 3.0)]) == 0
    assert preempt.overlaps([asked, Span(True, 0.0, 1.1), Span(True, 1.9, 3.0)]) == 2
    assert preempt.overlaps([asked, Span(False, 1.5, 3.0)]) == 0


def test_preempt_a_request_that_was_not_under_way_is_not_timed():
    spans = [Span(True, 1.0, 2.0), Span(True, 5.0, 6.0), Span(False, 1.0, 2.0)]
    assert list(preempt.gone([1.75, 4.0], spans)) == [250.0]
