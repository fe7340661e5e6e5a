"""How many orders to the memory are recognised, and how many sentences are wrongly taken for one.

``data/commands.tsv`` holds sentences of two sorts: orders in varied wording, as recognisers write
them (no punctuation, no capitals, fillers, words misheard), and look-alikes. The rules were written
looking at the part "seen"; each other part was tried once when it was new, and the rules were then
mended with what it missed. At that first try 70 of 73 orders of "held out" were right, 63 of 70 of
"second" and 42 of 49 of "third", and none of their 191 look-alikes was taken for an order: that is
what to expect of wordings that nobody thought of.

    python -m benchmarks.commands
    python -m benchmarks.commands --wrong seen
"""

import csv
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks.common import arguments, write_json
from benchmarks.tables import titled
from slowcat_memory.core.commands.grammar import recognise
from slowcat_memory.core.text.normalize import fingerprint

DATA = Path(__file__).parent / "data" / "commands.tsv"
NAMES = ("Slowcat", "slow cat")
PARTS = ("seen", "held out", "second", "third")


class Sentence(Struct, frozen=True):
    """A line of the list.

    Attributes:
        language: Whose table it is for.
        kind: The order, "" for a look-alike.
        argument: The order's argument, as it is said.
        shared: Whether it is for everybody.
        text: What is said.
        part: Which of ``PARTS``.
    """

    language: str
    kind: str
    argument: str
    shared: bool
    text: str
    part: str

    @property
    def asked_back(self) -> bool:
        """Whether the rules ask if it is an order."""
        found = recognise(self.text, self.language, names=NAMES)
        return found is not None and found.kind == "confirm"

    @property
    def right(self) -> bool:
        """Whether the rules take it for what it is."""
        found = recognise(self.text, self.language, names=NAMES)
        if found is None or not self.kind or found.kind == "confirm":
            return not self.kind and (found is None or found.kind == "confirm")
        same = fingerprint(found.argument) == fingerprint(self.argument)
        return (found.kind, found.shared, same) == (self.kind, self.shared, True)


def sentences(path: Path = DATA) -> list[Sentence]:
    """Read the list.

    Args:
        path: The file, with a header.

    Returns:
        Its lines.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Sentence(
            row["language"],
            row["kind"],
            row["argument"],
            row["shared"] == "1",
            row["sentence"],
            row["part"],
        )
        for row in rows
    ]


def rates(of: Iterable[Sentence]) -> dict[str, Any]:
    """Count what is recognised, and what is wrongly taken for an order.

    Args:
        of: Sentences.

    Returns:
        ``commands``, ``recognised``, ``lookalikes``, ``false_alarms``, ``asked_back`` (look-alikes
        that are asked about), and the two shares.
    """
    every = list(of)
    orders = [one for one in every if one.kind]
    others = [one for one in every if not one.kind]
    recognised, alarms = sum(one.right for one in orders), sum(not one.right for one in others)
    return {
        "commands": len(orders),
        "recognised": recognised,
        "recognised_share": round(recognised / max(1, len(orders)), 4),
        "lookalikes": len(others),
        "false_alarms": alarms,
        "asked_back": sum(one.asked_back for one in others),
        "false_alarm_share": round(alarms / max(1, len(others)), 4),
    }


def measure(every: list[Sentence]) -> dict[str, Any]:
    """Measure the whole list, its parts, and the time that a sentence takes.

    Args:
        every: The list.

    Returns:
        ``all``, ``by_part``, ``by_kind``, ``by_language``, ``us_per_sentence``.
    """
    rates(every)  # once to make the rules ready
    began = time.perf_counter()
    whole = rates(every)
    took = time.perf_counter() - began
    kinds = dict.fromkeys(one.kind for one in every if one.kind)
    languages = dict.fromkeys(one.language for one in every)
    return {
        "all": whole,
        "by_part": {part: rates(o for o in every if o.part == part) for part in PARTS},
        "by_kind": {kind: rates(one for one in every if one.kind == kind) for kind in kinds},
        "by_language": {name: rates(o for o in every if o.language == name) for name in languages},
        "us_per_sentence": round(1e6 * took / len(every), 1),
    }


def report(result: dict[str, Any]) -> str:
    """Write the results as Markdown."""
    rows = {"all": result["all"]} | result["by_part"] | result["by_language"] | result["by_kind"]
    columns = ("sentences", "commands", "recognised", "look-alikes", "false alarms")
    cells = [
        (
            name.replace("_", " "),
            row["commands"],
            f"{row['recognised']} ({row['recognised_share']:.1%})" if row["commands"] else "",
            row["lookalikes"],
            f"{row['false_alarms']} ({row['false_alarm_share']:.1%})" if row["lookalikes"] else "",
        )
        for name, row in rows.items()
    ]
    return titled(f"{result['us_per_sentence']} µs a sentence", columns, cells)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--wrong", choices=PARTS, help="list what is wrong in a part")
    args = parser.parse_args()
    every = sentences()
    result = measure(every)
    print(report(result))
    for one in every:
        if one.part == args.wrong and not one.right:
            found = recognise(one.text, one.language, names=NAMES)
            print(f"{one.kind or '-'}: {one.text}  →  {found}")
    write_json(args.json, result)


if __name__ == "__main__":
    main()
