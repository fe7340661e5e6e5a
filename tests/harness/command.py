"""The command of a harness: its options, its verdict, and the evidence of a broken law.

Counts are of steps, never of seconds: a busy machine makes a run longer, and no other. A run that
did too little of what it is for has shown nothing, and fails like a broken law.

    python -m tests.harness.kill9 --count 1000 --seed 2001
    python -m tests.harness.kill9 --control early       # a planted fault, which a law must catch
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from loguru import logger
from msgspec import Struct, field

SHOWN = 8  # of a list of faults
Figures = Mapping[str, Any]


class Skipped(Exception):
    """This machine forbids what the harness needs."""


def around(owner: Any, name: str, instead: Callable[..., Any]) -> Any:
    """Patch a function with one that is given it first, and then its arguments."""
    real = getattr(owner, name)
    return mock.patch.object(owner, name, lambda *given, **named: instead(real, *given, **named))


class Harness(Struct, frozen=True, kw_only=True):
    """One harness.

    Attributes:
        run: Takes an empty folder, a count, a seed and a planted fault ("" for none).
        count: By default; of a pull request's size.
        night: The count of a night.
        seeds: How many seeds a night tries.
        laws: Names of figures that must be 0 or empty.
        least: Figures, and how much of each a run must show for each step that is counted.
        controls: Planted faults; the laws of which one must catch each, and the count for it.
    """

    run: Callable[[Path, int, int, str], Figures]
    count: int
    night: int
    seeds: int = 1
    laws: tuple[str, ...]
    least: dict[str, float]
    controls: dict[str, tuple[str, int]] = field(default_factory=dict)

    def judge(self, figures: Figures, count: int, control: str = "") -> list[str]:
        """Return the broken laws and the missing figures; of a control, whether it was missed."""
        if control:
            laws, _ = self.controls[control]
            caught = any(figures.get(law) for law in laws.split(" or "))
            return [] if caught else [f"{control}: not caught by {laws}"]
        broken = [law for law in self.laws if figures.get(law, True)]
        shown = {name: figures.get(name, 0) for name in self.least}
        return broken + [
            f"only {n} {name}" for name, n in shown.items() if n < self.least[name] * count
        ]


def main(harnesses: dict[str, Harness], about: str | None) -> None:
    """Run one of the harnesses of a module, print its figures as a line of JSON, and exit.

    The status is 1 for a broken law, for too little, and for a planted fault that no law caught;
    then the folder stays.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--what", choices=harnesses, default=next(iter(harnesses)))
    parser.add_argument("--count", type=int, default=0, help="0 for a few")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--control", default="", help="a fault to plant, which a law must catch")
    given = parser.parse_args()
    harness = harnesses[given.what]
    if given.control and given.control not in harness.controls:
        parser.error(f"--control: one of {', '.join(harness.controls) or 'none'}")
    count = given.count or (harness.controls[given.control][1] if given.control else harness.count)
    logger.remove()
    logger.add(sys.stderr, level="ERROR")
    folder, began = Path(tempfile.mkdtemp(prefix=f"{Path(sys.argv[0]).stem}-")), time.monotonic()
    try:
        found = dict(harness.run(folder, count, given.seed, given.control))
    except Skipped as error:
        print(json.dumps({"skipped": str(error)}))
        raise SystemExit(0) from None
    wrong = harness.judge(found, count, given.control)
    asked = {"what": given.what, "count": count, "seed": given.seed, "control": given.control}
    for name, value in found.items():
        if isinstance(value, list) and len(value) > SHOWN:
            found[name] = [*value[:SHOWN], f"and {len(value) - SHOWN} more"]
    took = {"seconds": round(time.monotonic() - began), "verdict": wrong or "holds"}
    told = json.dumps(asked | found | took, default=str)
    print(told)
    if wrong:
        (folder / "figures.json").write_text(told)
        print(f"{'; '.join(wrong)}: the evidence is in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    raise SystemExit(bool(wrong))
