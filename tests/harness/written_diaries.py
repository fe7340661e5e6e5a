"""Held-out diaries with what a model writes, against what the figures must reach.

Each diary is played without a model, with the good one, and with the sloppy one
(``benchmarks.written``); a law is broken when its figure is beyond ``benchmarks.written.laws.LIMITS``. No
case is printed: whoever writes rules must not see held-out words. The control falsifies the store
of a tiny diary once for each law: every law must catch its own.
"""

import tempfile
from pathlib import Path

from benchmarks.written.__main__ import MEMORY, judge, measured, summed
from benchmarks.written.diary import Diary, load_all
from benchmarks.written.laws import LAWS, REACHED, beyond, counts
from benchmarks.written.play import MODES, Mode, Played, play
from tests.harness.command import Harness, main
from tests.support import tiny_diary


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
        run=run, count=1, night=3, laws=REACHED, least={"diaries": 1.0},
        controls={"falsified": ("falsified", 1)},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
