"""The demo of a fleet: everybody is remembered, and nothing is lost."""

from pathlib import Path

import pytest

from tests.support.other_process import python

DEMO = Path(__file__).parents[2] / "examples" / "fleet_demo.py"


@pytest.mark.slow
def test_fleet_demo_loses_nothing_and_shows_it():
    done = python(str(DEMO))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert any(line.split() == ["lost", "0"] for line in lines), done.stdout
    assert any("10 of 10" in line for line in lines) and "Nautilus.   (after" in done.stdout
    assert "Files of the workers that still hold it: 0" in done.stdout
