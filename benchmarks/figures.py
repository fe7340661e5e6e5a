"""Every guard of the plan in one table: its goal, the figure, and the run that it comes from.

A guard reads one value of one file in ``benchmarks/results``. A file that does not name its commit
was not measured on a known state of the code, and counts as missing. Recall and idle work are only
to get better, or to stay; speed depends on the machine, so a figure stands beside its machine.

    python -m benchmarks.figures
    python -m benchmarks.figures --check    # exits with 1 if a goal is missed or a figure missing
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from benchmarks import common
from benchmarks.tables import number, titled

Unit = Literal["", "%", "ms", "MB", "s"]


class Guard(Struct, frozen=True):
    """A figure and its bound.

    Attributes:
        name: For a reader.
        file: In ``benchmarks/results``, without the ending.
        key: Where the value stands: keys and positions, split by "/".
        goal: "≥ 84" or "≤ 4"; "" where there is none.
        unit: "%" multiplies a share by 100.
    """

    name: str
    file: str
    key: str
    goal: str = ""
    unit: Unit = ""


def _quality(data: str, key: str, name: str, goal: str = "") -> Guard:
    return Guard(f"{data} {name}", f"quality-{data.lower()}", f"results/0/{key}", goal, "%")


def _unseen(list_: str, figure: str, goal: str = "") -> Guard:
    key = f"lists/{list_}/held out/all/figures/{figure}/share"
    return Guard(f"{list_}, held out: {figure}", "unseen", key, goal, "%")


def _written(law: str, model: str = "sloppy") -> Guard:
    key = f"by_half/held out/{model}/laws/{law}/share"
    return Guard(f"{model} model, held out: {law}", "written", key, unit="%")


def _latency(place: int, size: str, name: str, key: str, goal: str) -> Guard:
    return Guard(f"{size}: {name}", "latency", f"results/{place}/{key}", goal, "ms")


SIZES = ((0, "10,000", 200), (1, "100,000", 320))
DATA = ("LoCoMo", "RealMem", "MADialEN")
GUARDS: dict[str, tuple[Guard, ...]] = {
    "recall": (
        _quality("LoCoMo", "levels/turn/all/R@10", "R@10", "≥ 84"),
        _quality("LoCoMo", "levels/turn/all/R@300w", "R@300w", "≥ 81.9"),
        _quality("LoCoMo", "levels/session/all/Hit@5", "session Hit@5", "≥ 95"),
        _quality("LoCoMo", "levels/session/all/Hit@10", "session Hit@10", "≥ 97.5"),
        _quality("RealMem", "levels/session/all/Hit@10", "session Hit@10", "≥ 86.9"),
        _quality("MADialEN", "levels/turn/all/R@10", "R@10", "≥ 60"),
        *(_quality(name, "offered/turn/all/precision", "offered: right") for name in DATA),
        *(_quality(name, "offered/turn/all/hit", "offered: any right") for name in DATA),
    ),
    "speed": (
        *(
            guard
            for place, size, most in SIZES
            for guard in (
                _latency(place, size, "recall inline, p50", "inline/p50", "≤ 4"),
                _latency(place, size, "recall inline, p99", "inline/p99", "≤ 6"),
                _latency(place, size, "after 300 ms, p95", "pauses/300/p95", "≤ 9"),
                Guard(f"{size}: resident", "latency", f"results/{place}/rss_mb", f"≤ {most}", "MB"),
            )
        ),
        Guard(
            "turn, segmented, busy core: in full in 10 ms",
            "turn", "arms/one core: segmented/in_time", "≥ 99", "%",
        ),
        Guard("turn, segmented, p95", "turn", "arms/one core: segmented/wait/p95", "", "ms"),
        Guard("turn, streaming, p95", "turn", "arms/one core: streaming/wait/p95", "≤ 0.6", "ms"),
    ),
    "nobody waits": (
        Guard("while 8,000 turns of another load, p99", "waiting", "loading/beside/ms/p99", "≤ 10", "ms"),
        Guard("the same: in full", "waiting", "loading/beside/full", "≥ 99", "%"),
        Guard("20,000 facts: mute, p95", "waiting", "facts/ms/mute/p95", "≤ 20", "ms"),
        Guard("the same, processor", "waiting", "facts/cpu_ms/mute/p95", "≤ 20", "ms"),
        *(
            Guard(f"20,000 facts: {name}, p50", "waiting", f"facts/ms/{name}/p50", "", "ms")
            for name in ("greeting", "search", "put")
        ),
        Guard("seal 100,000 beside two busy", "waiting", "sealing/seconds", "≤ 90", "s"),
    ),
    "processes": (
        Guard("a second one: first answer by words", "processes", "second/lexical/answer", "≤ 150", "ms"),
        Guard("the same, in full", "processes", "second/full/answer", "≤ 400", "ms"),
        Guard("its private memory, by words", "processes", "second/lexical/uss_mb", "≤ 60", "MB"),
        Guard("the same, in full", "processes", "second/full/uss_mb", "≤ 160", "MB"),
        Guard("what another has just said, by words: p99", "processes", "found/ms/p99", "≤ 20", "ms"),
        Guard("the same: found", "processes", "found/share", "≥ 100", "%"),
        Guard("append beside three, p99, times one's", "processes", "append/ratio", "≤ 1.5"),
        Guard("wait for the lock, four talk, p99", "processes", "append/together/lock/p99", "≤ 20", "ms"),
        Guard("recall while three write, p50, more than alone", "processes", "beside/more", "≤ 0.1", "ms"),
        Guard("index loaded after one forget", "processes", "forgotten/after", "≤ 200", "ms"),
    ),
    "statements": (
        _written("facts kept"),
        _written("right beside wrong kept"),
        _written("wrong kept"),
        _written("facts kept", "good"),
        Guard(
            "good model, held out: tokens a turn, in",
            "written", "by_half/held out/good/economy/all/in_per_turn",
        ),
        *(
            Guard(
                f"{model} model, held out: answered",
                "written", f"by_half/held out/{model}/questions/answered/share", "", "%",
            )
            for model in ("none", "good")
        ),
    ),
    "rules": (
        *(
            Guard(f"{name}: still read of today's", "real_talk", f"data/{name}/kept", "≥ 95", "%")
            for name in DATA
        ),
        _unseen("facts", "precision", "≥ 92"),
        _unseen("facts", "recall", "≥ 45"),
        _unseen("time", "exact or near"),
    ),
    "commands": (
        _unseen("lookalikes", "taken", "≤ 1"),
        _unseen("commands", "right kind", "≥ 86"),
        _unseen("lookalikes", "asked back", "≤ 10"),
        *(
            Guard(f"{name}: {figure}", "real_talk", f"data/{name}/{figure}", goal, "%")
            for figure, goal in (("taken", "≤ 0"), ("asked", "≤ 1"))
            for name in DATA
        ),
        _unseen("commands", "right argument of those done", "≥ 85"),
    ),
}  # fmt: skip


class Figure(Struct, frozen=True):
    """A guard's value.

    Attributes:
        value: In the guard's unit; None if there is none.
        why: Why there is none.
        run: Commit, date, machine and load of its run; "" without a value.
    """

    value: float | None = None
    why: str = ""
    run: str = ""

    def meets(self, goal: str) -> bool:
        """Return whether the value is there and within a goal."""
        if self.value is None:
            return False
        sign, _, bound = goal.partition(" ")
        return not goal or (
            self.value >= float(bound) if sign == "≥" else self.value <= float(bound)
        )


def read(guard: Guard, folder: Path = common.RESULTS) -> Figure:
    """Read a guard's value.

    Args:
        guard: Which.
        folder: Where the results are.

    Returns:
        The figure; without a value if the file, its commit or the key is missing.
    """
    path = folder / f"{guard.file}.json"
    if not path.exists():
        return Figure(why="not measured")
    found: Any = common.read_json(path)
    if not found.get("commit"):
        return Figure(why="measured on no known commit")
    run = (
        f"{found['commit']} {found['date']}, {found['machine']['cpu']}, "
        f"load {max(found['load']):.1f}"
    )
    try:
        found = common.value_at(found, guard.key)
    except (KeyError, IndexError):
        return Figure(why="not in its file")
    if found is None:
        return Figure(why="nothing to count")
    return Figure(float(found) * (100 if guard.unit == "%" else 1), run=run)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 where a goal is missed")
    options = parser.parse_args(arguments)
    missed = 0
    for part, guards in GUARDS.items():
        figures = [(guard, read(guard)) for guard in guards]
        missed += sum(not figure.meets(guard.goal) for guard, figure in figures)
        rows = [
            (
                guard.name,
                guard.goal,
                f"{number(figure.value)} {guard.unit}" if figure.value is not None else figure.why,
                "" if figure.meets(guard.goal) else "missed",
                figure.run,
            )
            for guard, figure in figures
        ]
        print(titled(part, ("", "goal", "figure", "", "commit, date, machine, load"), rows), "\n")
    if options.check and missed:
        sys.exit(f"{missed} figures are missing or beyond their goal")


if __name__ == "__main__":
    main()
