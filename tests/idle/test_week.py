"""A few days of daily use with kills, at the size of every pull request; the week is in `make nightly`."""

import random
from pathlib import Path

import pytest

from tests.harness import week

NONE = ("left", "asked_again", "moved", "missing", "twice", "wrong", "by_rule")


def test_week_every_rollup_is_there_once_after_kills(tmp_path: Path):
    seed = random.randrange(1 << 30)
    told = week.run(tmp_path / "store", days=3, kills=12, seed=seed)
    assert told["kills"] >= 10 and told["rollups"] == 2 * (3 + 1), (seed, told)
    assert {name: told[name] for name in NONE} == dict.fromkeys(NONE, 0), (seed, told)


def test_week_control_torn_writes_are_found_out(tmp_path: Path):
    told = week.run(tmp_path / "store", days=2, kills=20, seed=3, control=True)
    assert told["kills"] and told["missing"] + told["wrong"] > 0


@pytest.mark.slow
def test_week_a_whole_week(tmp_path: Path):
    told = week.run(tmp_path / "store", days=7, kills=50, seed=7)
    assert {name: told[name] for name in NONE} == dict.fromkeys(NONE, 0), told
