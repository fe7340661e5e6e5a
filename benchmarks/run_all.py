"""A selection of benchmarks in less than 15 minutes, and the tables of docs/performance.md from it.

Results are kept as JSON in ``benchmarks/results``; the page is made from those files alone
(``--render-only``), so that a table never says what no file says. A run begins by taking away the
results of all parts that it measures, so that a table is of one generation: it shows results of one
commit, is refused if its files name several, and left out if none of them names a known one. Real
conversations are measured where the evaluation data lies beside the project, see ``--data``. What
cannot be measured here is skipped, and the reason is said; its older results stay, and its section
says that they are older. The minutes of each part are printed at the end.

    python -m benchmarks.run_all          a selection: what a user waits for, and what is found
    python -m benchmarks.run_all --all    more turns, 100,000 memories, every data folder: hours
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from benchmarks import common, datasets, growth, latency, plain_figures, prefix, quality, turn
from benchmarks.peers import __main__ as peers
from benchmarks.plain_figures import known
from benchmarks.tables import caption, fill, generation, titled

ROOT = Path(__file__).parent.parent
PAGE, README = ROOT / "docs" / "performance.md", ROOT / "README.md"
MACHINES = ROOT / "docs" / "machines.md"
DATA = ROOT.parent / "shared" / "data"
CACHE = user_cache_path("slowcat-memory") / "benchmarks"
QUICK = ("LoCoMo", "MADialEN")  # the others embed for minutes
CHAT = "LoCoMo"  # judges the peers

# Arguments of the selection, and of --all.
ARGUMENTS: dict[str, dict[bool, tuple[str, ...]]] = {
    "latency": {
        False: ("--sizes", "10000", "--queries", "500"),
        True: ("--sizes", "10000", "100000"),  # benchmarks.figures reads them in this order
    },
    "turn": {
        False: (
            *("--turns", "30", "--pause", "0.3", "2", "--arms"),
            *("one core: segmented", "both cores: segmented", "one core: streaming"),
            "one core: streaming, late",
        ),
        True: ("--turns", "100"),
    },
    "growth": {False: ("--sizes", "10000"), True: ()},
    "peers": {False: ("--queries", "80", "--paused", "15", "--adds", "20"), True: ()},
}
PARTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "latency": latency.report,
    "turn": turn.report,
    "growth": growth.report,
    "prefix": prefix.report,
    "quality": quality.report,
    "peers": peers.report,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--render-only", action="store_true", help="measure nothing, write the page"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder of data folders")
    parser.add_argument(
        "--cache", type=Path, default=CACHE,
        help="keep made-up stores in this folder (default: the user's cache)",
    )  # fmt: skip
    parser.add_argument(
        "--all", action="store_true", help="more turns, 100,000 memories, every data folder"
    )
    options = parser.parse_args()
    if not options.render_only:
        commands = plan(options.data, options.cache, every=options.all)
        for name in [file for part, *_ in commands.values() for file in of(part, kept())]:
            (common.RESULTS / name).unlink(missing_ok=True)
        minutes = {result: _run(result, *command) for result, command in commands.items()}
        rows = [*minutes.items(), ("all", sum(minutes.values()))]
        print(titled("minutes", ("", "minutes"), rows))
    render()


def plan(data: Path, cache: Path, *, every: bool) -> dict[str, tuple[str, ...]]:
    """Say what to run, in order, and print what cannot be measured here.

    Args:
        data: The folder of data folders; need not exist.
        cache: Keeps made-up stores.
        every: Larger stores and every data folder too.

    Returns:
        By the file in ``benchmarks/results`` the module and its command line.
    """
    stores = ("--cache", str(cache / "stores"))
    commands: dict[str, tuple[str, ...]] = {
        f"{name}.json": (name, *ARGUMENTS[name][every], *stores)
        for name in ("latency", "turn", "growth")
    }
    commands["prefix.json"] = ("prefix",)
    if not data.is_dir():
        print("quality is skipped: the evaluation data is not here (see --data)")
    for folder in datasets.find([data]) if data.is_dir() else ():
        if every or folder.name in QUICK:
            result = f"quality-{folder.name.lower()}.json"
            commands[result] = ("quality", "--data", str(folder))
        else:
            print(f"quality is skipped: {folder.name} takes long (see --all)")
    if importlib.util.find_spec("mem0") is None:
        print("peers is skipped: they are not installed (extra: peers)")
    else:
        questions = ("--data", str(data / CHAT)) if (data / CHAT).is_dir() else ()
        commands["peers.json"] = ("peers", *ARGUMENTS["peers"][every], *questions)
    return commands


def _run(result: str, module: str, *arguments: str) -> float:
    """Run a benchmark in a process of its own, so that none warms or loads the next; minutes."""
    common.console.rule(module)
    began = time.perf_counter()
    written = ("--json", str(common.RESULTS / result))
    subprocess.run([sys.executable, "-m", f"benchmarks.{module}", *arguments, *written], check=True)
    return (time.perf_counter() - began) / 60


def render() -> None:
    """Write the pages' tables from the results that there are.

    Raises:
        MixedCommitsError: A table's files were measured on several commits.
    """
    files = kept()
    for page, parts in (
        (PAGE, {name: section(name, files) for name in PARTS}),
        (README, {"figures": plain_figures.readme(files)}),
        (MACHINES, {"machines": plain_figures.machines(files)}),
    ):
        page.write_text(fill(page.read_text("utf-8"), parts), "utf-8")
    left_out = [name for name in PARTS if not known(of(name, files))]
    print(f"{PAGE.name}: written; without {', '.join(left_out) or 'nothing'}")


def section(name: str, files: Mapping[str, Any]) -> str:
    """Write a part of the page as Markdown, beginning with where and when it was measured.

    Args:
        name: Of ``PARTS``.
        files: Results by name of their file.

    Raises:
        MixedCommitsError: Its files were measured on several commits.
    """
    mine = of(name, files)
    measured = known(mine)
    unknown = [f"`{file}`" for file in mine if file not in measured]
    left_out = f"Left out: {', '.join(unknown)}, not measured on a known commit."
    if not measured:
        return left_out if unknown else "Not measured yet."
    written = dict(next(iter(measured.values())))
    if "results" in written:
        written["results"] = [one for each in measured.values() for one in each["results"]]
    shown = [caption(measured), PARTS[name](written)]
    newest = generation(file for part in PARTS for file in known(of(part, files)).values())
    if written["commit"] != newest:
        shown.insert(1, f"Older than what was measured last, on commit `{newest}`.")
    return "\n\n".join([*shown, left_out] if unknown else shown)


def of(name: str, files: Mapping[str, Any]) -> dict[str, Any]:
    """Choose a benchmark's files: NAME.json, NAME-WHAT.json."""
    return {file: files[file] for file in files if re.fullmatch(rf"{name}(-.*)?\.json", file)}


def kept() -> dict[str, Any]:
    """Read the results that are kept, by name of their file."""
    return {file.name: common.read_json(file) for file in sorted(common.RESULTS.glob("*.json"))}


if __name__ == "__main__":
    main()
