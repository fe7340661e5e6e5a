"""A store of this machine into the database, and a person's memory out of it as a store of its own."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import FleetError, StoreDamagedError
from slowcat_memory.fleet import leases, person_log, snapshots, tasks
from slowcat_memory.fleet.database import Connection
from slowcat_memory.fleet.holding import Worker
from slowcat_memory.fleet.leases import Lease
from slowcat_memory.store import StoreOptions
from slowcat_memory.store.care.canary_process import is_whole
from slowcat_memory.store.disk import outbox
from slowcat_memory.store.disk.folder import data_file
from slowcat_memory.store.replica import parts, seeding
from slowcat_memory.store.replica.parts import Ordinary, Whole

MOST_S = 900.0  # for one memory; nothing is stored, or made, by halves
LEASE_S = 60.0
FIRST_SEQ = 1  # a memory that was pushed counts as its first change set


class Pushed(Struct, frozen=True, kw_only=True):
    """What was stored.

    Attributes:
        rows: By table.
        bytes: Compressed, in the database.
    """

    person: str
    rows: dict[str, int]
    bytes: int


class Pulled(Struct, frozen=True, kw_only=True):
    """What was made.

    Attributes:
        rows: By table.
    """

    person: str
    folder: Path
    rows: dict[str, int]


def push(worker: Worker, folder: Path, person: str, options: StoreOptions) -> Pushed:
    """Store a memory of this machine as a person's, in one transaction. Blocks.

    The store is only read, and may be in use. What the database has is read back and counted before
    it is committed.

    Raises:
        FleetError: The person has a memory already.
        StoreError: The store cannot be read, or the database refuses.
    """
    found = parts.read(folder, options)
    work = partial(_store, worker=worker, person=person, found=found)
    worker.database.run(work, MOST_S)
    size = sum(len(part.body) for part in found.parts)
    return Pushed(person=person, rows=found.rows, bytes=size)


async def _store(connection: Connection, worker: Worker, person: str, found: Ordinary) -> None:
    async with connection.transaction():
        lease = await leases.take(connection, worker.tenant, person, worker.holder, LEASE_S, "copy")
        if lease.last_seq:
            raise FleetError(
                f"{person!r} has a memory in the database already",
                hint="Choose another name with --user, or forget that one first",
            )
        await connection.execute(
            "UPDATE slowcat.owner SET last_seq = $3, forget_epoch = $4"
            " WHERE tenant = $1 AND person = $2",
            lease.tenant,
            lease.person,
            FIRST_SEQ,
            0
            if found.erasing
            else found.forget_epoch,  # what is not erased yet, the first worker does
        )
        whole = Whole(FIRST_SEQ, (), found.parts)
        await snapshots.write(connection, lease, whole, forgets=None)
        stored = await _stored_rows(connection, replace(lease, snapshot_upto=FIRST_SEQ))
        parts.check_rows(found.rows, stored, "the database")
        await tasks.schedule(connection, lease.tenant, lease.person)
        await leases.release(connection, lease, FIRST_SEQ)


async def _stored_rows(connection: Connection, lease: Lease) -> dict[str, int]:
    rows: dict[str, int] = {}

    def count(read: list[parts.Part]) -> None:
        for table, n in parts.count_rows(read).items():
            rows[table] = rows.get(table, 0) + n

    await _each_part(connection, lease, count)
    return rows


async def _each_part(
    connection: Connection, lease: Lease, use: Callable[[list[parts.Part]], None]
) -> None:
    """Call a function with the parts of a snapshot, some at a time, beside the event loop."""
    first = 0
    while found := await snapshots.read(connection, lease, first):
        await asyncio.to_thread(use, found)
        first += len(found)


def pull(worker: Worker, person: str, folder: Path, options: StoreOptions) -> Pulled:
    """Make an ordinary store of a person's memory, as it is in the database now. Blocks.

    The person may be in a conversation; what that says from now on is not in it.

    Raises:
        FleetError: There is no such person, or the database lacks a part.
        StoreError: The folder is not vacant, or cannot be written.
    """
    folder = folder.absolute()
    parts.check_vacant(folder)
    parts.check_vacant(folder.with_name(folder.name + seeding.NEW))
    seed = seeding.Seed(folder, options.map_size_gib)
    try:
        work = partial(_read, tenant=worker.tenant, person=person, seed=seed)
        worker.database.run(work, MOST_S)
        rows = seed.counts()
        seed.finish(None)
    except BaseException:
        seed.abandon()
        raise
    if not is_whole(data_file(folder)):
        raise StoreDamagedError(f"{folder} does not read back", hint="Delete it, and try again")
    return Pulled(person=person, folder=folder, rows=rows)


async def _read(connection: Any, tenant: str, person: str, seed: seeding.Seed) -> None:
    """Write everything of a person into a new store."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        row = await connection.fetchrow(
            "SELECT epoch, last_seq, snapshot_upto, forget_epoch FROM slowcat.owner"
            " WHERE tenant = $1 AND person = $2 AND last_seq > 0",
            tenant,
            person,
        )
        if row is None:
            raise FleetError(
                f"there is no memory of {person!r} in the database",
                hint="`slowcat-memory fleet status` lists who is there",
            )
        lease = Lease(
            tenant=tenant,
            person=person,
            holder="",
            epoch=row["epoch"],
            last_seq=row["last_seq"],
            snapshot_upto=row["snapshot_upto"],
            forget_epoch=row["forget_epoch"],
        )

        def add(found: list[parts.Part]) -> None:
            for part in found:
                seed.add(parts.unseal(part))

        if lease.snapshot_upto:
            await _each_part(connection, lease, add)
        tail = await person_log.read(connection, lease, lease.snapshot_upto)
        if tail is None:
            raise FleetError(f"the log of {person!r} has a gap after {lease.snapshot_upto}")
        await asyncio.to_thread(seed.apply, map(outbox.unpack_changes, tail))
