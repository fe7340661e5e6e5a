"""Runs the harnesses of ``tests.harness`` as the programs they are, with a seed of their own."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def harness(name: str, *args: str) -> dict:
    """Return the figures that a harness prints; skip the test where it cannot run."""
    seed = str(random.randrange(1 << 30))
    command = [sys.executable, "-m", f"tests.harness.{name}", "--seed", seed, *args]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    found = json.loads(done.stdout)
    if "skipped" in found:
        pytest.skip(found["skipped"])
    return found


def nothing(found: dict, *names: str) -> None:
    """Assert that every named figure is 0."""
    assert {name: found[name] for name in names} == dict.fromkeys(names, 0), found
