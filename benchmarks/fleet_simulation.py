"""What does one PostgreSQL do for a fleet: 10,000 people, 200 talking at once, 50 workers?

Real: the database and its rows; the statements of leases, fenced appends, copies, snapshots, idle
tasks and renewals, called as the workers call them; the change sets, recorded from a conversation of
a real worker; and ``--probes`` workers with engines, of which nothing is simulated. Simulated: the
other workers. Each has connections of its own, at most as many as a real one, but no engine and no
disk (``benchmarks.fleet.simulated``); all of them share one process. People have log-normal numbers
of memories, in snapshots cut from those of a real store; they come by a Poisson process, talk for
``--talk-min`` minutes on average, six turns a minute, and come back to the worker of the last time
with the probability ``--again``. A turn is what is said and its answer.

``--pace`` makes turns and conversations so many times faster. Steps of
several paces show where the database stops: the first one whose appends take more than ``MOST_MS``
at the 99th percentile. Server, simulation and probes share this machine's cores.

    python -m benchmarks.fleet_simulation --minutes 5 [--cache CACHE] [--json FILE]
    python -m benchmarks.fleet_simulation --minutes 1 --pace 1 2 4 8 16 32

The JSON: ``machine``, ``load``, ``server``, ``recorded`` (means for a turn), ``seeded``, ``steps``
(by pace: ``turns_per_s``, ``appends_per_s``, ``ms`` by what was waited for, ``done``, ``database``,
``simulation``, ``probes``), ``stops_at`` (turns a second, null where it did not).
"""

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
from loguru import logger

from benchmarks import common, fleet_database, stores
from benchmarks.common import percentiles
from benchmarks.fleet import people, probe, recorded, server_load
from benchmarks.fleet.recorded import Recorded
from benchmarks.fleet.simulated import Counts, Crowd, Worker
from slowcat_memory.fleet.database import Database
from slowcat_memory.store.disk.outbox import Unsent

TURNS_A_MINUTE = 6
RECORDED = 24  # turns
MOST_MS = 20.0  # of an append, p99
SIZE, TAIL = 10_000, 200  # of the store that snapshots are cut from
PROBED = 1000  # memories of a probe's people
SETTINGS = {"max_connections": "400"}


def main() -> None:
    given = _arguments()
    logger.remove()
    load = [common.load_average()]
    with common.scratch() as folder, fleet_database.serving(given.dsn, SETTINGS) as dsn:
        said = recorded.record(dsn, folder / "recorded", RECORDED)
        seeded = _seed(dsn, folder, given, said)
        found = asyncio.run(_measure(dsn, folder, given, said))
    load.append(common.load_average())
    written = {
        "machine": common.machine(), "load": load, "people": given.people, "talking": given.talking,
        "workers": given.workers, "recorded": said.sizes(), "seeded": seeded, **found,
    }  # fmt: skip
    common.write_json(given.json, written)
    _show(written)


def _seed(dsn: str, folder: Path, given: argparse.Namespace, said: Recorded) -> dict[str, Any]:
    """Make the people, and those of the probes."""
    began, rng = time.perf_counter(), random.Random(common.SEED)
    stores.build(folder / "made", SIZE, TAIL, given.cache)
    parts = fleet_database.parts_of(folder / "made")
    per_memory = sum(len(part.body) for part in parts) // SIZE
    sizes = people.memories_of(given.people, given.median)
    tails = [rng.randrange(2 * given.tail + 1) for _ in sizes]
    sets = [one for turn in said.turns for batch in turn for one in batch]
    longest = [part.body for part in parts] * (people.MOST // SIZE)
    asyncio.run(_insert(dsn, longest, sets, sizes, tails, per_memory))
    if given.probes:
        stores.build(folder / "probed", PROBED, TAIL, given.cache)
        probed, database = fleet_database.parts_of(folder / "probed"), Database(dsn)
        for number in range(given.probes):
            for n in range(probe.PEOPLE):
                fleet_database.push(database, probe.name(number, n), probed)
        database.close()
    return {
        "memories": sum(sizes), "median": sorted(sizes)[len(sizes) // 2], "most": max(sizes),
        "snapshot_bytes_per_memory": per_memory, "tail_sets": sum(tails),
        "seconds": round(time.perf_counter() - began, 1),
    }  # fmt: skip


async def _insert(
    dsn: str, parts: list[bytes], sets: list[Unsent], sizes: list[int], tails: list[int], each: int
) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await people.make_templates(connection, parts, sets)
        for first in range(0, len(sizes), people.TOGETHER):
            some = slice(first, first + people.TOGETHER)
            await people.seed(connection, first, sizes[some], tails[some], each)
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()


# -------------------------------------------------------------------- running


async def _measure(
    dsn: str, folder: Path, given: argparse.Namespace, said: Recorded
) -> dict[str, Any]:
    connection = await asyncpg.connect(dsn)
    steps = dict[str, Any]()
    try:
        settings = await fleet_database.settings(connection)
        for pace in given.pace:
            step = await _step(connection, dsn, folder, given, said, pace)
            steps[f"{pace:g}"] = step
            common.console.print(
                f"pace {pace:g}: {step['turns_per_s']} turns/s, append {step['ms']['append']}"
            )
            if step["ms"]["append"]["p99"] > MOST_MS and not given.all:
                break
    finally:
        await connection.close()
    return {"server": settings, "steps": steps, "stops_at": stops_at(steps)}


def stops_at(steps: Mapping[str, Any]) -> float | None:
    """Return the turns a second of the first step whose appends are too slow; None if none is."""
    slow = (s["turns_per_s"] for s in steps.values() if s["ms"]["append"]["p99"] > MOST_MS)
    return next(slow, None)


async def _step(
    connection: Any, dsn: str, folder: Path, given: argparse.Namespace, said: Recorded, pace: float
) -> dict[str, Any]:
    counts, every_s = Counts(), 60.0 / TURNS_A_MINUTE / pace
    workers = [Worker(n, dsn, said, counts) for n in range(given.workers)]
    for worker in workers:
        await worker.start()
    crowd = Crowd(workers, given.people, given.again, common.SEED)
    background = [
        asyncio.create_task(crowd.come(given.talking, 60.0 * given.talk_min / pace, every_s)),
        *(asyncio.create_task(worker.renew()) for worker in workers),
        *(asyncio.create_task(worker.think()) for worker in workers),
    ]
    try:
        with _probes(dsn, folder, given, every_s) as probes:
            await asyncio.sleep(given.warm_up)
            counts.ms.clear()
            counts.done.clear()
            before, spent = (
                await server_load.read(connection),
                resource.getrusage(resource.RUSAGE_SELF),
            )
            peak, late = await _watch(connection, 60.0 * given.minutes)
            after, now = (
                await server_load.read(connection),
                resource.getrusage(resource.RUSAGE_SELF),
            )
            talking = crowd.talking
        for task in background:
            if task.done() and not task.cancelled() and (error := task.exception()):
                crowd.failures.append(repr(error))
    finally:
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await crowd.end()
        for worker in workers:
            await worker.close()
    seconds, turns = after.at - before.at, counts.done["turns"]
    used = now.ru_utime + now.ru_stime - spent.ru_utime - spent.ru_stime
    return {
        "seconds": round(seconds, 1),
        "talking": talking,
        "turns_per_s": round(turns / seconds, 2),
        "appends_per_s": round(len(counts.ms["append"]) / seconds, 1),
        "ms": {name: percentiles(ms) for name, ms in sorted(counts.ms.items()) if ms},
        "done": dict(counts.done),
        "failures": crowd.failures[:5],
        "database": {"connections": peak, **server_load.between(before, after, turns)},
        "simulation": {"cores": round(used / seconds, 3), "loop_late": percentiles(late)},
        "probes": probes,
    }


async def _watch(connection: Any, seconds: float) -> tuple[int, list[float]]:
    """Return the most connections seen, and how late the event loop was each time, in ms."""
    peak, late, until = 0, list[float](), time.perf_counter() + seconds
    while (left := until - time.perf_counter()) > 0:
        pause, began = min(0.05, left), time.perf_counter()
        await asyncio.sleep(pause)
        late.append((time.perf_counter() - began - pause) * 1e3)
        if len(late) % 20 == 1:
            peak = max(peak, await server_load.connections(connection))
    return peak, late


@contextmanager
def _probes(
    dsn: str, folder: Path, given: argparse.Namespace, every_s: float
) -> Iterator[dict[str, Any]]:
    """Run real workers meanwhile; the figures are complete afterwards."""
    turns = str(max(2, round(given.talk_min * TURNS_A_MINUTE)))
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.fleet.probe", dsn, str(folder / f"probe{n}"), str(n),
             turns, str(every_s)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for n in range(given.probes)
    ]  # fmt: skip
    found = dict[str, Any]()
    printed = list[str]()
    try:
        yield found
    finally:
        for one in started:
            printed.append(_ended(one))
    waited: dict[str, list[float]] = {}
    for text in printed:
        for name, ms in json.loads(text).items():
            waited.setdefault(name, []).extend(ms)
    found |= {name: percentiles(ms) for name, ms in waited.items() if ms}


def _ended(one: "subprocess.Popen[str]") -> str:
    try:
        return one.communicate("", timeout=120.0)[0] or "{}"
    except subprocess.TimeoutExpired:
        one.kill()
        with suppress(OSError):
            one.communicate()
        raise


# -------------------------------------------------------------------- output


def _show(written: dict[str, Any]) -> None:
    columns = ("pace", "turns/s", "appends/s", "", "n", "p50", "p95", "p99", "max")
    rows = [
        (pace, step["turns_per_s"], step["appends_per_s"], name,
         *(ms[p] for p in ("n", "p50", "p95", "p99", "max")))
        for pace, step in written["steps"].items()
        for name, ms in [*step["ms"].items(), *((f"probe: {k}", v) for k, v in step["probes"].items())]
    ]  # fmt: skip
    common.table(f"{written['people']:,} people, ms", columns, rows)
    names = ("connections", "cores", "cpu_ms_per_turn", "wal_per_turn", "growth_per_turn", "bytes")
    rows = [
        (pace, *(step["database"][name] for name in names), step["simulation"]["cores"])
        for pace, step in written["steps"].items()
    ]
    common.table("the database", ("pace", *names, "simulation's cores"), rows)
    print(f"recorded: {written['recorded']}; stops at: {written['stops_at']} turns/s")


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__)
    parser.add_argument("--dsn", default="", help="an empty database; default: one of our own")
    parser.add_argument("--minutes", type=float, default=3.0, help="of each pace")
    parser.add_argument("--warm-up", type=float, default=20.0, help="seconds before each")
    parser.add_argument(
        "--pace", type=float, nargs="+", default=[1.0], help="how many times faster"
    )
    parser.add_argument("--all", action="store_true", help="all paces, however slow one is")
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--talking", type=int, default=200)
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--probes", type=int, default=2, help="workers with engines")
    parser.add_argument(
        "--talk-min", type=float, default=4.0, help="mean minutes of a conversation"
    )
    parser.add_argument("--again", type=float, default=0.5, help="back to the same worker")
    parser.add_argument("--median", type=int, default=200, help="memories of a person")
    parser.add_argument("--tail", type=int, default=50, help="mean change sets after a snapshot")
    parser.add_argument("--cache", type=Path, help="keep built stores in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    main()
