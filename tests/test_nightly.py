"""The night's run of all harnesses: nothing is left out, and nothing broken passes."""

import ast
import json
from pathlib import Path

import pytest

from tests.harness import nightly
from tests.harness.nightly import RUNS, Harness

FOLDER = Path(nightly.__file__).parent
ROW = Harness(name="r", module="kill9", count=("--kills", 200), laws=("lost",))
CONTROL = Harness(name="c", module="kill9", laws=("lost",), control=True)


def has_main(path: Path) -> bool:
    tree = ast.parse(path.read_text())
    return any(isinstance(one, ast.FunctionDef) and one.name == "main" for one in tree.body)


def test_nightly_runs_every_harness() -> None:
    commands = {path.stem for path in FOLDER.glob("*.py") if has_main(path)} - {"nightly"}
    assert commands == {row.module for row in RUNS}


def test_nightly_names_each_run_once() -> None:
    runs = [
        (row.name, *nightly.arguments(row, seed, 1.0))
        for row in RUNS
        for seed in row.seeds or (None,)
    ]
    assert len({name for name, *_ in runs}) == len(RUNS) and len(set(map(str, runs))) == len(runs)


@pytest.mark.parametrize(
    ("row", "status", "printed", "result"),
    [
        (ROW, 0, {"lost": 0, "acked": 9}, "passed"),
        (ROW, 0, {"lost": 1}, "failed"),
        (ROW, 1, {"lost": 0}, "failed"),
        (ROW, 0, {"acked": 9}, "failed"),
        (ROW, 0, {"skipped": "no tracing"}, "skipped"),
        (CONTROL, 0, {"lost": 3}, "passed"),
        (CONTROL, 0, {"lost": 0}, "failed"),
        (Harness(name="s", module="soak"), 0, {}, "passed"),
        (Harness(name="s", module="soak"), 1, {}, "failed"),
    ],
)
def test_nightly_judges_by_the_laws(row, status, printed, result) -> None:
    output = f"a line of log\n{json.dumps(printed)}\n"
    assert nightly.judge(row, status, output)[0] == result


def test_nightly_goes_on_where_it_was_stopped(tmp_path, monkeypatch, capsys) -> None:
    """A run that ended is not repeated on the same commit; one that failed, or was cut off, is."""
    rows = (
        Harness(name="one", module="one", seeds=(1, 2)),
        Harness(name="two", module="two", seeds=()),
    )
    ran: list[tuple[str, int | None]] = []
    fails = {"two"}

    def run(row, seed, share, commit):
        ran.append((row.name, seed))
        if len(ran) == 2:
            raise KeyboardInterrupt
        return nightly.Result(
            name=row.name, seed=seed, count=" ".join(nightly.arguments(row, seed, share)), laws={},
            result="failed" if row.name in fails else "passed", seconds=1.0,
            at=nightly.datetime.now(nightly.UTC), commit=commit, versions={}, output="",
        )  # fmt: skip

    monkeypatch.setattr(nightly, "RUNS", rows)
    monkeypatch.setattr(nightly, "REPORTS", tmp_path / "scratch")
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    monkeypatch.setattr(nightly, "state_of", lambda root: "abc")
    monkeypatch.setattr(nightly, "run", run)
    monkeypatch.setattr("sys.argv", ["nightly"])
    with pytest.raises(KeyboardInterrupt):
        nightly.main()
    with (tmp_path / "scratch" / "abc.jsonl").open("ab") as file:
        file.write(b'{"name": "one", "se')  # a machine that was switched off
    with pytest.raises(SystemExit) as ended:
        nightly.main()
    assert ended.value.code == 1 and ran == [("one", 1), ("one", 2), ("one", 2), ("two", None)]
    fails.clear()
    with pytest.raises(SystemExit) as ended:
        nightly.main()
    assert ended.value.code == 0 and ran[4:] == [("two", None)]
    assert "3 passed, 0 not run" in capsys.readouterr().out


def test_nightly_names_the_versions_of_what_it_ran_on() -> None:
    found = nightly.versions()
    assert found["python"] and found["lmdb"] and found["pipecat-ai"]
    assert nightly._version("no such package") == ""
