"""Tones over weeks, and which sentences of the agent are advice."""

import pytest

from slowcat_memory.core.blocks.rules import _ADVICE, tone_of
from slowcat_memory.core.facts.fact import why_transient


@pytest.mark.parametrize(
    ("tone", "said"),
    [
        ("anxious", "My anxiety is terrible today."),
        ("calm", "My anxiety is much lower."),
        ("calm", "Ich bin richtig erleichtert."),
        ("", "I'm not nervous any more."),
    ],
)
def test_tone_of_distress_that_passes_is_calm(tone: str, said: str) -> None:
    assert tone_of([said], least=1) == tone


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


@pytest.mark.parametrize(
    ("reason", "type_", "content"),
    [
        ("passing", "other", "Anna turned off the lights."),
        ("passing", "event", "Anna is eating lunch right now."),
        ("passing", "task_completed", "Anna set a timer for ten minutes."),
        (None, "person", "Anna is here since May."),
        (None, "plan", "Anna's agent will call on Monday."),
        (None, "health", "Anna is late in her pregnancy."),
        (None, "open_thread", "Anna wants to be reminded to turn off the oven."),
    ],
)
def test_acts_without_a_trace_are_no_facts(reason: str | None, type_: str, content: str) -> None:
    assert why_transient(type_, content) == reason
