"""Simulated workers keep to the same fence as real ones, and what is seeded for them reads back."""

import asyncio
import random

import asyncpg
import pytest

from benchmarks import fleet_database
from benchmarks.fleet import people
from benchmarks.fleet.recorded import Recorded
from benchmarks.fleet.simulated import Counts, Worker
from slowcat_memory.fleet import leases, person_log, snapshots
from slowcat_memory.store.disk.outbox import Unsent

pytestmark = pytest.mark.fleet
SETS = [Unsent(n, 1, n, b"x" * (100 + n)) for n in range(1, 4)]
SAID = Recorded([[SETS[:1], SETS[1:]]], [SETS[:1]])  # a turn of two statements
TAIL, TURNS = 5, 20


async def talked(dsn: str, first: int, *, taken_over: bool) -> tuple[Counts, dict[str, int]]:
    """Let a simulated worker serve a person, whom another may take over meanwhile."""
    connection, counts, person = await asyncpg.connect(dsn), Counts(), people.name(first)
    worker = Worker(0, dsn, SAID, counts)
    await people.make_templates(connection, [b"p" * 1000, b"q" * 1000], SETS)
    await people.seed(connection, first, [3], [TAIL], per_memory=500)
    await worker.start()
    try:
        talk = asyncio.create_task(worker.converse(person, TURNS, 0.02, random.Random(1)))
        if taken_over:
            while not counts.done["turns"]:
                await asyncio.sleep(0.001)
            expired = (
                "UPDATE slowcat.owner SET until = '-infinity' WHERE tenant = $1 AND person = $2"
            )
            async with connection.transaction():  # an append would renew it in between
                await connection.execute(expired, fleet_database.TENANT, person)
                await leases.take(connection, fleet_database.TENANT, person, "another", 30.0)
        await talk
        owner = await connection.fetchrow(
            "SELECT last_seq, epoch, released::integer AS released FROM slowcat.owner"
            " WHERE tenant = $1 AND person = $2",
            fleet_database.TENANT,
            person,
        )
        lease = await leases.take(connection, fleet_database.TENANT, person, "another", 30.0)
        parts = await snapshots.read(connection, lease, 0)
        assert sum(len(part.body) for part in parts) == 1500
        assert await person_log.read(connection, lease, 1) is not None, "the log has a gap"
        return counts, dict(owner)
    finally:
        await worker.close()
        await connection.close()


def test_simulated_turns_are_appended_without_a_gap(dsn: str) -> None:
    with fleet_database.serving(dsn):
        counts, owner = asyncio.run(talked(dsn, 1, taken_over=False))
    assert owner == {"last_seq": 1 + TAIL + TURNS * len(SETS), "epoch": 2, "released": 1}
    assert counts.done["turns"] == TURNS and len(counts.ms["append"]) == 2 * TURNS
    assert len(counts.ms["ready first"]) == 1 and not counts.done["lost"]


def test_a_simulated_worker_that_was_taken_over_is_refused(dsn: str) -> None:
    with fleet_database.serving(dsn):
        counts, owner = asyncio.run(talked(dsn, 2, taken_over=True))
    assert counts.done["lost"] == 1 and counts.done["turns"] < TURNS
    assert owner["epoch"] == 3 and owner["released"] == 0
