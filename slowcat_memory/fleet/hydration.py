"""Memories out of the database and into it: copies, and ordinary stores of this machine.

The holder of a lease gets a copy that has everything in the log. ``pull`` makes an ordinary store
of the same, ``push`` stores such a one.
"""

import asyncio
from pathlib import Path

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.errors import FleetError, StoreDamagedError, StoreError
from slowcat_memory.fleet import copies, leases, person_log
from slowcat_memory.fleet.copies import Copies
from slowcat_memory.fleet.database import Connection, Database
from slowcat_memory.fleet.leases import Lease, Worker
from slowcat_memory.fleet.person_log import WHOLE_S
from slowcat_memory.store import StoreOptions, replica
from slowcat_memory.store.care.health import is_whole
from slowcat_memory.store.disk import outbox
from slowcat_memory.store.disk.folder import data_file
from slowcat_memory.store.disk.outbox import CopyState, Unsent
from slowcat_memory.store.replica import Whole

FIRST_SEQ = 1  # a memory that was pushed counts as its first change set


def hydrate(worker: Worker, place: Copies, lease: Lease) -> tuple[Path, bool]:
    """Return a copy that is up to date, and whether it was here. Blocks: 50 to 300 ms for 10,000 memories.

    One that is here and cannot be brought up to date is removed, or set aside. The copies must be
    locked, and stay so until the copy is open: others delete closed ones.

    Raises:
        DatabaseAwayError: The database cannot be reached.
        FleetError: It lacks a part of this memory.
    """
    place.sweep()
    closed = copies.readable(place.closed(copies.COPY))
    # Those with something to send first: behind one that is up to date nobody would look at them.
    for folder, state, unsent in sorted(closed, key=lambda copy: not copy[2]):
        at = replace(state, epoch=lease.epoch)
        first = unsent[0].seq if unsent else state.seq + 1
        if state.epoch >= lease.epoch or first > lease.last_seq + 1:
            copies.set_aside(folder, leases.has_less(lease.person).message)
            continue
        waiting = not_sent(worker.database, state, unsent)
        if state.epoch >= lease.purged_under:  # else it has what was forgotten since
            if waiting and waiting[0].seq == lease.last_seq + 1:
                replica.write(folder, at)  # nobody has appended since: it is sent under this lease
                logger.info("fleet: {} change sets were not sent yet", len(waiting))
                return folder, True
            bodies = None if waiting else worker.database.run(person_log.read, lease, state.seq)
            if bodies is not None:
                tail = map(outbox.unpack_changes, bodies)
                # Its own were sent.
                replica.write(folder, replace(at, seq=lease.last_seq), tail, ())
                return folder, True
        copies.move(folder, place, state, waiting)
    folder = place.vacant(copies.COPY)
    _make(worker, lease.person, folder, lease.epoch)
    return folder, False


def not_sent(database: Database, state: CopyState, unsent: list[Unsent]) -> list[Unsent]:
    """Return those change sets of a copy's outbox that the log does not have."""
    upto = database.run(leases.sent_under, state) if unsent else None
    return [] if upto is None else [change for change in unsent if change.seq > upto]


def _make(worker: Worker, person: str, folder: Path, epoch: int | None = None) -> dict[str, int]:
    """Make a store of all that the database has of a person; return how many rows each table has.

    Under an epoch it is a copy, else an ordinary store of somebody whom the database must know.
    """
    with replica.new_store(folder) as draft:
        how = worker.tenant, person, draft
        seq, tail = worker.database.run(_read, *how, timeout_s=WHOLE_S)
        if not seq and epoch is None:
            raise FleetError(
                f"there is no memory of {person!r} in the database",
                hint="`slowcat-memory fleet status` lists who is there",
            )
        state = epoch and CopyState(tenant=worker.tenant, person=person, seq=seq, epoch=epoch)
        sets = map(outbox.unpack_changes, tail)
        return replica.write(draft, state or None, sets, map_gib=worker.map_gib)


async def _read(
    connection: Connection, tenant: str, person: str, draft: Path
) -> tuple[int, list[bytes]]:
    """Write a person's snapshot into a new store; return the last number, and the log behind."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        lease = await leases.look(connection, tenant, person)
        if lease is None:
            return 0, []
        async for part in person_log.read_snapshot(connection, lease):
            await asyncio.to_thread(replica.add, part, draft)
        tail = await person_log.read(connection, lease, lease.snapshot_upto)
    if tail is None:
        raise FleetError(
            f"the log of {person!r} has a gap after {lease.snapshot_upto}",
            hint="Restore the database from a backup; see docs/fleet.md",
        )
    return lease.last_seq, tail


# ------------------------------------------------------------------- ordinary stores


def push(
    worker: Worker, folder: Path, person: str, options: StoreOptions
) -> tuple[dict[str, int], int]:
    """Store a memory of this machine as a person's, in one transaction. Blocks.

    The store is only read, and may be in use.

    Returns:
        How many rows each table has, and the bytes in the database, compressed.

    Raises:
        FleetError: The person has a memory already.
        StoreError: The store cannot be read, or the database refuses.
    """
    whole = replica.read(folder, options)
    worker.database.run(_store, worker, person, whole, timeout_s=WHOLE_S)
    return whole.rows, sum(map(len, whole.parts))


async def _store(connection: Connection, worker: Worker, person: str, whole: Whole) -> None:
    async with connection.transaction():
        lease = await leases.take(connection, worker, person, "copy")
        if lease.last_seq:
            raise FleetError(
                f"{person!r} has a memory in the database already",
                hint="Choose another name with --user, or forget that one first",
            )
        await connection.execute(
            "UPDATE slowcat.owner SET last_seq = $3, forget_epoch = $4"
            " WHERE tenant = $1 AND person = $2",
            *lease.key,
            FIRST_SEQ,
            whole.forget_epoch,  # the first worker erases the rest
        )
        await person_log.write_snapshot(connection, lease, replace(whole, seq=FIRST_SEQ))
        await leases.schedule_task(connection, *lease.key)
        await leases.release(connection, lease, FIRST_SEQ)


def pull(worker: Worker, person: str, folder: Path) -> dict[str, int]:
    """Make an ordinary store of a person's memory, as it is in the database now. Blocks.

    The person may be in a conversation; what that says from now on is not in it.

    Returns:
        How many rows each table has.

    Raises:
        FleetError: There is no such person, or the database lacks a part.
        StoreError: The folder is not vacant, or cannot be written.
    """
    folder = folder.absolute()
    if folder.is_symlink() or (folder.exists() and (folder.is_file() or any(folder.iterdir()))):
        raise StoreError(f"{folder} is not empty", hint="Choose a new folder")
    rows = _make(worker, person, folder)
    if not is_whole(data_file(folder)):
        raise StoreDamagedError(f"{folder} does not read back", hint="Delete it, and try again")
    return rows
