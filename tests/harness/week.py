"""A week of daily use, with kills: every rollup exists once, and the cursors are right.

Two people talk three times a day for seven days, one of them with an agent whose idle work has a
scripted LLM. After each session idle work is done, on a clock of its own; at random writes of the
loop the process "dies": the current write is applied or not, as a seed decides, and everything else
of the process is lost, the store opened again. With ``--kill9`` children do idle work, and are
really killed.

At the end each session, each day and each week must have one current summary, that covers all of
its sessions and nothing else, made by the LLM; no task may be left; and a second plan must find
nothing due, which is what cursors are for. ``--control`` tears writes: all of a step but its
summaries.
"""

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.summaries.summary import HISTORY, items
from slowcat_memory.core.time.periods import day_of, week_of
from slowcat_memory.records import WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.testing import ScriptedLLM
from tests.harness.children import Child

sys.path.insert(0, str(Path(__file__).parents[1] / "idle"))
from tests.support.daily_talks import MONDAY, SMALL, House, reflection

SCOPES = ("anna", "ben")
DAYS, SESSIONS = 7, 3
MOST_WRITES = 12  # between two deaths
SAID = (
    "I walked with my dog Max at the lake.",
    "The interview at the hospital is on Friday.",
    "My sister Clara calls from Lisbon.",
    "I cooked the soup again, it was good.",
    "The train was late, so I read my book.",
    "I think of the garden a lot.",
)


class Killed(BaseException):
    """The process was killed."""


class OpenStore:
    """A store at which the process dies at times, before or after a write."""

    def __init__(self, store: Store, rng: random.Random, control: bool) -> None:
        self._store, self._rng, self._control = store, rng, control
        self.in_writes = 0  # dies at so many writes from now; 0 for never

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def apply(self, job: str, batch: WriteBatch) -> Any:
        if self._control and not batch.memories:
            return self._store.apply(job, batch)
        self.in_writes -= 1
        if self.in_writes == 0:
            if self._control:
                self._store.apply(job, replace(batch, memories=())).wait()
            elif self._rng.random() < 0.5:
                self._store.apply(job, batch).wait()
            raise Killed
        return self._store.apply(job, batch)


def llm() -> ScriptedLLM:
    return ScriptedLLM(reflection)


def talk(house: House, n: int, rng: random.Random) -> None:
    """Let both people talk, the n-th time."""
    day, part = divmod(n, SESSIONS)
    at = MONDAY + timedelta(days=day, hours=5 * part)
    house.clock.now = at
    for scope in SCOPES:
        house.talk(f"{scope}-{n}", *rng.sample(SAID, 4), at=at, scope=scope)
    house.clock.advance(600)


def think(house: House, mortal: OpenStore, kills: int, rng: random.Random) -> int:
    """Do all idle work, dying on the way; return how often it died."""
    died = 0
    while True:
        mortal.in_writes = rng.randrange(1, MOST_WRITES) if died < kills else 0
        try:
            house.think(rounds=1)
            return died
        except Killed:
            died += 1


def run(path: Path, days: int, kills: int, seed: int, control: bool = False) -> dict[str, int]:
    rng = random.Random(seed)
    store = Store.open(path, options=SMALL)
    mortal = OpenStore(store, rng, control)
    house, died = House(path, llm(), store=mortal), 0
    total = days * SESSIONS
    for n in range(total):
        talk(house, n, rng)
        died += think(house, mortal, -(-(kills - died) // (total - n)), rng)
    tally = finish(house, mortal, days)
    house.close()
    return {"kills": died, **tally}


def finish(house: House, mortal: OpenStore | None, days: int) -> dict[str, int]:
    """End the week, and check it."""
    if mortal is not None:
        mortal.in_writes = 0
    house.clock.now = MONDAY + timedelta(days=days + 8)
    left = house.think(rounds=2)
    assert isinstance(house.llm, ScriptedLLM)
    asked, cursors = len(house.llm.prompts), _cursors(house)
    house.think(rounds=2)
    tally = Counter(
        left=left,
        asked_again=len(house.llm.prompts) - asked,
        moved=int(cursors != _cursors(house)),
    )
    for scope in SCOPES:
        tally.update(look(house, scope, days))
    names = ("left", "asked_again", "moved", "missing", "twice", "wrong", "by_rule", "rollups")
    return {name: tally[name] for name in names}


def look(house: House, scope: str, days: int) -> Counter[str]:
    """Compare current summaries with the turns."""
    tally, made = Counter[str](), house.made("", scope)
    wanted: dict[str, set[str]] = {}
    for n in range(days * SESSIONS):
        day, part = divmod(n, SESSIONS)
        at = MONDAY + timedelta(days=day, hours=5 * part)
        session = f"summary/session/{scope}-{n}"
        wanted[f"session/{scope}-{n}"] = set()
        wanted.setdefault(f"day/{day_of(at, house.zone).name}", set()).add(session)
        wanted.setdefault(f"week/{week_of(at, house.zone).name}", set()).add(session)
    found = {id: memory for id, memory in made.items() if not id.startswith("topic/")}
    tally["missing"] = len(wanted.keys() - found.keys())
    tally["wrong"] = len(found.keys() - wanted.keys()) + sum(
        set(items(found[id], "covers")) != covers for id, covers in wanted.items() if id in found
    )
    every = [m for m in house.every("", scope) if m.retired_at is None or HISTORY in m.id]
    whole = Counter((m.kind, items(m, "covers"), m.sources) for m in every if not m.retired_at)
    tally["twice"] = sum(n - 1 for n in whole.values())
    tally["by_rule"] = sum(not (m.made and m.made.model) for m in found.values())
    tally["rollups"] = sum(id.startswith(("day/", "week/")) for id in found)
    return tally


def _cursors(house: House) -> list[Any]:
    with house.store.snapshot() as snapshot:
        names = ("session_summary", "window_summary", "meta_summary", "rollups", "topics")
        return [snapshot.cursor(name) for name in names]


def run_kill9(path: Path, days: int, kills: int, seed: int) -> dict[str, int]:
    """Play it with children that are really killed during idle work."""
    rng, died, total = random.Random(seed), 0, days * SESSIONS
    for n in range(total):
        house = House(path, llm())
        talk(house, n, rng)
        now = house.clock.now
        house.close()
        while died < kills * (n + 1) // total:
            child = Child(lambda _: _think_once(path, now))  # noqa: B023
            child.kill_after(rng.uniform(0.02, 0.35))
            died += child.finish()[1] != 0
        house = House(path, llm(), now=now)
        house.think(rounds=1)
        house.close()
    house = House(path, llm())
    tally = finish(house, None, days)
    house.close()
    return {"kills": died, **tally}


def _think_once(path: Path, now: Any) -> None:
    house = House(path, ScriptedLLM(reflection, delay_s=0.01), now=now)
    asyncio.set_event_loop(None)
    house.think()
    while True:  # until it is killed
        house.think(rounds=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--kill9", action="store_true", help="kill children for good")
    parser.add_argument("--control", action="store_true", help="tear writes: must be caught")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="week-"))
    try:
        if args.kill9:
            told = run_kill9(folder / "store", args.days, args.kills, args.seed)
        else:
            told = run(folder / "store", args.days, args.kills, args.seed, args.control)
        print(json.dumps({"seed": args.seed, **told}))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
