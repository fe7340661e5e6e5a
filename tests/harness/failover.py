"""Kills any of the processes that append to one memory, recall from it and forget in it.

Each appends numbered turns and reports which were acknowledged under which id, and which it forgot;
a forget rewrites the file under the others. One of them is killed (SIGKILL), and a new one joins.
The laws:

- *lost*, *doubled*, *moved*: the log has each acknowledged turn once, under its id;
- *unanswered*: a process that ended in order was told of each of its turns;
- *undead*: what was forgotten is in no log and no file of the folder, in no object of a process, and
  in no file that a process has open or mapped, deleted or not.

Nothing is judged by time: how long a recall or an end takes on a busy machine is no law.
"""

import asyncio
import itertools
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.harness.children import ask
from tests.harness.command import Harness, main
from tests.harness.process_search import held, open_files
from tests.harness.puppets import WAIT_S, Puppet, kill_all, until, warm_up
from tests.support.memories import contents
from tests.support.said import turn_at

PROCESSES = 4
MOST, PACE_S, PATIENCE = 100, 0.03, 20  # what a process says, three turns each time
LOOKS = 5  # a second apart: then what is forgotten must be nowhere
SCOPE = "anna"
WORD = re.compile(r"turn-(p\d+n\d+[abc])q")  # notes have the group alone: they are no residue
FILLER = re.compile(r"shelf-\d+")


def word(key: str) -> str:
    return f"turn-{key}q"


# ------------------------------------------------------------------- one process


class Orders(Struct, frozen=True, kw_only=True):
    """One of the processes."""

    name: str
    folder: Path
    control: str

    def begin(self, note: Callable[..., None]) -> "Talker":
        return Talker(self, note)


class Talker:
    """Appends, recalls and forgets; each method is an order."""

    def __init__(self, orders: Orders, note: Callable[..., None]) -> None:
        from slowcat_memory.engine.background import BackgroundEngine
        from slowcat_memory.testing import memory_config

        self.name, self.note, self.control = orders.name, note, orders.control
        if plant := PLANTS.get(self.control):
            plant()
        self.kept = list[Any]()  # what was recalled: a planted fault
        self.known: dict[str, int] = {}  # ids of turns that were acknowledged
        self.unsettled = 0
        self.wait_s = 15.0 if self.control else WAIT_S  # what a fault dropped never comes
        self.quiet = threading.Event()
        config = memory_config(orders.folder, recall={"deadline_ms": 2000.0, "floor": 0.0})
        self.member = BackgroundEngine(config)
        self.member.prepare(SCOPE)
        self.member.start(WAIT_S)
        self.talk = threading.Thread(target=lambda: asyncio.run(self._talk()))

    def begin(self) -> None:
        self.talk.start()

    def look(self) -> list[tuple[str, str]]:
        """Be quiet; return the words that objects of this process hold, and the ways to them."""
        self.quiet.set()
        self.talk.join()
        self.member.flush(self.wait_s)
        return held(WORD)

    def end(self) -> None:
        self.quiet.set()
        self.talk.join()
        self.member.flush(self.wait_s)
        self.member.close()

    async def _talk(self) -> None:
        for n in range(1, MOST + 1):
            for part in "abc":  # some share a transaction
                self._append(f"{self.name}n{n}{part}")
            for _ in range(PATIENCE):
                if self.quiet.is_set():
                    return
                await asyncio.sleep(PACE_S)
                if self.unsettled < 30:
                    break

    def _append(self, key: str) -> None:
        self.note("said", key=key)
        self.unsettled += 1
        turn = turn_at(
            f"My violin {word(key)} is in the attic.", datetime.now(UTC), session=self.name
        )
        try:
            ack = self.member.append(turn)
        except Exception as error:
            self.unsettled -= 1
            self.note("refused", key=key, error=type(error).__name__)
            return
        ack.future.add_done_callback(lambda future: self._settled(key, ack, future))

    def _settled(self, key: str, ack: Any, future: Any) -> None:
        self.unsettled -= 1
        if future.exception() is None:
            self.known[key] = ack.id
            self.note("acked", key=key, id=ack.id)
        else:
            self.note("refused", key=key, error=type(future.exception()).__name__)

    def forget(self) -> None:
        """Recall one of the turns, and forget it, while others are said."""
        from slowcat_memory.records import Forget

        key = random.choice(list(self.known))
        self.note("forgetting", key=key)
        try:
            found = asyncio.run(self.member.recall(word(key), SCOPE))
            self.kept += found.hits if self.control == "kept" else ()
            is_erased = self.member.forget(Forget(turns=(self.known.pop(key),))).erased
            self.note("forgotten" if is_erased else "postponed", key=key)
        except Exception as error:
            self.note("postponed", key=key, error=type(error).__name__)


# ------------------------------------------------------------------- planted faults


def _ids() -> None:
    """Let each process count the ids of events by itself."""
    from slowcat_memory.store.sharing import LogIds

    counted = itertools.count(1)
    LogIds.take = lambda self, count, least=1: [next(counted) for _ in range(max(count, 1))][0]  # type: ignore


def _fence() -> None:
    """Write on into the file that another process has replaced."""
    from slowcat_memory.store.disk.environment import Environment

    Environment.is_current = lambda self: True  # type: ignore[method-assign]
    Environment.check_in_place = lambda self: None  # type: ignore[method-assign]


def _dropped() -> None:
    """Drop one of five writes, and tell nobody."""
    from slowcat_memory.store.writer import Write, WriteQueue, new_future

    take, taken = WriteQueue.take_batch, itertools.count(1)

    def careless(self: WriteQueue, *how: Any) -> list[Write] | None:
        batch = take(self, *how)
        for item in batch or ():
            if item.weight and next(taken) % 5 == 0:
                item.change = lambda tx: None
                item.future = new_future()
        return batch

    WriteQueue.take_batch = careless  # type: ignore[method-assign]


PLANTS = {"ids": _ids, "fence": _fence, "dropped": _dropped}


# ------------------------------------------------------------------- the rounds


def kills(
    folder: Path, count: int, seed: int, control: str, memories: int = 0, erases_s: float = 0.1
) -> dict[str, Any]:
    """Kill one of the processes some times, in a store that has so many memories before.

    In each round one of them forgets, which takes about ``erases_s``; often it is the one that is
    killed, at some moment of it or, in every third round, after it.
    """
    rng, memory = random.Random(seed), folder / "memory"
    warm_up()
    before = ask(lambda: fill(memory, memories)) or {}
    assert len(before) == memories
    everybody = list[Puppet]()

    def start() -> Puppet:
        one = Puppet(Orders(name=f"p{len(everybody)}", folder=memory, control=control))
        one.send("begin")
        everybody.append(one)
        return one

    running = [start() for _ in range(PROCESSES)]
    try:
        for number in range(count):
            doomed = _doom(everybody, running, rng, number % 3 == 0 and control in ("", "kept"))
            time.sleep(rng.random() * erases_s)
            doomed.kill()
            running.remove(doomed)
            running.append(start())
        residue = _residue(memory, everybody, running)
        ended = [one for one in running if one.end()]
    finally:
        kill_all()
    found = judge(_logged(memory), everybody, ended, before)
    return found | {"kills": count, "ended": len(ended), "undead": found["undead"] + residue}


def _doom(everybody: list[Puppet], running: list[Puppet], rng: random.Random, ends: bool) -> Puppet:
    """Let one forget, to its end or not, and choose one that has been told of more turns since."""
    doomed = rng.choice(running)

    def told(acked: int, ended: int = 0) -> bool:
        for one in running:
            one.pump()
        enough = len(keys([doomed], "acked")) >= acked or len(keys([doomed], "said")) >= 3 * MOST
        return enough and len(keys(everybody, "forgotten", "postponed")) >= ended

    until(lambda: told(1), "a receipt")
    talking = [one for one in running if keys([one], "acked")]
    rng.choice((doomed, rng.choice(talking))).send("forget")
    acked = len(keys([doomed], "acked")) + rng.randint(1, 20)
    ended = len(keys(everybody, "forgotten", "postponed")) + ends
    until(lambda: told(acked, ended), "a receipt")
    return doomed


def fill(memory: Path, memories: int) -> dict[str, int]:
    """Log some turns, and seal their index; return their ids by key."""
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.testing import memory_config

    engine, ids, now = MemoryEngine(memory_config(memory)), dict[str, int](), datetime.now(UTC)
    for first in range(0, memories, 500):
        turns = [
            turn_at(f"The box number {n} is on shelf-{n}.", now, session="before")
            for n in range(first, min(first + 500, memories))
        ]
        last = engine.append(*turns)
        last.wait(WAIT_S)
        before = last.id - len(turns) + 1 - first
        ids |= {f"shelf-{n}": before + n for n in range(first, first + len(turns))}
    if memories:
        engine.flush(WAIT_S, indexed=True)
        engine.upkeep.seal(SCOPE)
    engine.close()
    return ids


def keys(puppets: Iterable[Puppet], *kinds: str) -> set[str]:
    return {row["key"] for one in puppets for row in one.rows if row["what"] in kinds}


def _residue(memory: Path, everybody: list[Puppet], running: list[Puppet]) -> list[str]:
    """Return where forgotten words are, once everybody is quiet."""
    found = list[str]()
    for _ in range(LOOKS):
        time.sleep(1.0)
        held_by = [(one.orders.name, one.ask("look")) for one in running]
        places = [(key, f"{name}: {way}") for name, ways in held_by for key, way in ways]
        files = contents(memory)
        files += [row for one in running for row in open_files(one.pid, memory)]
        for where, data in files:
            places += [(key.decode(), where) for key in re.findall(WORD.pattern.encode(), data)]
        gone = keys(everybody, "forgotten")
        found = sorted({f"{key} in {where}" for key, where in places if key in gone})
        if not found:
            break
    return found


def _logged(memory: Path) -> list[tuple[int, str]]:
    from slowcat_memory.store import Store

    with Store.open(memory) as store, store.snapshot() as snapshot:
        return [
            (turn.id, (WORD.findall(turn.text) or FILLER.findall(turn.text))[0])
            for turn in snapshot.turns(SCOPE)
        ]


def judge(
    logged: Iterable[tuple[int, str]],
    everybody: list[Puppet],
    ended: list[Puppet],
    before: dict[str, int] = {},  # noqa: B006 never changed
) -> dict[str, Any]:
    """Compare the log, as (id, key), with what was there before and the processes were told."""
    rows = list(logged)
    ids = {key: id_ for id_, key in rows}
    told = {r["key"]: r["id"] for one in everybody for r in one.rows if r["what"] == "acked"}
    acked = before | told
    gone = keys(everybody, "forgotten")
    answered = keys(ended, "acked", "refused")
    return {
        "acked": len(told),
        "refused": len(keys(everybody, "refused")),
        "forgotten": len(gone),
        "lost": sorted(acked.keys() - ids.keys() - keys(everybody, "forgetting")),
        "doubled": [key for key, n in Counter(key for _, key in rows).items() if n > 1],
        "moved": sorted(key for key, id_ in acked.items() if ids.get(key, id_) != id_),
        "unanswered": sorted(keys(ended, "said") - answered),
        "undead": sorted(gone & ids.keys()),
    }


def starters(folder: Path, count: int, seed: int, control: str) -> dict[str, Any]:
    """Start many processes at once: all use one memory."""
    memory = folder / "memory"
    warm_up()
    started = [Puppet(Orders(name=f"p{n}", folder=memory, control=control)) for n in range(count)]
    try:
        for one in started:
            one.send("begin")
        until(lambda: [p.pump() for p in started] and all(keys([p], "acked") for p in started))
        ended = [one for one in started if one.end()]
    finally:
        kill_all()
    return judge(_logged(memory), started, ended) | {"ended": len(ended)}


LAWS = ("lost", "doubled", "moved", "unanswered", "undead")
HARNESSES = {
    "kills": Harness(
        run=kills, count=20, night=60, laws=LAWS,
        least={"kills": 1.0, "acked": 20.0, "forgotten": 0.2, "ended": 0.01},
        controls={
            "ids": ("lost or moved", 2), "fence": ("lost", 6), "dropped": ("unanswered", 3),
            "kept": ("undead", 6),
        },
    ),
    "large": Harness(
        run=partial(kills, memories=10_000, erases_s=2.0), count=8, night=60, laws=LAWS,
        least={"kills": 1.0, "acked": 20.0, "forgotten": 0.2, "ended": 0.01},
        controls={"ids": ("lost or moved", 2)},
    ),
    "starters": Harness(
        run=starters, count=8, night=12, laws=LAWS, least={"ended": 1.0},
        controls={"dropped": ("unanswered", 8)},
    ),
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
