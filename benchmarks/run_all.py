"""A selection of benchmarks in about ten minutes, and the tables of docs/performance.md from it.

Results are kept as JSON in ``benchmarks/results``; the page and its plots are made from those files
alone (``--render-only``), so that a table never says what no file says. Real conversations are
measured where the evaluation data lies beside the project, see ``--data``.

    python -m benchmarks.run_all
"""

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks import common, plots, tables

ROOT = Path(__file__).parent.parent
PAGE, README = ROOT / "docs" / "performance.md", ROOT / "README.md"
DATA = Path(__file__).parent.parent.parent / "shared" / "data"
QUICK = ("LoCoMo", "MADialEN")  # the others embed for minutes


def main() -> None:
    options = _arguments()
    if not options.render_only:
        _measure(options.data, every=options.all)
    render()


def render() -> None:
    """Write the page's tables and plots from the results that there are."""
    parts, missing, results = {}, [], {}
    for name, make in tables.RENDER.items():
        files = sorted(common.RESULTS.glob(f"{name}*.json"))
        if not files:
            missing.append(name)
            continue
        written = results[name] = [common.read_json(file) for file in files]
        parts[name] = make(written if name == "quality" else written[0])
        _plot(name, written)
    _fill(PAGE, parts)
    if not missing:
        _fill(README, {"figures": tables.figures(results)})
    common.console.print(f"{PAGE.name}: {', '.join(parts) or 'nothing'} written")
    if missing:
        common.console.print(f"no results yet of {', '.join(missing)}: `make bench`")


def _fill(page: Path, parts: dict[str, str]) -> None:
    page.write_text(tables.fill(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


def _plot(name: str, written: list) -> None:
    path = PAGE.parent / f"{name}.png"
    if name == "quality":
        plots.quality(written, path)
    elif name == "prefix":
        plots.prefix(written[0]["results"][-1], path)
    else:
        plots.latency(written[0]["results"], path)


def _measure(data: Path, *, every: bool) -> None:
    _run("latency", "--json", str(common.RESULTS / "latency.json"))
    _run("prefix", "--json", str(common.RESULTS / "prefix.json"))
    if not data.is_dir():
        common.console.print("quality: skipped, the evaluation data is not here (see --data)")
        return
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        if every or folder.name in QUICK:
            result = common.RESULTS / f"quality-{folder.name.lower()}.json"
            _run("quality", "--data", str(folder), "--json", str(result))
        else:
            common.console.print(f"quality: {folder.name} skipped, it takes long (see --all)")


def _run(name: str, *arguments: str) -> None:
    """Run a benchmark in a process of its own, so that none warms or loads the next."""
    common.console.rule(name)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments], check=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--render-only", action="store_true", help="measure nothing, write the page"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="folder of data folders")
    parser.add_argument("--all", action="store_true", help="every data folder, not the quick ones")
    return parser.parse_args()


if __name__ == "__main__":
    main()
