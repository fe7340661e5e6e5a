"""Ten thousand people for a simulation: owners, snapshots and logs of realistic sizes.

Rows of snapshots are cut from those of one real store, and rows of logs are those of one real
conversation, so they have the right sizes and do not unpack.
"""

import random
import zlib
from collections.abc import Sequence

from benchmarks import common
from benchmarks.fleet_database import TENANT
from slowcat_memory.fleet.database import Connection
from slowcat_memory.store.disk.outbox import Unsent

SIGMA = 1.2  # of the logarithm of a person's number of memories
MOST = 20_000
TOGETHER = 200  # people in a transaction


def name(n: int) -> str:
    return f"person-{n:06d}"


def memories_of(count: int, median: int) -> list[int]:
    """Return how many memories each person has: log-normal, no more than ``MOST``."""
    chance = random.Random(common.SEED)
    return [
        min(MOST, max(1, round(median * chance.lognormvariate(0.0, SIGMA)))) for _ in range(count)
    ]


async def make_templates(
    connection: Connection, parts: Sequence[bytes], sets: Sequence[Unsent]
) -> None:
    """Put what rows are cut from into the database; of parts, one after the other."""
    await connection.execute(
        "CREATE UNLOGGED TABLE IF NOT EXISTS template_part (n int PRIMARY KEY, body bytea);"
        "CREATE UNLOGGED TABLE IF NOT EXISTS template_set (n int PRIMARY KEY, last_event bigint,"
        " body bytea, crc bigint);"
        "TRUNCATE template_part, template_set"
    )
    await connection.executemany(
        "INSERT INTO template_part VALUES ($1, $2)", list(enumerate(parts))
    )
    await connection.executemany(
        "INSERT INTO template_set VALUES ($1, $2, $3, $4)",
        [(n, one.last_event, one.body, zlib.crc32(one.body)) for n, one in enumerate(sets)],
    )


async def seed(
    connection: Connection, first: int, sizes: Sequence[int], tails: Sequence[int], per_memory: int
) -> None:
    """Make people: each with a snapshot of a size, and so many change sets after it.

    Args:
        per_memory: Bytes of a snapshot for each memory.
    """
    names = [name(first + n) for n in range(len(sizes))]
    await connection.execute(
        "INSERT INTO slowcat.owner (tenant, person, epoch, last_seq, snapshot_upto)"
        " SELECT $1, p, 1, 1 + t, 1 FROM unnest($2::text[], $3::int[]) AS x(p, t)",
        TENANT, names, list(tails),
    )  # fmt: skip
    await connection.execute(
        "WITH part AS (SELECT n, body, length(body) AS size,"
        "  sum(length(body)) OVER (ORDER BY n) - length(body) AS start FROM template_part)"
        " INSERT INTO slowcat.snapshot (tenant, person, upto, part, body, crc)"
        " SELECT $1, x.p, 1, part.n, substring(part.body FROM 1 FOR (x.bytes - part.start)::int), 0"
        " FROM unnest($2::text[], $3::bigint[]) AS x(p, bytes) JOIN part ON part.start < x.bytes",
        TENANT, names, [size * per_memory for size in sizes],
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO slowcat.log (tenant, person, seq, epoch, last_event, body, crc)"
        " SELECT $1, x.p, 1 + s, 1, t.last_event, t.body, t.crc"
        " FROM unnest($2::text[], $3::int[]) AS x(p, tail), generate_series(1, x.tail) AS s,"
        " template_set t WHERE t.n = s % (SELECT count(*) FROM template_set)",
        TENANT, names, list(tails),
    )  # fmt: skip
