"""The harness of starts, with its negative control."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def harness(*args: str) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.harness.starts", *args]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_starts_cost_no_reply_and_no_word() -> None:
    found = harness("--rounds", "12", "--seed", "11")
    laws = ("late", "deaf", "lost", "doubled", "out of order", "silent")
    assert [law for law in laws if found[law]] == [], found


@pytest.mark.slow
def test_starts_a_backlog_that_drops_is_caught_as_lost() -> None:
    assert harness("--rounds", "6", "--seed", "3", "--control")["lost"]
