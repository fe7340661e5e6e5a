"""Two bots, a command line, the page and an MCP host on one memory, and the laws that judge them."""

from pathlib import Path

import pytest

from tests.harness.many_programs import Found, hour, judge, look


@pytest.mark.slow
def test_many_programs_some_minutes_lose_double_leak_and_refuse_nothing(tmp_path: Path) -> None:
    found = hour(tmp_path / "memory", 5)
    assert min(found.calls[name] for name in ("kitchen", "study", "page", "command", "mcp")) > 3
    assert not any((laws := judge(tmp_path / "memory", found)).values()), laws


@pytest.mark.slow
def test_many_programs_marks_that_are_not_made_are_found(tmp_path: Path) -> None:
    found = hour(tmp_path / "memory", 10, plant=True)
    assert judge(tmp_path / "memory", found)["leaked"]


@pytest.mark.parametrize(
    ("where", "text", "leaks"),
    [
        ("mcp", "My ladder xannakitchen1x is in the car.", True),
        ("mcp", "My ladder xannakitchen2x is in the car.", True),
        ("mcp", "My ladder xannakitchen3x is in the car.", False),
        ("kitchen", "xannakitchen1x", False),
        ("kitchen", "xannakitchen2x", True),
        ("command", "xannakitchen2x", False),
        ("command", "xbenstudy1x", True),
    ],
)
def test_many_programs_the_law_knows_what_may_come_out_where(
    where: str, text: str, leaks: bool
) -> None:
    found = Found(hidden={"xannakitchen1x": ("local", 5.0), "xannakitchen2x": ("mute", 5.0)})
    look(found, where, text, "anna", began=4.0)
    assert bool(found.leaks) == ("ben" in text), "what was asked before the mark may hold it"
    found.leaks.clear()
    look(found, where, text, "anna", began=6.0)
    assert bool(found.leaks) == leaks
