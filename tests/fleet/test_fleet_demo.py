"""The demo of a fleet: everybody is remembered, and nothing is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "fleet_demo.py"


@pytest.mark.slow
def test_fleet_demo_loses_nothing_and_shows_it():
    done = subprocess.run(
        [sys.executable, str(DEMO)],
        capture_output=True,
        text=True,
        timeout=240.0,
        env=os.environ | {"PYTHONPATH": str(DEMO.parents[1])},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert any(line.split() == ["lost", "0"] for line in lines), done.stdout
    assert any("10 of 10" in line for line in lines) and "Nautilus.   (after" in done.stdout
    assert "Files of the workers that still hold it: 0" in done.stdout
