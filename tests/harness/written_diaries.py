"""Held-out diaries with what a model writes, against what the figures must reach.

Each diary is played without a model, with the good one, and with the sloppy one
(``benchmarks.written``); a law is broken when its figure is beyond ``LIMITS``. No case is printed: whoever writes rules must not see held-out words. The control falsifies the store
of a tiny diary once for each law: every law must catch its own.
"""

import tempfile
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks.written.__main__ import MEMORY, judge, measured, summed
from benchmarks.written.diary import Diary, load_all
from benchmarks.written.laws import LAWS, counts
from benchmarks.written.play import MODES, Mode, Played, play
from tests.harness.command import Harness, main
from tests.support import tiny_diary

GAIN = 0.12  # of questions answered with the good model over none
READING_JOBS = ("facts", "contextualize")
MOST_IN, MOST_OUT = 250.0, 100.0  # tokens of these jobs together, for each logged turn


class Limit(Struct, frozen=True):
    """The least or the most share of a law with a model; ``group`` is one of its groups."""

    mode: str
    law: str
    least: float = 0.0
    most: float = 1.0
    group: str = ""

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.mode, self.law, self.group)))


LIMITS = (
    Limit("good", "facts kept", least=0.95),
    Limit("good", "entities and relations kept", least=0.95),
    Limit("good", "contexts kept", least=1.0),
    Limit("good", "questions and notes kept", least=1.0),
    Limit("good", "summaries kept", least=1.0),
    Limit("good", "blocks kept", least=1.0),
    Limit("good", "dates wrong", most=0.01),
    Limit("good", "changes superseded", least=0.85),
    Limit("good", "wrongly merged", most=0.01),
    Limit("good", "orders leaked", most=0.0),
    Limit("good", "read aloud brought up", most=0.0),
    Limit("good", "outdated", most=0.0),
    Limit("sloppy", "wrong kept", most=0.10, group="wrong person"),
    Limit("sloppy", "wrong kept", most=0.10, group="wrong relation"),
    Limit("sloppy", "wrong kept", most=0.05, group="year off"),
    Limit("sloppy", "shifted contexts kept", most=0.25),
    Limit("sloppy", "right beside wrong kept", least=0.90),
    Limit("sloppy", "orders leaked", most=0.0),
    Limit("sloppy", "outdated", most=0.0),
)
OTHERS = ("good over none", "sloppy over none", "tokens")
REACHED = (*(limit.name for limit in LIMITS), *OTHERS)


def beyond(models: dict[str, Any]) -> dict[str, int]:
    """Return how many cases of each law are too many or too few; 0 where it is reached.

    Args:
        models: The sums of a half, by model (`benchmarks.written.__main__.summed`).
    """
    found = {limit.name: _beyond(limit, models) for limit in LIMITS}
    shares = {mode: one["questions"]["answered"]["share"] or 0.0 for mode, one in models.items()}
    asked = models["none"]["questions"]["answered"]["n"]
    for mode, gain in (("good", GAIN), ("sloppy", 0.0)):
        found[f"{mode} over none"] = max(0, round(asked * (shares["none"] + gain - shares[mode])))
    jobs = models["good"]["economy"]["jobs"]
    spent = {
        way: sum(jobs[name][f"{way}_per_turn"] for name in READING_JOBS if name in jobs)
        for way in ("in", "out")
    }
    over = max(0.0, spent["in"] - MOST_IN) + max(0.0, spent["out"] - MOST_OUT)
    return found | {"tokens": round(over + 0.49)}


def _beyond(limit: Limit, models: dict[str, Any]) -> int:
    one = {**models[limit.mode]["laws"], **models[limit.mode]["questions"]}[limit.law]
    if limit.group:
        one = one.get("by", {}).get(limit.group, {"n": 0, "hits": 0})
    n, hits = one["n"], one["hits"]
    few, many = limit.least * n - hits, hits - limit.most * n
    return max(0, -int(-few // 1), -int(-many // 1))


def played(diary: Diary, mode: Mode, vectors: bool = True) -> Played:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        return play(diary, Path(folder, "store"), mode, vectors=vectors)


def run(folder: Path, most: int, seed: int, control: str) -> dict[str, int]:
    """Play held-out diaries; return by how many cases each law is beyond its limit."""
    if control:
        return {"falsified": falsified()}
    diaries = [one for one in load_all() if one.half == "held out"][:most]
    every = [played(diary, mode) for diary in diaries for mode in MODES]
    return {"diaries": len(diaries)} | beyond(summed([measured(one, judge(one)) for one in every]))


def falsified() -> int:
    """Return how many cases the laws find in their falsified stores; 0 if one finds none."""
    runs = {mode: played(tiny_diary.diary(), mode, vectors=False) for mode in ("good", "sloppy")}
    caught = [
        _wrong(falsify(runs[mode]), law) - _wrong(runs[mode], law)
        for law, (mode, falsify) in tiny_diary.FALSIFIED.items()
    ]
    return sum(caught) if min(caught) > 0 else 0


def _wrong(one: Played, law: str) -> int:
    wanted = LAWS[law].wanted if law in LAWS else law == "answered"
    found = counts(judge(one)[law])
    return int(found["n"] - found["hits"] if wanted else found["hits"])


HARNESSES = {
    "diaries": Harness(
        run=run, count=1, night=2, laws=REACHED, least={"diaries": 1.0},
        controls={"falsified": ("falsified", 1)},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
