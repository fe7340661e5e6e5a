"""Every harness, with counts that a night can hold, and one report.

``RUNS`` is the table. Each run is a process of its own; its result is a line of JSON in
``scratch/nightly/<commit>.jsonl``, written when the run has ended. Started again on the same commit,
finished runs are skipped, failed ones repeated. A run fails by its exit status, by a law that its
output names as broken, or by an output that lacks a law; a control fails if its own laws hold.

    python -m tests.harness.nightly                     # about 8 hours on two cores
    python -m tests.harness.nightly --share 0.01        # each with a hundredth of its count
    python -m tests.harness.nightly --only kill9 --only soak
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.written.reach import LAWS as WRITTEN_REACH

ROOT = Path(__file__).resolve().parents[2]
REPORTS = ROOT / "scratch" / "nightly"
VERSIONS = (
    "pipecat-slowcat-memory",
    "pipecat-ai",
    "lmdb",
    "msgspec",
    "numpy",
    "faiss-cpu",
    "bm25s",
)
MOST_CHARS = 4000  # of a run's output, from its end
LONGEST_S = 4 * 3600.0  # of one run: beyond it, it is stuck


class Harness(Struct, frozen=True, kw_only=True):
    """A row of the table.

    Attributes:
        module: Of ``tests.harness``.
        count: The option that says how much, and its value; "" for none.
        seeds: A run for each; empty without a ``--seed``.
        options: Further arguments.
        laws: Names in the printed JSON whose values must be 0 or empty; without any, the exit
            status alone decides.
        control: Whether a fault is planted: then at least one law must be broken.
    """

    name: str
    module: str
    count: tuple[str, int] = ("", 0)
    seeds: tuple[int, ...] = (1,)
    options: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    control: bool = False


KILL9 = ("lost", "torn", "corrupt", "accused", "torn_file")
FORGET9 = (
    *("lost", "corrupt", "undead", "half", "residue", "torn", "orphans", "accused"),
    *("index", "backups", "drafts", "recalled", "unfound", "bad_backups"),
)
JOBS9 = ("lost", "half", "unlogged", "twice", "accused", "unfinished", "wrongly_dead")
WEEK = ("left", "asked_again", "moved", "missing", "twice", "wrong", "by_rule")
POWERLOSS = ("bad", "lost", "corrupt", "undead", "died")
TURNS = ("missing", "doubled", "broken", "edited", "captured", "lost", "repeated", "wrong", "stuck")
WRITTEN = ("facts kept", "orders leaked", "dates wrong", "changes superseded", "answered")
LIVES = ("dates", "superseded", "current", "icebreakers", "opposites", "spoken")
PROGRAMS = ("lost", "doubled", "leaked", "refused")
KILLS = "--kills"
SCENES = ("backup", "restore", "salvage", "index")

# The shortest first, so that a morning's look finds something; controls before what they prove.
RUNS = (
    Harness(name="kill9 control early", module="kill9", count=(KILLS, 48),
            options=("--control", "early"), laws=("lost", "torn"), control=True),
    Harness(name="kill9 control ageing", module="kill9", count=(KILLS, 48),
            options=("--control", "ageing"), laws=("lost", "torn"), control=True),
    Harness(name="forget9 control erase", module="forget9", count=(KILLS, 40),
            options=("--control", "erase"), laws=("residue",), control=True),
    Harness(name="forget9 control tiers", module="forget9", count=(KILLS, 40),
            options=("--control", "tiers"), laws=("residue",), control=True),
    Harness(name="forget9 control thoughts", module="forget9", count=(KILLS, 40),
            options=("--control", "thoughts"), laws=("undead", "half"), control=True),
    Harness(name="forget9 control index", module="forget9", count=(KILLS, 40),
            options=("--control", "index"), laws=("index",), control=True),
    Harness(name="forget9 control backups", module="forget9", count=(KILLS, 40),
            options=("--control", "backups"), laws=("backups",), control=True),
    Harness(name="forget9 control drafts", module="forget9", count=(KILLS, 40),
            options=("--control", "drafts"), laws=("drafts",), control=True),
    Harness(name="forget9 control state", module="forget9", count=(KILLS, 40),
            options=("--control", "state"), laws=("undead", "half", "residue"), control=True),
    Harness(name="lives control", module="simulated_lives", count=("--lives", 1),
            options=("--control",), laws=LIVES, control=True),
    Harness(name="written diaries control", module="written_diaries", seeds=(),
            options=("--control",), laws=WRITTEN, control=True),
    Harness(name="import control name", module="import_trips", count=("--transcripts", 5),
            options=("--control", "name")),
    Harness(name="import control forgotten", module="import_trips", count=("--transcripts", 5),
            options=("--control", "forgotten")),
    Harness(name="failover", module="failover", count=("--count", 300), seeds=()),
    Harness(name="failover starters", module="failover", count=("--count", 20), seeds=(),
            options=("--what", "starters")),
    Harness(name="failover control", module="failover", count=("--count", 40), seeds=(),
            options=("--plant",)),
    Harness(name="many programs", module="many_programs", count=("--minutes", 60), laws=PROGRAMS),
    Harness(name="many programs control", module="many_programs", count=("--minutes", 10),
            options=("--plant",), laws=("leaked",), control=True),
    Harness(name="fleet faults control", module="fleet_faults", seeds=(),
            options=("--what", "controls")),
    Harness(name="fleet faults", module="fleet_faults", options=("--what", "all")),
    Harness(name="fleet kills", module="fleet_faults", count=("--count", 500),
            options=("--what", "kills")),
    Harness(name="fleet races", module="fleet_faults", count=("--count", 1000),
            options=("--what", "races")),
    Harness(name="warm workers", module="warm_workers", count=("--people", 60)),
    Harness(name="starts control", module="starts", count=("--rounds", 12),
            options=("--control",), laws=("lost",), control=True),
    Harness(name="restores control", module="restores", count=("--restores", 20),
            options=("--control", "swap"), laws=("lost", "corrupt"), control=True),
    Harness(name="damage control trees", module="damage", count=("--pages", 100),
            options=("--control", "trees"), laws=("poor", "cut_lost"), control=True),
    Harness(name="damage control undead", module="damage", count=("--pages", 200),
            options=("--control", "undead"), laws=("undead",), control=True),
    *(
        Harness(name=f"powerloss {what} control", module="powerloss", count=("--images", 60),
                options=("--what", what, "--mode", "control"), laws=("bad",), control=True)
        for what in SCENES
    ),
    Harness(name="recall conditions control deaf", module="recall_conditions",
            count=("--recalls", 20), options=("--control", "deaf")),
    Harness(name="recall conditions control spinning", module="recall_conditions",
            count=("--recalls", 5), options=("--control", "spinning")),
    Harness(name="orders", module="orders", seeds=()),
    Harness(name="written diaries", module="written_diaries", count=("--diaries", 9), seeds=(),
            laws=WRITTEN_REACH),
    Harness(name="recall conditions", module="recall_conditions", count=("--recalls", 100)),
    Harness(name="import", module="import_trips", count=("--transcripts", 500)),
    Harness(name="starts", module="starts", count=("--rounds", 200),
            laws=("late", "deaf", "lost", "doubled", "out of order", "silent")),
    Harness(name="restores", module="restores", count=("--restores", 200),
            laws=("lost", "corrupt", "undead", "reused")),
    Harness(name="damage, yield", module="damage", count=("--pages", 1000),
            laws=("poor", "cut_lost", "undead", "died")),
    *(
        Harness(name=f"powerloss {what}", module="powerloss", count=("--images", 600),
                options=("--what", what), laws=POWERLOSS)
        for what in SCENES
    ),
    Harness(name="jobs9 control", module="jobs9", count=(KILLS, 40),
            options=("--control",), laws=("half", "unlogged", "twice"), control=True),
    Harness(name="week control", module="week", count=(KILLS, 50), options=("--control",),
            laws=WEEK, control=True),
    Harness(name="powerloss control", module="powerloss", count=("--images", 300),
            options=("--mode", "control"), laws=("bad",), control=True),
    Harness(name="jobs9", module="jobs9", count=(KILLS, 200), laws=JOBS9),
    Harness(name="week", module="week", count=(KILLS, 50), laws=WEEK),
    Harness(name="week, killed", module="week", count=(KILLS, 50), options=("--kill9",), laws=WEEK),
    Harness(name="preempt", module="preempt", count=("--interruptions", 200)),
    Harness(name="damage", module="damage", count=("--damaged", 300),
            options=("--healthy", "100"), laws=("accused", "missed")),
    Harness(name="forget9", module="forget9", count=(KILLS, 500), laws=FORGET9),
    Harness(name="kill9", module="kill9", count=(KILLS, 2000), laws=KILL9),
    Harness(name="powerloss", module="powerloss", count=("--images", 3000), laws=POWERLOSS),
    Harness(name="lives, no LLM", module="simulated_lives", count=("--lives", 20), laws=LIVES),
    Harness(name="lives, truthful LLM", module="simulated_lives", count=("--lives", 20),
            options=("--llm", "scripted"), laws=LIVES),
    Harness(name="turns", module="turns", count=("--scripts", 1000), laws=TURNS),
    Harness(name="soak", module="soak", count=("--turns", 2000), seeds=(1, 2, 3)),
    Harness(name="isolation", module="isolation", count=("--operations", 20_000),
            seeds=(1, 2, 3, 4, 5), laws=("leak",)),
)  # fmt: skip


class Result(Struct, frozen=True, kw_only=True):
    """A line of the report.

    Attributes:
        count: What was asked for, as in "--kills 2000".
        laws: The values of the row's laws.
        result: "passed", "failed" or "skipped" (the machine forbids it).
        output: The end of what the run printed.
    """

    name: str
    seed: int | None
    count: str
    laws: dict[str, Any]
    result: str
    seconds: float
    at: datetime
    commit: str
    versions: dict[str, str]
    output: str


def arguments(row: Harness, seed: int | None, share: float) -> list[str]:
    """Return the arguments of a run; counts are scaled, controls are not."""
    option, count = row.count
    wanted = count if row.control else max(1, round(share * count))
    counted = [option, str(wanted)] if option else []
    return [*counted, *(["--seed", str(seed)] if seed is not None else []), *row.options]


def judge(row: Harness, status: int, output: str) -> tuple[str, dict[str, Any]]:
    """Return the result of a run and the values of its laws."""
    told = _last_json(output)
    if "skipped" in told:
        return "skipped", {}
    if not row.laws:
        return "passed" if status == 0 else "failed", {}
    values = {law: told.get(law) for law in row.laws}
    complete = all(law in told for law in row.laws)
    broken = any(values.values())
    right = broken if row.control else not broken and status == 0
    return "passed" if complete and right else "failed", values


def _last_json(output: str) -> dict[str, Any]:
    for line in reversed(output.splitlines()):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict):
            return told
    return {}


def run(row: Harness, seed: int | None, share: float, commit: str) -> Result:
    given = arguments(row, seed, share)
    command = [sys.executable, "-m", f"tests.harness.{row.module}", *given]
    began, at = time.monotonic(), datetime.now(UTC)
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
        status, output = done.returncode, done.stdout + done.stderr[-MOST_CHARS:]
        result, laws = judge(row, status, done.stdout)
    except subprocess.TimeoutExpired:
        result, laws, output = "failed", {}, f"no end after {LONGEST_S:.0f} s"
    return Result(
        name=row.name, seed=seed, count=" ".join(given), laws=laws, result=result,
        seconds=round(time.monotonic() - began, 1), at=at, commit=commit, versions=versions(),
        output=output[-MOST_CHARS:],
    )  # fmt: skip


def versions() -> dict[str, str]:
    """Return the versions of Python, the system and the packages; "" for one without metadata."""
    found = {name: _version(name) for name in VERSIONS}
    return {"python": platform.python_version(), "system": platform.platform(), **found}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def state_of(root: Path) -> str:
    """Return the commit, and a digest of what differs from it if anything does."""
    head = _git(root, "rev-parse", "--short=12", "HEAD").strip() or "unknown"
    changed = _git(root, "diff", "HEAD") + _git(root, "status", "--porcelain")
    digest = hashlib.blake2b(changed.encode(), digest_size=4).hexdigest()
    return f"{head}-{digest}" if changed.strip() else head


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout


def read(report: Path) -> list[Result]:
    """Return the results of a report; a line that a stop cut off is left out."""
    found: list[Result] = []
    for line in report.read_bytes().splitlines() if report.exists() else ():
        try:
            found.append(msgspec.json.decode(line, type=Result))
        except msgspec.DecodeError:
            continue
    return found


def append(report: Path, result: Result) -> None:
    report.parent.mkdir(parents=True, exist_ok=True)
    cut_off = report.exists() and not report.read_bytes().endswith(b"\n")
    with report.open("ab") as file:
        file.write(b"\n" * cut_off + msgspec.json.encode(result) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def left(
    rows: Sequence[Harness], done: Sequence[Result], share: float
) -> Iterator[tuple[Harness, int | None]]:
    """Yield the runs without a result; those that failed are repeated."""
    known = {(one.name, one.count) for one in done if one.result != "failed"}
    for row in rows:
        for seed in row.seeds or (None,):
            if (row.name, " ".join(arguments(row, seed, share))) not in known:
                yield row, seed


def summary(results: Sequence[Result], missing: int) -> str:
    """Return the report as Markdown: the last result of each run."""
    last = {(one.name, one.count): one for one in results}
    lines = ["| run | arguments | result | laws | minutes |", "|---|---|---|---|---:|"]
    for one in last.values():
        laws = ", ".join(f"{law} {value}" for law, value in one.laws.items() if value) or "hold"
        shown = laws if one.laws else ""
        lines.append(
            f"| {one.name} | `{one.count}` | {one.result} | {shown} | {one.seconds / 60:.1f} |"
        )
    counts = {name: sum(one.result == name for one in last.values()) for name in RESULTS}
    told = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    return "\n".join([*lines, "", f"{told or 'nothing done'}, {missing} not run"])


RESULTS = ("passed", "failed", "skipped")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=8.0, help="begin no run after this time")
    parser.add_argument("--share", type=float, default=1.0, help="of each count")
    parser.add_argument("--only", action="append", help="a module; may be repeated")
    options = parser.parse_args()
    rows = [row for row in RUNS if not options.only or row.module in options.only]
    commit, ends = state_of(ROOT), time.monotonic() + 3600 * options.hours
    report = REPORTS / f"{commit}.jsonl"
    for row, seed in left(rows, read(report), options.share):
        if time.monotonic() > ends:
            break
        print(f"{datetime.now():%H:%M} {row.name}, seed {seed}", flush=True)
        result = run(row, seed, options.share, commit)
        append(report, result)
        print(f"      {result.result} after {result.seconds / 60:.1f} min", flush=True)
    names = {row.name for row in rows}
    results = [one for one in read(report) if one.name in names]
    failed = {(row.name, seed) for row, seed in left(rows, results, options.share)}
    tried = {(one.name, one.seed) for one in results}
    told = summary(results, len(failed - tried))
    report.with_suffix(".md").write_text(told + "\n")
    print(f"\n{told}\n{report.relative_to(ROOT)}")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
