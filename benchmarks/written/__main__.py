"""What does the memory make of what a model writes: of a strong one's text, and of a sloppy one's?

Diaries (``benchmarks/data/written``) say of every turn what a careful strong model would write about
it, and what a small one. They are played through the real processor with the product's own client,
parser and checks, without a model, with the good one, and with the sloppy one; then laws count what
was kept, and questions are laws.

    python -m benchmarks.written                              # all diaries and models
    python -m benchmarks.written --half tuned --llm good --wrong "facts kept"

Rules are written with the tuned half; the figures that count are those of the held-out half, whose
cases are never printed.

The JSON: ``runs``: for each diary and model its name, language, half, model, turns,
seconds, ``laws`` (``n``, ``hits``, their ``share``, and ``by`` group), ``questions`` and ``economy``.
``by_half`` has the sums.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import common
from benchmarks.tables import titled
from benchmarks.written import laws
from benchmarks.written.diary import FOLDER, Diary, load_all
from benchmarks.written.found import Found
from benchmarks.written.laws import LAWS, Case, counts
from benchmarks.written.play import MODES, Mode, Played, play

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
HALVES = ("tuned", "held out")
ASKED = ("answered", "outdated")


def main() -> None:
    options = _arguments()
    runs = list(_runs(options))
    written = {
        "runs": runs,
        "by_half": {half: summed([run for run in runs if run["half"] == half]) for half in HALVES},
    }
    show(written)
    common.write_json(options.json, written)


def _runs(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for diary in load_all(options.folder):
        if options.half in ("both", diary.half):
            for mode in MODES if options.llm == "all" else (options.llm,):
                yield _run(diary, mode, options)


def _run(diary: Diary, mode: Mode, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="slowcat-written-", dir=MEMORY) as folder:
        played = play(diary, Path(folder, "store"), mode, vectors=not options.no_vectors)
    cases = judge(played)
    if options.wrong is not None and diary.half == "tuned":
        print_wrong(played, cases, options.wrong)
    common.console.print(f"{diary.name}, {mode}: {len(played.turns)} turns, {played.seconds:.0f} s")
    return measured(played, cases)


def judge(played: Played) -> dict[str, list[Case]]:
    """Return the cases of all laws, and of the questions."""
    found = Found(played)
    made = {name: list(rule.check(found)) for name, rule in LAWS.items()}
    return made | {"answered": laws.answered(played), "outdated": laws.outdated(played)}


def measured(played: Played, cases: dict[str, list[Case]]) -> dict[str, Any]:
    """Return a run as numbers."""
    diary = played.diary
    return {
        "name": diary.name, "language": diary.language, "half": diary.half, "llm": played.mode,
        "turns": len(played.turns), "seconds": round(played.seconds, 1), "dead": len(played.dead),
        "laws": {name: counts(cases[name]) for name in LAWS},
        "questions": {
            **{name: counts(cases[name]) for name in ASKED},
            "unanswerable": laws.unanswerable(played),
        },
        "economy": laws.economy(len(played.turns), laws.spent(played)),
    }  # fmt: skip


def summed(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums of several diaries by model: counts added, economy averaged over turns."""
    made = dict[str, Any]()
    for mode in dict.fromkeys(run["llm"] for run in runs):
        own = [run for run in runs if run["llm"] == mode]
        laws = {name: added(run["laws"][name] for run in own) for name in LAWS}
        questions = {name: added(run["questions"][name] for run in own) for name in ASKED}
        kinds = own[0]["questions"]["unanswerable"]
        questions["unanswerable"] = {kind: sum(run["questions"]["unanswerable"][kind] for run in own) for kind in kinds}  # fmt: skip
        made[mode] = {"laws": laws, "questions": questions, "economy": _economy(own)}
    return made


def added(every: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Add counts, and their groups."""
    each = list(every)
    n, hits = sum(one["n"] for one in each), sum(one["hits"] for one in each)
    made: dict[str, Any] = {"n": n, "hits": hits, "share": round(hits / n, 4) if n else None}
    groups = sorted({group for one in each for group in one.get("by", ())})
    if groups:
        made["by"] = {
            group: added(one["by"][group] for one in each if group in one.get("by", ()))
            for group in groups
        }
    return made


def _economy(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    jobs: dict[str, Counter[str]] = {}
    for run in runs:
        for name, one in run["economy"]["jobs"].items():
            counts = {field: one[field] for field in ("calls", "in", "out")}
            jobs.setdefault(name, Counter()).update(counts)
    return laws.economy(sum(run["economy"]["turns"] for run in runs), jobs)


def print_wrong(played: Played, cases: dict[str, list[Case]], laws: Sequence[str]) -> None:
    """Print the cases that should have gone otherwise."""
    wanted = {name: rule.wanted for name, rule in LAWS.items()}
    wanted |= {"answered": True, "outdated": False}
    for name in laws or wanted:
        for case in cases[name]:
            if case.hit is not wanted[name]:
                print(f"\n{played.diary.name}, {played.mode}, {name} {case.group}\n    {case.what}")
                print(f"    shown  {case.shown}" if case.shown else "")


def show(written: dict[str, Any]) -> None:
    """Print a table for each half."""
    for half, models in written["by_half"].items():
        if models:
            print(titled(half, ("", *models), list(rows(models))), "\n")


def rows(models: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the rows of a table: a column for each model."""
    named = [("laws", name, name) for name in LAWS]
    named += [
        ("questions", "answered", "answer in the block"),
        ("questions", "outdated", "old without new"),
    ]
    for part, name, text in named:
        each = [models[mode][part][name] for mode in models]
        yield [text, *map(_cell, each)]
        for group in sorted({group for one in each for group in one.get("by", ())}):
            yield [f"- {group}", *(_cell(one.get("by", {}).get(group)) for one in each)]
    every = (models[mode]["economy"]["all"] for mode in models)
    yield ["tokens in, out a turn", *(f"{one['in_per_turn']}, {one['out_per_turn']}" for one in every)]  # fmt: skip


def _cell(one: dict[str, Any] | None) -> str:
    if not one or not one["n"]:
        return "-"
    return f"{100 * one['share']:.1f} ({one['hits']}/{one['n']})"


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--half", choices=("both", *HALVES), default="both")
    parser.add_argument("--llm", choices=(*MODES, "all"), default="all")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the diaries")
    parser.add_argument("--no-vectors", action="store_true", help="find by words alone")
    parser.add_argument("--wrong", nargs="*", metavar="LAW", choices=(*LAWS, *ASKED),
                        help="print what went wrong by these laws, or by all")  # fmt: skip
    return parser.parse_args()


if __name__ == "__main__":
    main()
