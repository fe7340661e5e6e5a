"""The night's run of all harnesses: nothing is left out, and nothing broken passes."""

from datetime import UTC, datetime

import pytest

from tests.harness import nightly
from tests.harness.command import Harness
from tests.support.rows import each_listed

HARNESS = Harness(
    run=lambda *_: {}, count=10, night=200, seeds=2, laws=("lost",), least={"said": 3.0},
    controls={"early": ("lost or torn", 5)},
)  # fmt: skip


@each_listed("nightly_figures.jsonl", "")
def test_nightly_a_harness_fails_by_its_laws_and_by_too_little(figures, control, wrong):
    assert HARNESS.judge(figures, 10, control) == wrong


def test_nightly_plants_every_fault_and_tries_every_seed():
    assert list(nightly.runs({"m": {"w": HARNESS}}, 0.1, 2001)) == [
        "m --what w --seed 2001 --control early",
        "m --what w --seed 2001 --count 20",
        "m --what w --seed 2002 --count 20",
    ]


def test_nightly_each_planted_fault_is_to_be_caught_by_a_law():
    found = nightly.harnesses()
    assert {"kill9", "forget9", "powerloss", "failover", "isolation", "fleet_faults"} <= {*found}
    for one in (one for rows in found.values() for one in rows.values()):
        caught_by = {law for laws, _ in one.controls.values() for law in laws.split(" or ")}
        assert one.least and caught_by and caught_by <= {*one.laws, "falsified"}


def test_nightly_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    """A run that ended is not repeated on the same commit; one that failed, or was cut off, is."""
    ran, report, fails = list[str](), tmp_path / "abc.jsonl", {"b"}

    def run(arguments: str) -> nightly.Result:
        ran.append(arguments)
        if len(ran) == 2:
            raise KeyboardInterrupt
        result = "failed" if arguments in fails else "passed"
        return nightly.Result(
            run=arguments, result=result, seconds=1.0, at=datetime.now(UTC), output=""
        )

    monkeypatch.setattr(nightly, "run", run)
    with pytest.raises(KeyboardInterrupt):
        nightly.go_on(report, ["a", "b"], 1.0)
    with report.open("ab") as file:
        file.write(b'{"run": "b", "se')  # a machine that was switched off
    assert nightly.go_on(report, ["a", "b"], 1.0) == ["b"] and ran == ["a", "b", "b"]
    fails.clear()
    assert nightly.go_on(report, ["a", "b"], 1.0) == [] and ran[3:] == ["b"]
