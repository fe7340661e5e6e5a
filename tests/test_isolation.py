"""Nobody reads what another said: a short run of `tests.harness.isolation`, and planted leaks."""

from pathlib import Path

import pytest

from tests.harness.isolation import HARNESSES
from tests.support.harnesses import harness


def test_isolation_nobody_reads_what_another_said() -> None:
    harness("isolation", "--count", "100")


@pytest.mark.parametrize("leak", ["cache", "forgotten", "local", "guest"])  # by night: every one
def test_isolation_a_planted_leak_is_caught_by_its_law(tmp_path: Path, leak: str) -> None:
    one = HARNESSES["households"]
    found = one.run(tmp_path, one.controls[leak][1], 5, leak)
    assert one.judge(found, 0, leak) == [], found
