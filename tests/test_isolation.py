"""Nobody reads what another said: a short run of `tests.harness.isolation`, and its controls."""

from pathlib import Path

import pytest

from tests.harness.isolation import CONTROLS, run

CHILD = ("seal",)  # half a second each
THOUGHTS = ("think",)  # a second or more each, the more was said
IDLE = ("prompt", "thought")  # leaks of idle work
LATE = ("logs", "filter", "ended")  # caught when everything is read, or seldom


def test_isolation_nobody_reads_what_another_said(tmp_path: Path) -> None:
    told = run(tmp_path / "store", 250, seed=11, but=(*CHILD, *THOUGHTS))
    assert told["leak"] == "" and told["looked"] > 1000, told
    assert told["requests"] > 100 and told["answers"] > 20, told


@pytest.mark.slow
def test_isolation_nobody_reads_what_was_thought_of_another(tmp_path: Path) -> None:
    told = run(tmp_path / "store", 500, seed=4, but=CHILD)
    assert told["leak"] == "" and told["think"] and told["thoughts"] > 20, told


def controls() -> list:
    slow = (*IDLE, *LATE)
    marks = {name: pytest.mark.slow for name in slow}
    return [pytest.param(name, marks=marks[name]) if name in marks else name for name in CONTROLS]


@pytest.mark.parametrize("control", controls())
def test_isolation_a_planted_leak_is_caught_by_its_law(tmp_path: Path, control: str) -> None:
    but = CHILD if control in IDLE else (*CHILD, *THOUGHTS)
    told = run(tmp_path / "store", 500, seed=5, control=control, but=but)
    assert told["law"] in CONTROLS[control][0].split(), told


def test_isolation_every_law_of_what_leaves_has_a_leak() -> None:
    laws = {law for laws, _ in CONTROLS.values() for law in laws.split()}
    assert laws >= {"recall", "context", "tools", "answers", "heads", "speakers", "guests",
                    "forgotten", "record", "log", "caches", "local", "index", "search", "prompts",
                    "thoughts", "files"}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_isolation_sealed_indexes_hold_nobody_elses_words(tmp_path: Path, seed: int) -> None:
    assert run(tmp_path / "store", 2000, seed)["leak"] == ""
