"""A selection of benchmarks in less than 15 minutes, and the tables of docs/performance.md from it.

Results are kept as JSON in ``benchmarks/results``; the page and its plots are made from those files
alone (``--render-only``), so that a table never says what no file says. A table shows results of one
commit: it is refused if its files name several, and left out if none of them names a known one. Real conversations are
measured where the evaluation data lies beside the project, see ``--data``. What cannot be measured here is skipped, and the reason is said. The minutes of each part are printed at the end.

    python -m benchmarks.run_all          a selection: what a user waits for, and what is found
    python -m benchmarks.run_all --all    more turns, 100,000 memories, every data folder: hours
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from platformdirs import user_cache_path

from benchmarks import (
    common,
    datasets,
    plain_figures,
    plots,
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
STUDIES = ("unknown", "contextual")
LONG = "takes long (see --all)"
CHAT = "LoCoMo"  # the one with texts about its turns, and with questions that need no date

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

Results = dict[str, Any]
"""What a benchmark's JSON file holds."""


class Part(Struct, frozen=True):
    """A part of the page, made from a benchmark's result files.

    Attributes:
        write: Its tables.
        draw: Its plot; None for none.
        shows: What the plot shows, for who cannot see it.
    """

    write: Callable[[list[Results]], str]
    draw: Callable[[list[Results], Path], None] | None = None
    shows: str = ""


PARTS = {
    "latency": Part(
        lambda files: speed_tables.latency(files[0]),
        lambda files, path: plots.latency(files[0]["results"], path),
        "Latency by percentile and by stage",
    ),
    "turn": Part(
        lambda files: speed_tables.turn(files[0]),
        lambda files, path: plots.turn(files[0], path),
        "The wait of a turn by percentile",
    ),
    "growth": Part(lambda files: speed_tables.growth(files[0])),
    "preempt": Part(lambda files: speed_tables.preempt(files[0])),
    "idle_cost": Part(lambda files: speed_tables.idle_cost(files[0])),
    "prefix": Part(lambda files: tables.prefix(files[0])),
    "footprint": Part(lambda files: tables.footprint(files[0])),
    "quality": Part(
        recall_tables.quality,
        lambda files, path: plots.quality([r for each in files for r in each["results"]], path),
        "Recall by data set",
    ),
    "unknown": Part(lambda files: recall_tables.unknown(files[0])),
    "contextual": Part(lambda files: recall_tables.contextual(files[0])),
    "peers": Part(
        lambda files: speed_tables.peers(files[0]),
        lambda files, path: plots.peers(files[0]["results"], path),
        "Search time and recall by peer",
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
        cache: Keeps made-up stores.
        every: Larger stores and every data folder too.

    Yields:
        The steps.
    """
    stores = ("--cache", str(cache / "stores"))
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
    yield from _of_data(data, every=every)
    if importlib.util.find_spec("mem0") is None:
        yield Step("peers", skipped="they are not installed (extra: peers)")
        return
    questions = ("--data", str(data / CHAT)) if (data / CHAT).is_dir() else ()
    yield Step("peers", (*PEERS[every], *questions), "peers.json")


def _of_data(data: Path, *, every: bool) -> Iterator[Step]:
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
            yield Step("quality", ("--data", str(folder)), result)
        else:
            yield Step("quality", skipped=f"{folder.name} {LONG}")
    if not every:
        for name in STUDIES:
            yield Step(name, skipped=f"it {LONG}")
        return
    if (data / CHAT).is_dir():  # it judges; what is fitted on are the others
        yield Step("unknown", tuple(chosen), "unknown.json")
    else:
        yield Step("unknown", skipped=f"{CHAT} is not here")
    if (data / CHAT / recorded_llm.NOTES).is_file():
        noted = ("--llm", "recorded", "--only-noted")
        yield Step("contextual", ("--data", str(data / CHAT), *noted), "contextual.json")
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
    """Write the pages' tables and plots from the results that there are.

    Raises:
        MixedCommitsError: A table's files were measured on several commits.
    """
    files = kept()
    parts = {name: section(name, files) for name in PARTS}
    for name, part in PARTS.items():
        if part.draw:
            picture = PAGE.parent / f"{name}.png"
            if measured := plain_figures.known(of(name, files)):
                part.draw(list(measured.values()), picture)
            else:
                picture.unlink(missing_ok=True)  # of results that the page does not show
    _fill(PAGE, parts)
    _fill(README, {"figures": plain_figures.readme(files)})
    _fill(MACHINES, {"machines": plain_figures.machines(files)})
    left_out = [name for name in PARTS if not plain_figures.known(of(name, files))]
    common.console.print(f"{PAGE.name}: written; without {', '.join(left_out) or 'nothing'}")


def section(name: str, files: Mapping[str, Any]) -> str:
    """Write a part of the page, beginning with where and when it was measured.

    Args:
        name: Of ``PARTS``.
        files: Results by name of their file.

    Returns:
        Markdown; says so where nothing was measured on a known commit.

    Raises:
        MixedCommitsError: Its files were measured on several commits.
    """
    mine = of(name, files)
    measured = plain_figures.known(mine)
    unknown = [f"`{file}`" for file in mine if file not in measured]
    left_out = f"Left out: {', '.join(unknown)}, not measured on a known commit."
    if not measured:
        return left_out if unknown else "Not measured yet."
    part = PARTS[name]
    shown = [tables.caption(measured), part.write(list(measured.values()))]
    if unknown:
        shown.append(left_out)
    if part.draw:
        shown.append(f"![{part.shows}]({name}.png)")
    return "\n\n".join(shown)


def of(name: str, files: Mapping[str, Any]) -> dict[str, Any]:
    """Choose a benchmark's files: NAME.json, NAME-WHAT.json."""
    return {file: files[file] for file in files if re.fullmatch(rf"{name}(-.*)?\.json", file)}


def kept() -> dict[str, Any]:
    """Read the results that are kept, by name of their file."""
    return {file.name: common.read_json(file) for file in sorted(common.RESULTS.glob("*.json"))}


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
        help="keep made-up stores in this folder (default: the user's cache)",
    )
    parser.add_argument(
        "--all", action="store_true", help="more turns, 100,000 memories, every data folder"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
