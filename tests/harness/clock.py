"""A machine whose clocks cannot be relied on, and a memory on it that erases by time.

A seed plays a machine: people, guests and imports are logged; the time is set by hand, by a time
server, or wrongly; the machine sleeps, is restarted with a good clock, one that starts in 1970, at
its build date, or where it stopped; the process is restarted, or killed. True time is known to the
harness alone.

Laws: nothing that was said less than the retention period of *true* time ago is ever erased; while
the clock is believed and right, what was dated rightly is gone one hour after its time; and after
the machine has run with a right clock for long enough, everything is gone; and with ``--backups``,
the backups made last are there until something is erased. ``--control`` believes every clock, which
the first law must catch.
"""

import argparse
import contextlib
import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.clock import Reading
from slowcat_memory.core.retention import clock_doubt
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Turn
from slowcat_memory.testing import memory_config

BEGAN = datetime(2026, 5, 12, 12, tzinfo=UTC)
BUILT = datetime(2024, 2, 1, tzinfo=UTC)
DAYS, GUEST_HOURS = 10.0, 24.0
HOUR, DAY = 3600.0, 86400.0
LATE_S = HOUR
LAWS = ("early", "late", "left", "lost_backups")
SLACK_S = 120.0  # steps of the clock below a minute are not doubted


class Machine:
    """True time, and what the machine's clocks show."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.true, self.off = chance, BEGAN, timedelta()
        self.boots, self._boot_s = 0, 0.0
        self.network = chance.random() < 0.7
        self._synchronised_at: float | None = None

    def __call__(self) -> datetime:
        return self.true + self.off

    @property
    def boot(self) -> str:
        return f"boot {self.boots}"

    @property
    def right(self) -> bool:
        return abs(self.off) <= timedelta(seconds=60)

    def boot_s(self) -> float:
        return self._boot_s

    def synchronised_s(self) -> float | None:
        at = self._synchronised_at
        return None if at is None else self._boot_s - at

    def run(self, seconds: float) -> None:
        """Let time pass, awake or asleep."""
        self.true += timedelta(seconds=seconds)
        self._boot_s += seconds

    def set_by_hand(self, off: timedelta) -> None:
        self.off, self._synchronised_at = off, None

    def synchronise(self) -> None:
        self.off, self._synchronised_at = timedelta(), self._boot_s

    def start_again(self, seconds: float) -> None:
        """Switch the machine off for a while; its clock may not run meanwhile."""
        shown = self()
        self.true += timedelta(seconds=seconds)
        self.boots, self._boot_s, self._synchronised_at = self.boots + 1, 0.0, None
        start = self.chance.choice(
            (None, None, None, datetime(1970, 1, 1, tzinfo=UTC), BUILT, shown)
        )
        if start is not None:
            self.off = min(start, self.true) - self.true


class Said(Struct, frozen=True):
    """A logged turn.

    Attributes:
        at: True time of its words: for an import the date in the transcript.
        lasts_s: Its retention period.
        dated: Its date is right.
    """

    at: datetime
    lasts_s: float
    dated: bool


class Player:
    """Plays a machine at random, and holds the memory to the laws."""

    def __init__(self, folder: Path, seed: int, *, backups: bool = False) -> None:
        self.makes_backups, self.backups = backups, list[Path]()
        self.chance = random.Random(seed)
        self.machine = Machine(self.chance)
        self.config = memory_config(
            folder,
            people={"scopes": "each", "guest_hours": GUEST_HOURS},
            retention={"raw_days": DAYS},
            idle={"enabled": False},
        )
        self.said: dict[int, Said] = {}
        self.tally: Counter[str] = Counter()
        self.believed_since: datetime | None = None
        self.engine = self._open()

    def _open(self) -> MemoryEngine:
        engine = MemoryEngine(self.config, clock=self.machine)
        engine.drain()
        self.believed_since = None
        return engine

    # ------------------------------------------------------------------- what happens

    def step(self) -> None:
        ways = {
            self.talk: 8, self.visit: 5, self.import_old: 1, self.wait: 12, self.sleep: 2,
            self.jump: 1, self.set_right: 2, self.reopen: 1, self.kill: 1, self.start_again: 1,
            self.confirm: 1, self.back_up: int(self.makes_backups),
        }  # fmt: skip
        way = self.chance.choices(list(ways), list(ways.values()))[0]
        way()
        self.tally[way.__name__] += 1
        self.look()

    def talk(self) -> None:
        self._log("anna", DAYS * DAY)

    def visit(self) -> None:
        self._log("guest", GUEST_HOURS * HOUR)

    def _log(self, scope: str, lasts_s: float) -> None:
        at = self.machine()
        turn = Turn(session=f"{scope}-{at:%Y%m%d}", scope=scope, speaker=scope, role="user",
                    text="words", at=at)  # fmt: skip
        id_ = self.engine.append(turn).id
        self.said[id_] = Said(self.machine.true, lasts_s, self.machine.right)

    def import_old(self) -> None:
        at = self.machine.true - timedelta(days=self.chance.uniform(0.5, 3 * DAYS))
        if at > self.machine():  # a date in the future is not one of a transcript
            return
        turn = Turn(session="old", scope="anna", speaker="Anna", role="user", text="old", at=at,
                    origin="1")  # fmt: skip
        (ack,) = self.engine.append_all([turn])
        self.said[ack.id] = Said(at, DAYS * DAY, True)

    def wait(self) -> None:
        for _ in range(self.chance.randint(1, 36)):
            self.machine.run(HOUR / 2)
            if self.machine.network and self.chance.random() < 0.3:
                self.machine.synchronise()
            self.look()

    def sleep(self) -> None:
        self.machine.run(self.chance.uniform(HOUR, 4 * DAY))

    def jump(self) -> None:
        days = self.chance.choice((0.01, 0.5, 5, 29, 40, 366, 4000))
        self.machine.set_by_hand(self.machine.off + self.chance.choice((-1, 1)) * timedelta(days))

    def set_right(self) -> None:
        if self.machine.network:
            self.machine.synchronise()
        elif not self.machine.right:
            self.machine.set_by_hand(timedelta())

    def reopen(self) -> None:
        self.engine.close()
        self.machine.run(self.chance.uniform(1, 2 * DAY))
        if self.chance.random() < 0.2:
            self.jump()
        self.engine = self._open()

    def kill(self) -> None:
        self._end(killed=True)
        self.machine.run(self.chance.uniform(1, HOUR))
        self.engine = self._open()

    def _end(self, *, killed: bool) -> None:
        """Close, without the last look if the process is killed."""
        self.engine.store.flush()
        judge = self.engine.wiring.clock_judge
        with mock.patch.object(judge, "close") if killed else contextlib.nullcontext():
            self.engine.close()

    def back_up(self) -> None:
        self.backups.append(self.engine.maintain("backup"))

    def start_again(self) -> None:
        self._end(killed=self.chance.random() < 0.5)
        self.machine.start_again(self.chance.choice((60.0, HOUR, DAY, 20 * DAY, 50 * DAY)))
        self.engine = self._open()

    def confirm(self) -> None:
        if self.machine.right:
            self.engine.maintain("confirm clock")

    # ------------------------------------------------------------------- the laws

    def look(self) -> None:
        self.engine.store.flush()
        self.engine.maintain("erase")
        with self.engine.snapshot() as snapshot:
            left = {turn.id for turn in snapshot.turns()}
        doubted = self.engine.wiring.clock_judge.doubt is not None
        self.tally["doubted"] += doubted
        if doubted or not self.machine.right:
            self.believed_since = None
        elif self.believed_since is None:
            self.believed_since = self.machine.true
        if not self.said.keys() <= left:  # erasing deletes the backups
            self.backups.clear()
        latest = self.backups[-self.config.store.backups_keep :]
        self.tally["lost_backups"] += sum(not file.exists() for file in latest)
        for id_, said in list(self.said.items()):
            age_s = (self.machine.true - said.at).total_seconds()
            if id_ not in left:
                self.tally["erased"] += 1
                self.tally["early"] += age_s < said.lasts_s - SLACK_S
                del self.said[id_]
            elif self._is_late(id_, said, age_s):
                self.tally["late"] += 1

    def _is_late(self, id: int, said: Said, age_s: float) -> bool:
        """Return whether a turn should be gone: it is dated rightly, and nothing doubted that."""
        unsure = self.engine.wiring.clock_judge.state.is_unsure(id)
        if self.believed_since is None or unsure or not said.dated:
            return False
        believed_s = (self.machine.true - self.believed_since).total_seconds()
        return age_s > said.lasts_s + LATE_S and believed_s > LATE_S

    def finish(self) -> None:
        """Run with a right clock until nothing may be left."""
        self.machine.set_by_hand(timedelta())
        self.engine.maintain("confirm clock")
        for _ in range(int(DAYS * 24 * 1.05) + 30):
            self.machine.run(HOUR)
            self.look()
        self.tally["left"] = len(self.said)
        self.engine.close()


def run(folder: Path, seed: int, steps: int, *, backups: bool = False) -> dict[str, int]:
    player = Player(folder, seed, backups=backups)
    for _ in range(steps):
        player.step()
    player.finish()
    names = (*LAWS, "erased", "doubted")
    return {name: player.tally[name] for name in names}


@contextlib.contextmanager
def believing() -> Iterator[None]:
    """Believe every clock, as if there were no judgement."""

    def believe(state: Any, now: Reading, last_id: int, **_: Any) -> clock_doubt.ClockState:
        look = clock_doubt.Look(now.wall, now.boot_s, now.boot, state.seen.lived_s)
        return replace(state, seen=look, believed=look)

    with mock.patch.object(clock_doubt, "next_look", believe):
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=None, help="play this one only")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--backups", action="store_true", help="make backups as well")
    parser.add_argument(
        "--control", action="store_true", help="believe every clock: must be caught"
    )
    args = parser.parse_args()
    logger.disable("slowcat_memory")
    seeds = range(args.seeds) if args.seed is None else [args.seed]
    totals = Counter[str]()
    for seed in seeds:
        folder = Path(tempfile.mkdtemp(prefix="clock-"))
        try:
            with believing() if args.control else contextlib.nullcontext():
                found = run(folder / "store", seed, args.steps, backups=args.backups)
        finally:
            shutil.rmtree(folder)
        totals.update(found)
        print(json.dumps({"seed": seed, "steps": args.steps, **found}), flush=True)
    print(json.dumps({"seeds": len(seeds), "steps": args.steps, **totals}))
    raise SystemExit(any(totals[law] for law in LAWS))


if __name__ == "__main__":
    main()
