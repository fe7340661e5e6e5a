"""What a PostgreSQL server spends: processor time, connections, WAL, pages, dead rows."""

import time
from typing import Any

import psutil
from msgspec import Struct

from slowcat_memory.fleet.database import Connection

TABLES = ("owner", "log", "snapshot", "task", "late", "taken_over")


class Reading(Struct, frozen=True):
    """The counters of a server at one moment.

    Attributes:
        cpu_s: Processor time of all its processes, ended ones too; None where it is elsewhere.
        bytes: Of its database on disk.
        dead: Dead rows by table.
        vacuums: Automatic vacuums by table.
    """

    at: float
    cpu_s: float | None
    wal: int
    commits: int
    bytes: int
    tables: dict[str, int]
    dead: dict[str, int]
    vacuums: dict[str, int]


async def read(connection: Connection) -> Reading:
    row = await connection.fetchrow(
        "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS wal,"
        " pg_database_size(current_database()) AS bytes, xact_commit AS commits"
        " FROM pg_stat_database WHERE datname = current_database()"
    )
    tables = await connection.fetch(
        "SELECT relname AS name, pg_total_relation_size(relid) AS bytes, n_dead_tup AS dead,"
        " autovacuum_count AS vacuums FROM pg_stat_user_tables WHERE schemaname = 'slowcat'"
    )
    kept = [one for one in tables if one["name"] in TABLES]
    return Reading(
        at=time.perf_counter(),
        cpu_s=_cpu_s(await connection.fetchval("SELECT pg_backend_pid()")),
        wal=row["wal"],
        commits=row["commits"],
        bytes=row["bytes"],
        tables={one["name"]: one["bytes"] for one in kept},
        dead={one["name"]: one["dead"] for one in kept},
        vacuums={one["name"]: one["vacuums"] for one in kept},
    )


async def connections(connection: Connection) -> int:
    """Return how many clients are connected."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    return int(await connection.fetchval(query))


def _cpu_s(backend: int) -> float | None:
    try:
        process = psutil.Process(backend)
        if not process.name().startswith("postgres") or (server := process.parent()) is None:
            return None
        ended = server.cpu_times()
        total = ended.user + ended.system + ended.children_user + ended.children_system
        for child in server.children():
            spent = child.cpu_times()
            total += spent.user + spent.system
    except psutil.Error:
        return None
    return total


def between(one: Reading, other: Reading, turns: int) -> dict[str, Any]:
    """Return what was spent from one reading to another, in which so many turns were said."""
    seconds, wal = other.at - one.at, other.wal - one.wal
    cpu = None if one.cpu_s is None or other.cpu_s is None else other.cpu_s - one.cpu_s
    return {
        "cores": None if cpu is None else round(cpu / seconds, 3),
        "cpu_ms_per_turn": None if cpu is None else round(1e3 * cpu / max(1, turns), 3),
        "commits_per_s": round((other.commits - one.commits) / seconds, 1),
        "wal_per_turn": round(wal / max(1, turns)),
        "wal_mb_per_s": round(wal / seconds / 1e6, 3),
        "growth_per_turn": round((other.bytes - one.bytes) / max(1, turns)),
        "grown": {name: other.tables[name] - size for name, size in one.tables.items()},
        "bytes": other.bytes,
        "tables": other.tables,
        "dead": other.dead,
        "vacuums": {name: other.vacuums[name] - count for name, count in one.vacuums.items()},
    }
