"""A selection of benchmarks in less than 15 minutes, and the tables of docs/performance.md from it.

Results are kept as JSON in ``benchmarks/results``; the page and its plots are made from those files
alone (``--render-only``), so that a table never says what no file says. Real conversations are
measured where the evaluation data lies beside the project, see ``--data``; their document vectors
are kept from run to run (``--cache``), because the first time makes them for minutes. What cannot be
measured here is skipped, and the reason is said. The minutes of each part are printed at the end.

    python -m benchmarks.run_all          a selection: what a user waits for, and what is found
    python -m benchmarks.run_all --all    more turns, 100,000 memories, every data folder: hours
"""

import argparse
import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from platformdirs import user_cache_path

from benchmarks import (
    common,
    datasets,
    footprint,
    idle_tables,
    plain_figures,
    plots,
    recall_plots,
    recall_tables,
    recorded_llm,
    speed_tables,
    tables,
)

ROOT = Path(__file__).parent.parent
PAGE, README = ROOT / "docs" / "performance.md", ROOT / "README.md"
MACHINES = ROOT / "docs" / "machines.md"
DATA = ROOT.parent / "shared" / "data"
CACHE = user_cache_path("slowcat-memory") / "benchmarks"
QUICK = ("LoCoMo", "MADialEN")  # the others embed for minutes
STUDIES = ("ablation", "calibration", "unknown", "mangled", "contextual")
LONG = "takes long (see --all)"
CHAT = "LoCoMo"  # the one with texts about its turns, and with questions that need no date
MOST_MINUTES = 15.0  # of the selection, with models, stores and document vectors at hand

# Arguments of the selection, and of --all.
LATENCY = {
    False: ("--sizes", "10000", "--queries", "500"),
    True: ("--sizes", "1000", "10000", "100000"),
}
TURN = {
    False: (
        *("--turns", "30", "--pause", "0.3", "2", "--arms"),
        *("one core: segmented", "both cores: segmented", "one core: streaming"),
        *("one core: streaming, late", "one core: segmented, cold", "one core: Mem0's"),
    ),
    True: ("--turns", "100"),
}
PREEMPT = {False: ("--interruptions", "60"), True: ()}
IDLE_COST = {False: ("--turns", "75"), True: ("--turns", "300")}
PEERS = {
    False: (
        *("--queries", "80", "--paused", "15", "--adds", "20", "--peers"),
        *("slowcat", "mem0 (faiss)", "chroma", "lancedb", "tantivy + FAISS", "sqlite"),
    ),
    True: (),
}

Written = list[dict[str, Any]]


class Part(Struct, frozen=True):
    """A part of the page, made from a benchmark's result files.

    Attributes:
        write: Its tables.
        draw: Its plot; None for none.
    """

    write: Callable[[Written], str]
    draw: Callable[[Written, Path], None] | None = None


PARTS = {
    "latency": Part(
        lambda written: speed_tables.latency(written[0]),
        lambda written, path: plots.latency(written[0]["results"], path),
    ),
    "turn": Part(
        lambda written: speed_tables.turn(written[0]),
        lambda written, path: _draw_turn(written[0], path),
    ),
    "growth": Part(lambda written: speed_tables.growth(written[0])),
    "preempt": Part(lambda written: idle_tables.preempt(written[0])),
    "idle_cost": Part(lambda written: idle_tables.idle_cost(written[0])),
    "prefix": Part(
        lambda written: tables.prefix(written[0]),
        lambda written, path: plots.prefix(tables.unrepeated(written[0]), path),
    ),
    "footprint": Part(
        lambda written: tables.footprint(written[0]),
        lambda written, path: plots.footprint(written[0]["results"], footprint.SOURCES_MB, path),
    ),
    "quality": Part(
        recall_tables.quality,
        lambda written, path: recall_plots.quality(_joined(written), path),
    ),
    "mangled": Part(
        recall_tables.mangled,
        lambda written, path: recall_plots.mangled(_joined(written), path),
    ),
    "ablation": Part(
        lambda written: recall_tables.ablation(written[0]),
        lambda written, path: recall_plots.ablation(written[0]["results"], path),
    ),
    "calibration": Part(
        lambda written: recall_tables.calibration(written[0]),
        lambda written, path: recall_plots.calibration(written[0], path),
    ),
    "unknown": Part(lambda written: recall_tables.unknown(written[0])),
    "contextual": Part(
        lambda written: recall_tables.contextual(written[0]),
        lambda written, path: recall_plots.contextual(written[0]["results"], path),
    ),
    "peers": Part(
        lambda written: speed_tables.peers(written[0]),
        lambda written, path: plots.peers(written[0], path),
    ),
}


class Step(Struct, frozen=True):
    """A benchmark to run, or why not.

    Attributes:
        name: Of its module.
        arguments: Its command line.
        result: The file it writes in ``benchmarks/results``.
        skipped: Why it is not run; "" when it is.
    """

    name: str
    arguments: tuple[str, ...] = ()
    result: str = ""
    skipped: str = ""


def main() -> None:
    options = _arguments()
    if not options.render_only:
        steps = plan(options.data, options.cache, every=options.all)
        spent = [(step, _run(step)) for step in steps]
        _show_minutes(spent)
    render()


def plan(data: Path, cache: Path, *, every: bool) -> Iterator[Step]:
    """Say what to run, in order.

    Args:
        data: The folder of data folders; need not exist.
        cache: Keeps document vectors and made-up stores.
        every: Larger stores and every data folder too.

    Yields:
        The steps.
    """
    stores = ("--cache", str(cache / "stores"))
    vectors = ("--cache", str(cache / "vectors"))
    yield Step("latency", (*LATENCY[every], *stores), "latency.json")
    yield Step("turn", (*TURN[every], *stores), "turn.json")
    yield Step("preempt", PREEMPT[every], "preempt.json")
    yield Step("idle_cost", (*IDLE_COST[every], *stores), "idle_cost.json")
    yield Step("prefix", result="prefix.json")
    yield Step("footprint", stores, "footprint.json")
    if every:
        yield Step("growth", stores, "growth.json")
    else:
        yield Step("growth", skipped=f"100,000 memories {LONG}")
    yield from _of_data(data, vectors, every=every)
    if importlib.util.find_spec("mem0") is None:
        yield Step("peers", skipped="they are not installed (extra: peers)")
        return
    questions = ("--data", str(data / CHAT)) if (data / CHAT).is_dir() else ()
    yield Step("peers", (*PEERS[every], *questions, *vectors), "peers.json")


def _of_data(data: Path, vectors: Sequence[str], *, every: bool) -> Iterator[Step]:
    """Say what to run on real conversations."""
    if not data.is_dir():
        for name in ("quality", *STUDIES):
            yield Step(name, skipped="the evaluation data is not here (see --data)")
        return
    chosen = []
    for folder in datasets.find([data]):
        if every or folder.name in QUICK:
            chosen += ["--data", str(folder)]
            result = f"quality-{folder.name.lower()}.json"
            yield Step("quality", ("--data", str(folder), *vectors), result)
        else:
            yield Step("quality", skipped=f"{folder.name} {LONG}")
    if not every:
        for name in STUDIES:
            yield Step(name, skipped=f"it {LONG}")
        return
    yield Step("ablation", (*chosen, *vectors), "ablation.json")
    if (data / CHAT).is_dir():  # it judges; what is fitted on are the others
        yield Step("calibration", (*chosen, *vectors), "calibration.json")
        yield Step("unknown", (*chosen, *vectors), "unknown.json")
        chat = ("--data", str(data / CHAT))
        yield Step("mangled", (*chat, *vectors), "mangled-locomo.json")
        yield Step("mangled", (*chat, *vectors, "--no-vectors"), "mangled-locomo-words.json")
    else:
        for name in ("calibration", "unknown", "mangled"):
            yield Step(name, skipped=f"{CHAT} is not here")
    if (data / CHAT / recorded_llm.NOTES).is_file():
        noted = ("--llm", "recorded", "--only-noted")
        yield Step("contextual", ("--data", str(data / CHAT), *vectors, *noted), "contextual.json")
    else:
        yield Step("contextual", skipped=f"there is no {recorded_llm.NOTES} in {CHAT}")


def _run(step: Step) -> float:
    """Run a benchmark in a process of its own, so that none warms or loads the next; minutes."""
    if step.skipped:
        common.console.print(f"{step.name}: skipped, {step.skipped}")
        return 0.0
    common.console.rule(step.name)
    began = time.perf_counter()
    written = ("--json", str(common.RESULTS / step.result))
    command = [sys.executable, "-m", f"benchmarks.{step.name}", *step.arguments, *written]
    subprocess.run(command, check=True)
    return (time.perf_counter() - began) / 60


def _show_minutes(spent: Sequence[tuple[Step, float]]) -> None:
    rows = [(step.result or step.name, step.skipped or minutes) for step, minutes in spent]
    total = sum(minutes for _, minutes in spent)
    common.table("minutes", ("", "minutes"), [*rows, ("all", total)])


def render() -> None:
    """Write the page's tables and plots from the results that there are."""
    results = kept()
    parts = {name: PARTS[name].write(written) for name, written in results.items()}
    for name, written in results.items():
        if draw := PARTS[name].draw:
            draw(written, PAGE.parent / f"{name}.png")
    if all(name in results for name in plain_figures.NEEDS):
        parts["figures"] = tables.figures(results)
        _fill(README, {"figures": plain_figures.plain(results)})
        _fill(MACHINES, {"machines": plain_figures.machines(results)})
    _fill(PAGE, parts)
    common.console.print(f"{PAGE.name}: {', '.join(parts) or 'nothing'} written")
    if missing := [name for name in PARTS if name not in results]:
        common.console.print(f"no results yet of {', '.join(missing)}: `make bench`")


def kept() -> dict[str, Written]:
    """Read the results that are kept.

    Returns:
        Each benchmark's files, by its name.
    """
    files = {name: sorted(common.RESULTS.glob(f"{name}*.json")) for name in PARTS}
    return {name: [common.read_json(file) for file in files[name]] for name in PARTS if files[name]}


def _draw_turn(written: dict[str, Any], path: Path) -> None:
    plots.turn(written, path)
    if any("parts" in arm for arm in written["arms"].values()):
        plots.budget(written, path.with_name("budget.png"))


def _joined(written: Written) -> list[dict[str, Any]]:
    return [result for each in written for result in each["results"]]


def _fill(page: Path, parts: dict[str, str]) -> None:
    page.write_text(tables.fill(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--render-only", action="store_true", help="measure nothing, write the page"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder of data folders")
    parser.add_argument(
        "--cache",
        type=Path,
        default=CACHE,
        help="keep document vectors and made-up stores in this folder (default: the user's cache)",
    )
    parser.add_argument(
        "--all", action="store_true", help="more turns, 100,000 memories, every data folder"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
