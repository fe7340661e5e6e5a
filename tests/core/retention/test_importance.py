"""Importance by words, use and pins."""

import pytest

from slowcat_memory.core import retention as tiering
from tests.support.rows import cases

DAY = 86_400.0
NOW = 1000 * DAY


@cases("rules/importance.jsonl")
def test_importance_of_words(text, adds):
    assert tiering.importance_of_words(text) == pytest.approx(0.5 + adds)


def test_importance_use_score_fades_and_never_outweighs_a_pin():
    once = tiering.use_score([NOW], NOW)
    assert once == 1.0
    assert tiering.use_score([NOW - 14 * DAY], NOW) == pytest.approx(0.5)
    assert tiering.use_score([NOW + DAY], NOW) == 1.0, "a clock that was set back"
    assert tiering.use_score([], NOW) == 0.0
    much = tiering.importance(0.5, 1e9, pinned=False)
    assert 0.5 < tiering.importance(0.5, once, pinned=False) < much < 1.0
    assert tiering.importance(0.0, 0.0, pinned=True) == 1.0
