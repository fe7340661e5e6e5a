"""Nobody reads what another said: a short run of `tests.harness.isolation`, and its controls."""

from pathlib import Path

import pytest

from tests.harness.isolation import CONTROLS, run

CHILD = ("seal",)  # half a second each
THOUGHTS = ("think",)  # a second or more each, the more was said


def test_isolation_nobody_reads_what_another_said(tmp_path: Path) -> None:
    told = run(tmp_path / "store", 500, seed=11, but=(*CHILD, *THOUGHTS))
    assert told["leak"] == "" and told["looked"] > 1000, told


def test_isolation_nobody_reads_what_was_thought_of_another(tmp_path: Path) -> None:
    told = run(tmp_path / "store", 130, seed=3, but=CHILD)
    assert told["leak"] == "" and told["thoughts"] > 50 and told["prompts"] > 20, told


@pytest.mark.parametrize("control", CONTROLS)
def test_isolation_a_planted_leak_is_caught(tmp_path: Path, control: str) -> None:
    but = (*CHILD, "forget", *(THOUGHTS if control != "thought" else ()))
    told = run(tmp_path / "store", 400, seed=5, control=control, but=but)
    assert told["law"] == CONTROLS[control][0], told


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_isolation_sealed_indexes_hold_nobody_elses_words(tmp_path: Path, seed: int) -> None:
    assert run(tmp_path / "store", 2000, seed)["leak"] == ""
