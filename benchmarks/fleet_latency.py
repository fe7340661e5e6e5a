"""What do people wait for whose memory is in a fleet's database?

A real PostgreSQL, and workers of this process with caches of their own; a made-up store of
``--size`` memories, pushed as a snapshot. The model was loaded before, by serving somebody else.

- *ready*: from the moment when a worker learns a person's name (``Fleet.member``) until the first
  recall in full (``full``). *cold*: the worker never had the person; *warm*: it had, and has the
  copy still. Of it, ``held``: taking the lease and making the copy or bringing it up to date;
  ``engine``: until the engine is in use.
- *append*: from ``append`` until the receipt: the turn is committed in the database. *talk*: with
  ``TALK_S`` between two turns; *back to back*: each as soon as the receipt before it has come;
  *burst*: all at once, as turns a second. Their vectors are made and sent meanwhile.
- *turn*: what a user's turn waits in a real pipeline (see ``benchmarks.turn``), embedded and as a
  worker of a fleet, turn by turn in changing order, over copies of one store. *inline*: recall
  begins with the turn; *ahead*: while the user speaks. ``ratio``: fleet over embedded, of the p50.
- *forget*: a turn that the database and another worker's copy have is forgotten: from the call
  until no row of the database has its words (``rows``), the other worker's copy is gone
  (``copies``), and it returns (``call``): the index of what is left is built by then.

    python -m benchmarks.fleet_latency [--dsn DSN] [--cache CACHE] [--only ready append turn forget]

The JSON: ``machine``, ``load``, ``server``, ``memories``, ``snapshot_mb``, ``ready``, ``append``,
``turn``, ``forget`` (n, p50, p95, p99, max, in ms).
"""

import argparse
import asyncio
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from benchmarks import common, corpus, fleet_database, server_process, stores
from benchmarks.common import percentiles
from benchmarks.recognisers import RECOGNISERS
from benchmarks.rig import Rig
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.fleet.copies import copy_name
from slowcat_memory.fleet.database import Database
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.fleet.holding import Holding
from slowcat_memory.fleet.shared_member import SharedMember
from slowcat_memory.metrics import Metrics
from slowcat_memory.owner.member import Member
from slowcat_memory.records import Forget, Turn
from slowcat_memory.runtime.recall.query import PrefetchOptions

SIZE, TAIL = 10_000, 200
READIES, APPENDS, TURNS, FORGETS = 24, 1000, 100, 20
TALK_S = 0.05  # between two turns at the pace of talk, which is slower still
POLL_S = 0.001
WAIT_S = 30.0
SETTLE_S = 0.5  # before a person leaves: what was begun for them is done
WARM_UP = 5
SLOW = {"deadline_ms": 1000.0, "settle_ms": 1000.0}  # so that every recall is in full
ARMS = {"inline": ("segmented", False), "ahead": ("streaming", True)}
TENANT = fleet_database.TENANT
PARTS = ("ready", "append", "turn", "forget")


class Bench(Struct, frozen=True):
    """What all parts measure on.

    Attributes:
        folder: For caches of workers.
        store: A made-up store, closed.
        parts: The same as a snapshot.
    """

    dsn: str
    folder: Path
    store: Path
    database: Database
    parts: list[Any]

    def config(self, cache: str, recall: Mapping[str, float] = {}) -> Config:
        return fleet_database.configuration(self.dsn, self.folder / cache, recall=dict(recall))

    def push(self, person: str) -> str:
        fleet_database.push(self.database, person, self.parts)
        return person


def main() -> None:
    given = _arguments()
    logger.remove()  # each copy's clock was in doubt: the store is made up
    load = [common.load_average()]
    measured: dict[str, Callable[[Bench], dict[str, Any]]] = {
        "ready": partial(ready, count=given.readies),
        "append": partial(append, count=given.appends),
        "turn": partial(turn, count=given.turns),
        "forget": partial(forget, count=given.forgets),
    }
    found: dict[str, Any] = {"memories": given.size}
    with common.scratch() as folder, fleet_database.serving(given.dsn) as dsn:
        store = folder / "made"
        stores.build(store, given.size, min(TAIL, given.size // 2), given.cache)
        database = Database(dsn)
        try:
            found["server"] = database.run(fleet_database.settings)
            parts = fleet_database.parts_of(store)
            found["snapshot_mb"] = round(sum(len(part.body) for part in parts) / 1e6, 2)
            bench = Bench(dsn, folder, store, database, parts)
            for name in given.only:
                found[name] = measured[name](bench)
                load.append(common.load_average())
                _show(name, found[name])
        finally:
            database.close()
    common.write_json(given.json, {"machine": common.machine(), "load": load, **found})


class TimedFleet(Fleet):
    """A worker that notes how long the last lease and copy took, in milliseconds."""

    held = 0.0

    def hold(self, *given: Any, **named: Any) -> Holding:
        began = time.perf_counter()
        try:
            return super().hold(*given, **named)
        finally:
            self.held = (time.perf_counter() - began) * 1e3


@contextmanager
def _worker(config: Config) -> Iterator[TimedFleet]:
    fleet = TimedFleet(config)
    fleet.start()
    try:
        yield fleet
    finally:
        fleet.close()


# -------------------------------------------------------------------- ready


def ready(bench: Bench, count: int) -> dict[str, Any]:
    config = bench.config("ready", SLOW)
    person, other = bench.push("ready"), bench.push("somebody-else")
    texts = iter(corpus.questions(2 * count + 1, common.SEED))
    found = dict[str, Any]()
    with _worker(config) as fleet, asyncio.Runner() as runner:
        runner.run(_ready(fleet, other, next(texts)))
        for how in ("cold", "warm"):
            all_spent = list[dict[str, float]]()
            for _ in range(count):
                if how == "cold":
                    shutil.rmtree(fleet.worker.cache / copy_name(TENANT, person), True)
                spent, was_warm = runner.run(_ready(fleet, person, next(texts)))
                assert was_warm == (how == "warm")
                all_spent.append(spent)
            found[how] = _by_name(all_spent)
    return found


async def _ready(fleet: TimedFleet, person: str, text: str) -> tuple[dict[str, float], bool]:
    """Return the milliseconds until each step of getting ready, and whether a copy was here."""
    began = time.perf_counter()
    member = await asyncio.to_thread(fleet.member, person)
    try:
        member.prepare(corpus.SCOPE)
        await asyncio.to_thread(member.start, 0.0)
        while not member.is_ready:
            assert time.perf_counter() - began < WAIT_S, member.last_error
            await asyncio.sleep(POLL_S)
        engine = time.perf_counter()
        while (await member.recall(text, corpus.SCOPE, now=corpus.NOW)).stage != "full":
            await asyncio.sleep(POLL_S)
        full = time.perf_counter()
        await asyncio.sleep(SETTLE_S)
        assert member.holding is not None
        spent = {"held": fleet.held, "engine": (engine - began) * 1e3, "full": (full - began) * 1e3}
        return spent, member.holding.warm
    finally:
        await asyncio.to_thread(member.release)


# -------------------------------------------------------------------- append


def append(bench: Bench, count: int) -> dict[str, Any]:
    with _worker(bench.config("append", SLOW)) as fleet:
        member = _started(fleet, bench.push("append"))
        try:
            said = iter(_turns(3 * count + WARM_UP))
            _appended(member, said, WARM_UP, 0.0)
            talk = _appended(member, said, count, TALK_S)
            close = _appended(member, said, count, 0.0)
            began = time.perf_counter()
            acks = [member.append(next(said)) for _ in range(count)]
            for ack in acks:
                ack.wait(WAIT_S)
            burst = count / (time.perf_counter() - began)
            member.flush(WAIT_S, indexed=True)
        finally:
            member.release()
    return {
        "talk": percentiles(talk),
        "back to back": percentiles(close),
        "burst_per_s": round(burst, 1),
    }


def _appended(
    member: SharedMember, said: Iterator[Turn], count: int, pause_s: float
) -> list[float]:
    took = list[float]()
    for _ in range(count):
        turn, began, done = next(said), time.perf_counter(), list[float]()
        ack = member.append(turn)
        ack.future.add_done_callback(lambda _, done=done: done.append(time.perf_counter()))
        ack.wait(WAIT_S)
        took.append((done[0] - began) * 1e3)
        time.sleep(pause_s)
    return took


def _turns(count: int, seed: int = common.SEED) -> list[Turn]:
    made = corpus.turns(count, seed, 2 * SIZE)
    return [event for _, events in made for event in events if isinstance(event, Turn)]


# -------------------------------------------------------------------- turn


def turn(bench: Bench, count: int) -> dict[str, Any]:
    return {how: _turn(bench, count, how) for how in ARMS}


def _turn(bench: Bench, count: int, how: str) -> dict[str, Any]:
    recogniser, ahead = ARMS[how]
    prefetch = PrefetchOptions(enabled=ahead)
    config = replace(bench.config(f"turn-{how}"), prefetch=prefetch)
    folder = bench.folder / f"embedded-{how}"
    shutil.copytree(bench.store, folder)
    embedded = replace(common.configuration(folder), prefetch=prefetch)
    bench.push(corpus.SCOPE) if how == next(iter(ARMS)) else None
    with _worker(config) as fleet, server_process.serving() as url:
        members = {"embedded": Member.acquire(embedded), "fleet": _started(fleet, corpus.SCOPE)}
        try:
            members["embedded"].prepare(corpus.SCOPE)
            members["embedded"].start(WAIT_S)
            rigs = {
                "embedded": Rig(url, _processor(config=embedded)),
                "fleet": Rig(url, _processor(fleet=fleet)),
            }
            waits = asyncio.run(_spoken(rigs, members, count, recogniser))
        finally:
            for member in members.values():
                member.release()
    found: dict[str, Any] = {name: percentiles(ms) for name, ms in waits.items()}
    return found | {"ratio": round(found["fleet"]["p50"] / found["embedded"]["p50"], 3)}


def _processor(**where: Any) -> HybridContextualMemoryProcessor:
    return HybridContextualMemoryProcessor(user_id=corpus.SCOPE, **where)


async def _spoken(
    rigs: dict[str, Rig], members: Mapping[str, Member], count: int, recogniser: str
) -> dict[str, list[float]]:
    """Say each text to both, and return what the turns waited; the work of one is done first."""
    texts = corpus.questions(2 * (count + WARM_UP), common.SEED + 1)
    chance, waits = random.Random(common.SEED), {name: list[float]() for name in rigs}
    async with rigs["embedded"].talk, rigs["fleet"].talk:
        for n in range(count + WARM_UP):
            for place, name in enumerate(rigs if n % 2 else reversed(rigs)):
                for member in members.values():
                    await asyncio.to_thread(member.flush, WAIT_S, indexed=True)
                await asyncio.sleep(TALK_S)
                said = [texts[2 * n + place]]
                waits[name] += await rigs[name].say(said, RECOGNISERS[recogniser], chance)
    return {name: ms[WARM_UP:] for name, ms in waits.items()}


# -------------------------------------------------------------------- forget


def forget(bench: Bench, count: int) -> dict[str, Any]:
    person = bench.push("forget")
    spent = list[dict[str, float]]()
    with _worker(bench.config("here", SLOW)) as here, _worker(bench.config("there", SLOW)) as there:
        for n, said in enumerate(_turns(count)):
            word = f"quillon{n:05d}"
            member = _started(here, person)
            ack = member.append(replace(said, text=f"The word on my locker is {word}."))
            ack.wait(WAIT_S)
            member.release()
            copy = _copied(there, person)
            member = _started(here, person)
            try:
                spent.append(_forgotten(bench, member, ack.event, word, copy))
            finally:
                member.release()
    return _by_name(spent)


def _copied(fleet: Fleet, person: str) -> Path:
    """Have another worker make a copy, and leave it; return its folder."""
    holding = fleet.hold(person, Metrics())
    holding.open_store(holding.folder).close()
    return holding.folder


def _forgotten(
    bench: Bench, member: SharedMember, said: Any, word: str, copy: Path
) -> dict[str, float]:
    """Forget a turn; the rows go in the transaction that raises the database's count of deletions."""
    rows = partial(fleet_database.rows_with, person=member.person, word=word.encode())
    deletions = partial(fleet_database.deletions, person=member.person)
    before = bench.database.run(deletions)
    assert bench.database.run(rows) and copy.exists(), "there is nothing to forget"
    spent, began = dict[str, float](), time.perf_counter()
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(member.forget, Forget(turns=(said.id,)))
        done = {
            "rows": lambda: bench.database.run(deletions) > before,
            "copies": lambda: not copy.exists(),
            "call": call.done,
        }
        while len(spent) < len(done):
            assert time.perf_counter() - began < WAIT_S, f"only {', '.join(spent)} came"
            for name in done.keys() - spent.keys():
                if done[name]():
                    spent[name] = (time.perf_counter() - began) * 1e3
            time.sleep(POLL_S)
    assert call.result().erased, call.result().problems
    assert not bench.database.run(rows), "a row has it still"
    return {name: spent[name] for name in done}


# -------------------------------------------------------------------- shared


def _started(fleet: Fleet, person: str) -> SharedMember:
    member = fleet.member(person)
    member.prepare(corpus.SCOPE)
    member.start(WAIT_S)
    if not member.is_ready:
        member.release()
        raise RuntimeError(f"not ready: {member.last_error}")
    return member


def _by_name(spent: Sequence[dict[str, float]]) -> dict[str, Any]:
    return {name: percentiles([one[name] for one in spent]) for name in spent[0]}


def _show(part: str, found: dict[str, Any]) -> None:
    rows = list[list[Any]]()

    def add(name: str, one: Any) -> None:
        if not isinstance(one, dict):
            rows.append([name, "", one, "", "", ""])
        elif "p50" in one:
            rows.append([name, *(one[p] for p in ("n", "p50", "p95", "p99", "max"))])
        else:
            for inner, each in one.items():
                add(f"{name} {inner}".strip(), each)

    add("", found)
    common.table(f"{part}, ms", ("", "n", "p50", "p95", "p99", "max"), rows)


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--size", type=int, default=SIZE, help="memories")
    parser.add_argument("--dsn", default="", help="an empty database; default: one of our own")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--readies", type=int, default=READIES)
    parser.add_argument("--appends", type=int, default=APPENDS)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--forgets", type=int, default=FORGETS)
    parser.add_argument("--cache", type=Path, help="keep the built store in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    main()
