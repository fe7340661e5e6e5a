"""Tones over weeks, and which sentences of the agent are advice."""

import pytest

from slowcat_memory.core.blocks.rules import _ADVICE
from slowcat_memory.core.facts.fact import why_transient
from tests.support.rows import each_row, listed


@pytest.mark.parametrize(
    ("is_advice", "said"),
    [
        (True, "Take photos of every room."),
        (True, "You should call the landlord."),
        (False, "So you could finally live in the same city."),
    ],
)
def test_advice_is_what_the_user_is_to_do(is_advice: bool, said: str) -> None:
    assert bool(_ADVICE.search(said)) == is_advice


@each_row(
    ("reason", "type_", "content"),
    listed("rules/tones_that_pass", "acts_without_a_trace_are_no_facts"),
)
def test_acts_without_a_trace_are_no_facts(reason: str, type_: str, content: str) -> None:
    assert why_transient(type_, content) == (reason or None)
