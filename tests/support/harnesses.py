"""Runs the harnesses of ``tests.harness`` as the programs they are, with a seed of their own."""

import json
from typing import Any

import pytest

from tests.support.other_process import python


def harness(name: str, *arguments: str) -> dict[str, Any]:
    """Return the figures of a harness that exits with 0; skip the test where it cannot run."""
    done = python("-W", "ignore", "-m", f"tests.harness.{name}", *arguments, timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if "skipped" in found:
        pytest.skip(found["skipped"])
    return found
