"""A week of daily use, with kills: every rollup exists once, and the cursors are right.

Two people talk three times a day for seven days, one of them with an agent whose idle work has a
scripted LLM. After each session idle work is done, on a clock of its own; at random writes of the
loop the process "dies": the current write is applied or not, as a seed decides, and everything else
of the process is lost, the store opened again.

At the end each session, each day and each week must have one current summary, that covers all of
its sessions and nothing else, made by the LLM; no task may be left; and a second plan must find
nothing due, which is what cursors are for. The control tears writes: all of a step but its
summaries.
"""

import random
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
from tests.harness.command import Harness, main
from tests.support.daily_talks import MONDAY, SMALL, House, reflection

SCOPES = ("anna", "ben")
SESSIONS, KILLS = 3, 4  # a day
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


def run(folder: Path, days: int, seed: int, control: str) -> dict[str, int]:
    rng, path, kills = random.Random(seed), folder / "store", KILLS * days
    store = Store.open(path, options=SMALL)
    mortal = OpenStore(store, rng, bool(control))
    house, died = House(path, llm(), store=mortal), 0
    total = days * SESSIONS
    for n in range(total):
        talk(house, n, rng)
        died += think(house, mortal, -(-(kills - died) // (total - n)), rng)
    tally = finish(house, mortal, days)
    house.close()
    return {"kills": died, **tally}


def finish(house: House, mortal: OpenStore, days: int) -> dict[str, int]:
    """End the week, and check it."""
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
    return {name: tally[name] for name in ("rollups", *LAWS)}


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


LAWS = ("left", "asked_again", "moved", "missing", "twice", "wrong", "by_rule")
HARNESSES = {
    "days": Harness(
        run=run, count=3, night=7, seeds=2, laws=LAWS, least={"kills": 3.0, "rollups": 2.0},
        controls={"torn": ("missing or wrong", 2)},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
