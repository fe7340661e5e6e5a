"""Held-out simulated lives of two years, against what they must reach.

Each life is played through the real processor (``benchmarks.life``); a law is broken when its share
of wrong cases, over all lives, is beyond ``benchmarks.lives.laws``. Wrong cases are not printed:
whoever writes rules must not see held-out wordings. The control judges a small life whose record
is falsified once for each law: every law must catch its own.
"""

import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.life import MEMORY, counts, sums
from benchmarks.lives.generate import YEARS_OF_DAYS, generate
from benchmarks.lives.laws import LIMITS, judge
from benchmarks.lives.model import Life, diaries
from benchmarks.lives.player import Played, play
from benchmarks.lives.truthful import TruthfulLLM
from tests.harness.command import Harness, main
from tests.support import small_life


def lives(first: int, count: int, days: int) -> Iterator[Life]:
    """Yield the diaries, and generated lives by seed."""
    generated = (generate(first + n, "held out", days) for n in range(count))
    written = (life for life in diaries() if life.half == "held out")
    return chain(written, generated)


def run(llm: str, folder: Path, count: int, seed: int, control: str) -> dict[str, int]:
    """Play lives; return the wrong cases of the laws that are beyond their limits."""
    if control:
        return {"falsified": falsified(llm)}
    rows = []
    for life in lives(seed, count, YEARS_OF_DAYS):
        scripted = TruthfulLLM(life) if llm == "scripted" else None
        with tempfile.TemporaryDirectory(dir=MEMORY) as store:
            verdicts = judge(play(life, Path(store, "store"), llm=scripted))
        rows.append({"laws": {name: counts(one) for name, one in verdicts.items()}})
    return {"lives": len(rows)} | beyond(sums(rows), llm)


def beyond(sums: Mapping[str, Mapping[str, Any]], llm: str) -> dict[str, int]:
    """Return the wrong cases of each law that has a limit, 0 for a law that keeps it."""
    found = {}
    for law, limit in LIMITS[llm].items():
        cases, wrong = sums[law]["cases"], sums[law]["cases"] - sums[law]["right"]
        found[law] = wrong if wrong > limit * cases else 0
    return found


def falsified(llm: str) -> int:
    """Return how many cases the laws find in their falsified records; 0 if one finds none."""
    caught = [
        len(judge(Played(small_life.life(), small_life.FALSIFIED[law]))[law].findings)
        for law in LIMITS[llm]
    ]
    return sum(caught) if all(caught) else 0


HARNESSES = {
    llm: Harness(
        run=partial(run, llm), count=1, night=1, laws=tuple(LIMITS[llm]), least={"lives": 1.0},
        controls={"falsified": ("falsified", 1)},
    )
    for llm in LIMITS
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
