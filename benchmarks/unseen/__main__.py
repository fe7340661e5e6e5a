"""Judges the lists of unseen inputs, each half by itself, through the product's own functions.

The lists are in ``benchmarks/data/unseen``; they were written before the rules, by people who had
not seen them. Whoever changes a rule reads rows of the half "tuned" alone: ``--wrong`` shows only
these, and there is no way to show the others. Of the half "held out" there are figures; all of
"statements" is in that half.

    python -m benchmarks.unseen
    python -m benchmarks.unseen --list commands lookalikes --wrong

The JSON: ``lists`` by name, half and group ("all", a
language, "cased", "lower"): ``n`` rows, and ``figures`` by name: ``share``, and ``of`` how many.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loguru import logger

from benchmarks import common
from benchmarks.tables import titled
from benchmarks.unseen import blocks, facts, lists, utterances
from benchmarks.unseen.lists import HALVES, TUNED, JudgedList, Verdict, each

STATEMENTS = "language class case said speaker sentence facts also forbidden"
LISTS = (
    JudgedList("commands", "language kind argument sentence", each(utterances.commands)),
    JudgedList("lookalikes", "language sentence", each(utterances.lookalikes)),
    JudgedList("gate", "language needs sentence", each(utterances.gate)),
    JudgedList("time", "language said sentence first last kind", each(utterances.time)),
    JudgedList("facts", "language case said speaker sentence facts", facts.facts),
    JudgedList("statements", STATEMENTS, facts.facts),
    JudgedList("traps", "language case sentence forbidden", facts.traps),
    JudgedList("entities", "type first second same", utterances.entities),
    JudgedList("misheard", "language said heard name misheard", blocks.misheard),
    JudgedList("ordinary", "language said name question word", blocks.ordinary),
    JudgedList(
        "recall",
        "language store kind question answer old",
        blocks.recall,
        beside=("recall_stores", "language store at who text"),
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = common.arguments(__doc__)
    names = [wanted.name for wanted in LISTS]
    parser.add_argument("--list", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--wrong", action="store_true", help="list failing rows that are tuned on")
    parser.add_argument("--data", type=Path, default=lists.FOLDER, help="the folder of the lists")
    options = parser.parse_args(arguments)
    logger.remove()  # each engine tells that it has no LLM
    judged: dict[str, list[Verdict]] = {}
    for wanted in LISTS:
        if options.list and wanted.name not in options.list:
            continue
        if not (options.data / f"{wanted.name}.tsv").exists():
            common.console.print(f"{wanted.name}: there is no such list in {options.data}")
            continue
        judged[wanted.name] = judge(wanted, options.data)
    show(judged)
    if options.wrong:
        show_wrong(judged)
    results = {name: lists.results(some) for name, some in judged.items()}
    common.write_json(options.json, {"lists": results})


def judge(wanted: JudgedList, folder: Path) -> list[Verdict]:
    """Judge a list, each half by itself.

    Raises:
        ValueError: A file is not as it should be.
    """
    rows = lists.read(folder / f"{wanted.name}.tsv", wanted.columns)
    name, columns = wanted.beside
    beside = [lists.read(folder / f"{name}.tsv", columns)] if name else []
    made: list[Verdict] = []
    for half in HALVES:
        mine, *theirs = ([row for row in some if row["half"] == half] for some in (rows, *beside))
        made += wanted.judge(mine, *theirs) if mine else []
    return made


def show(judged: dict[str, list[Verdict]]) -> None:
    """Print one table of all figures, in percent with the number of items behind it."""
    rows: list[tuple[Any, ...]] = []
    for name, some in judged.items():
        for half, group, members in lists.groups(some):
            told = [
                f"{figure} {100 * value['share']:.1f} ({value['of']:.0f})"
                for figure, value in lists.figures(members).items()
            ]
            rows.append((name, half, group, len(members), "; ".join(told)))
    print(titled("unseen inputs, %", ("list", "half", "group", "n", "figures (of)"), rows))


def show_wrong(judged: dict[str, list[Verdict]]) -> None:
    """Print the failing rows of the half "tuned", and what came out."""
    for name, some in judged.items():
        for verdict in (one for one in some if one.wrong and one.row["half"] == TUNED):
            row = verdict.row
            said = row.get("sentence") or row.get("heard") or row.get("question") or "-"
            line = f"{name}: {said}  →  {verdict.came_out}"
            common.console.print(line, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
