"""How many orders to the memory are recognised, and how many sentences are wrongly taken for one.

``data/commands.tsv`` holds sentences of two sorts: orders in varied wording, as recognisers write
them (no punctuation, no capitals, fillers, words misheard), and look-alikes. The model of intents is
fitted on them as well, so they show that a wording still works; the lists of ``benchmarks.unseen``
say how many new wordings do.

    python -m benchmarks.commands
    python -m benchmarks.commands --wrong seen
"""

import csv
from collections import Counter
from pathlib import Path

from msgspec import Struct

from benchmarks.common import arguments, write_json
from benchmarks.tables import titled
from slowcat_memory.core.commands.grammar import Heard
from slowcat_memory.core.text.normalize import fingerprint

DATA = Path(__file__).parent / "data" / "commands.tsv"
NAMES = ("Slowcat", "slow cat")
PARTS = ("seen", "held out", "second", "third")
OUTCOMES = ("right", "asked", "wrong")


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
    def outcome(self) -> str:
        """Which of ``OUTCOMES``: taken for what it is, asked whether it is an order, or neither."""
        found = Heard(self.text, self.language, NAMES).command()
        if found and found.kind == "confirm":
            return "asked"
        read = (found.kind, found.shared, fingerprint(found.argument)) if found else ("", False, "")
        meant = (self.kind, self.shared, fingerprint(self.argument))
        return "right" if read == meant else "wrong"


def sentences(path: Path = DATA) -> list[Sentence]:
    """Read the list."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Sentence(text=row.pop("sentence"), shared=row.pop("shared") == "1", **row) for row in rows
    ]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--wrong", choices=PARTS, help="list what is wrong in a part")
    args = parser.parse_args()
    counts = {
        (part, sort): Counter[str]() for part in PARTS for sort in ("commands", "look-alikes")
    }
    for one in sentences():
        outcome = one.outcome
        counts[one.part, "commands" if one.kind else "look-alikes"][outcome] += 1
        if one.part == args.wrong and outcome != "right":
            print(f"{one.kind or '-'}: {one.text}  →  {outcome}")
    rows = [(*of, *(count[outcome] for outcome in OUTCOMES)) for of, count in counts.items()]
    print(titled("sentences", ("part", "", *OUTCOMES), rows))
    write_json(args.json, {f"{part}, {sort}": count for (part, sort), count in counts.items()})


if __name__ == "__main__":
    main()
