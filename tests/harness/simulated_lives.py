"""Held-out simulated lives of two years, against what they must reach.

Each life is played through the real processor (``benchmarks.life``); a law is broken when its share
of wrong cases, over all lives, is beyond ``benchmarks.lives.judging.limits``. Wrong cases are not printed:
whoever writes rules must not see held-out wordings. ``--control`` judges a small life whose record
is falsified once for each law: every law must catch its own.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from benchmarks.life import MEMORY, counts, sums
from benchmarks.lives.diaries import diaries
from benchmarks.lives.judging.limits import LIMITS, beyond
from benchmarks.lives.judging.oracle import judge
from benchmarks.lives.making.generate import YEARS_OF_DAYS, generate
from benchmarks.lives.model import Life
from benchmarks.lives.playing.player import Played, play
from benchmarks.lives.playing.truthful import TruthfulLLM
from tests.support import small_life


def lives(first: int, count: int, days: int) -> Iterator[Life]:
    """Yield the diaries, and generated lives by seed."""
    generated = (generate(first + n, "held out", days) for n in range(count))
    written = (life for life in diaries() if life.half == "held out")
    return chain(written, generated)


def run(first: int, count: int, days: int, llm: str) -> dict[str, int]:
    """Play lives; return the wrong cases of the laws that are beyond their limits."""
    rows = []
    for life in lives(first, count, days):
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            scripted = TruthfulLLM(life) if llm == "scripted" else None
            verdicts = judge(play(life, Path(folder, "store"), llm=scripted))
        rows.append({"laws": {name: counts(one) for name, one in verdicts.items()}})
    return beyond(sums(rows), llm)


def control(llm: str) -> dict[str, int]:
    """Return how many cases each law finds in its falsified record; all 0 if one finds none."""
    caught = {
        law: len(judge(Played(small_life.life(), small_life.FALSIFIED[law]))[law].findings)
        for law in LIMITS[llm]
    }
    return caught if all(caught.values()) else dict.fromkeys(caught, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lives", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the first life")
    parser.add_argument("--days", type=int, default=YEARS_OF_DAYS)
    parser.add_argument("--llm", choices=tuple(LIMITS), default="none")
    parser.add_argument("--control", action="store_true", help="judge falsified records")
    args = parser.parse_args()
    found = control(args.llm) if args.control else run(args.seed, args.lives, args.days, args.llm)
    print(json.dumps({"seed": args.seed, **found}))


if __name__ == "__main__":
    main()
