"""Nobody reads what another said: a short run of `tests.harness.isolation`, and planted leaks."""

from pathlib import Path

import pytest

from tests.harness.isolation import CONTROLS, HARNESSES
from tests.support.harnesses import cases, harness


@pytest.mark.parametrize("run", cases("--count 100", "slow --count 500"))
def test_isolation_nobody_reads_what_another_said(run: str) -> None:
    harness("isolation", *run.split())


QUICK = ("cache", "forgotten", "local", "guest")  # the others are of the night


@pytest.mark.parametrize(
    "leak", cases(*(name if name in QUICK else f"slow {name}" for name in CONTROLS))
)
def test_isolation_a_planted_leak_is_caught_by_its_law(tmp_path: Path, leak: str) -> None:
    one = HARNESSES["households"]
    found = one.run(tmp_path, one.controls[leak][1], 5, leak)
    assert one.judge(found, 0, leak) == [], found
