"""Idle work under ``kill -9``, at the size of every pull request, with its negative control."""

import json
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def harness(*args: str) -> dict:
    seed = str(random.randrange(1 << 30))
    command = [sys.executable, "-m", "tests.harness.jobs9", "--seed", seed, *args]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return json.loads(done.stdout)


def test_jobs_crash_a_kill_loses_no_task_and_does_none_twice():
    found = harness("--kills", "40")
    assert found["done"] > 50 and found["dead"] > 5
    names = ("lost", "half", "unlogged", "twice", "accused", "unfinished", "wrongly_dead")
    assert {name: found[name] for name in names} == dict.fromkeys(names, 0), found


def test_jobs_crash_control_a_result_and_its_end_apart_are_found_out():
    # A kill falls between the two by chance; 48 kills that all miss it are a law that sees nothing.
    assert any(harness("--kills", "12", "--control")["half"] > 0 for _ in range(4))
