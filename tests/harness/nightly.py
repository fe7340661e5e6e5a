"""Every harness with the counts of a night, and every planted fault, in one report.

Each run is a process of its own, and ends as a line of JSON in ``scratch/nightly/<commit>.jsonl``.
Started again on the same commit, finished runs are skipped, failed ones repeated. A run passes or
fails by its exit status.

    python -m tests.harness.nightly                     # about an hour and a half on two cores
    python -m tests.harness.nightly --share 0.01        # each with a hundredth of its count
    python -m tests.harness.nightly --only kill9 --only soak --seed 2001
"""

import argparse
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.harness.command import Harness

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "scratch" / "nightly"
MOST_CHARS = 4000  # of a run's output, from its end
AT_ONCE = 2  # runs beside each other: each has a core
LONGEST_S = 1800.0  # of one run: beyond it, it is stuck, also on a busy machine


class Result(Struct, frozen=True, kw_only=True):
    """A line of the report; the result is "passed", "failed" or "skipped" (it cannot run here)."""

    run: str
    result: str
    seconds: float
    at: datetime
    output: str


def harnesses() -> dict[str, dict[str, Harness]]:
    """Return the harnesses by module."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    names = [path.stem for path in paths if "\nHARNESSES = {" in path.read_text()]
    return {name: importlib.import_module(f"tests.harness.{name}").HARNESSES for name in names}


def runs(found: dict[str, dict[str, Harness]], share: float, first: int) -> Iterator[str]:
    """Yield the arguments of each run: planted faults first, since laws that see nothing hold."""
    every = [(module, what, one) for module, rows in found.items() for what, one in rows.items()]
    for module, what, one in every:
        for control in one.controls:
            yield f"{module} --what {what} --seed {first} --control {control}"
    for module, what, one in sorted(every, key=lambda row: row[2].seeds):
        for seed in range(first, first + one.seeds):
            yield f"{module} --what {what} --seed {seed} --count {max(1, round(share * one.night))}"


def run(arguments: str) -> Result:
    module, *rest = arguments.split()
    command = [sys.executable, "-m", f"tests.harness.{module}", *rest]
    began, at = time.monotonic(), datetime.now(UTC)
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        result, output = "failed", f"no end after {LONGEST_S:.0f} s"
    else:
        skipped = done.stdout.startswith('{"skipped"')
        result = "failed" if done.returncode else "skipped" if skipped else "passed"
        output = done.stdout + done.stderr[-MOST_CHARS:]
    seconds = round(time.monotonic() - began, 1)
    return Result(run=arguments, result=result, seconds=seconds, at=at, output=output[-MOST_CHARS:])


def state_of(root: Path) -> str:
    """Return the commit, marked where something differs from it."""
    words = ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def read(report: Path) -> dict[str, Result]:
    """Return the last result of each run; a line that a stop cut off is left out."""
    found: dict[str, Result] = {}
    for line in report.read_bytes().splitlines() if report.exists() else ():
        try:
            result = msgspec.json.decode(line, type=Result)
        except msgspec.DecodeError:
            continue
        found[result.run] = result
    return found


def append(report: Path, result: Result) -> None:
    report.parent.mkdir(parents=True, exist_ok=True)
    cut_off = report.exists() and not report.read_bytes().endswith(b"\n")
    with report.open("ab") as file:
        file.write(b"\n" * cut_off + msgspec.json.encode(result) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def go_on(report: Path, due: Sequence[str], hours: float) -> list[str]:
    """Do what has no result, or a failed one; return the runs that have not passed then."""
    ends, before = time.monotonic() + 3600 * hours, read(report)

    def begin(one: str) -> None:
        if time.monotonic() < ends:
            result = run(one)
            append(report, result)
            print(
                f"{datetime.now():%H:%M} {result.result}, {result.seconds:.0f} s: {one}", flush=True
            )

    again = [one for one in due if one not in before or before[one].result == "failed"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(begin, again))
    done = read(report)
    return [one for one in due if one not in done or done[one].result == "failed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0, help="begin no run after this time")
    parser.add_argument("--share", type=float, default=1.0, help="of each count")
    parser.add_argument("--only", action="append", help="a module; may be repeated")
    parser.add_argument("--seed", type=int, default=1, help="the first of each harness")
    options = parser.parse_args()
    chosen = {name: rows for name, rows in harnesses().items() if name in (options.only or [name])}
    report = REPORTS / f"{state_of(ROOT)}.jsonl"
    due = list(runs(chosen, options.share, options.seed))
    wrong = go_on(report, due, options.hours)
    print(*(f"failed or not run: {one}" for one in wrong), report, sep="\n")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
