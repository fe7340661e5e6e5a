"""Gives the holder of a lease a copy of the person's memory that has everything in the log."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.errors import FleetError
from slowcat_memory.fleet import copies, leases, person_log, snapshots
from slowcat_memory.fleet import unsent as unsent_turns
from slowcat_memory.fleet.copies import Copies
from slowcat_memory.fleet.database import Database
from slowcat_memory.fleet.leases import Lease
from slowcat_memory.store.disk import outbox
from slowcat_memory.store.disk.outbox import CopyState, Unsent
from slowcat_memory.store.replica import parts, seeding
from slowcat_memory.store.replica.parts import Part


def hydrate(database: Database, place: Copies, lease: Lease, map_gib: float) -> tuple[Path, bool]:
    """Return a copy that is up to date, and whether it was here. Blocks: 50 to 300 ms for 10,000 memories.

    The copies must be locked, and stay so until the copy is open: others delete closed ones.

    Args:
        map_gib: Address space to reserve for a store, in GiB.

    Raises:
        DatabaseAwayError: The database cannot be reached.
        FleetError: It lacks a part of this memory.
    """
    place.sweep()
    for folder in place.stores():
        found = copies.read_state(folder)
        if found is not None and _follow_up(database, place, folder, lease, *found):
            return folder, True
    folder = place.vacant()
    _make(database, folder, lease, map_gib)
    return folder, False


def _follow_up(
    database: Database,
    place: Copies,
    folder: Path,
    lease: Lease,
    state: CopyState,
    unsent: list[Unsent],
) -> bool:
    """Bring an existing copy up to date; one that cannot be is removed. Returns whether it was."""
    at = replace(state, epoch=lease.epoch)
    if state.epoch >= lease.epoch or (unsent[0].seq - 1 if unsent else state.seq) > lease.last_seq:
        copies.set_aside(folder, leases.has_less(lease.person).message)
        return False
    waiting = not_sent(database, state, unsent)
    if state.epoch >= lease.purged_under:  # else it has what was forgotten since
        if waiting and waiting[0].seq == lease.last_seq + 1:
            seeding.sign(folder, at)  # nobody has appended since: it is sent under this lease
            logger.info("fleet: {} change sets were not sent yet", len(waiting))
            return True
        if not waiting and state.seq == lease.last_seq and not unsent:
            return True
        if not waiting:
            bodies = database.run(partial(person_log.read, lease=lease, after=state.seq))
            if bodies is not None:
                seeding.top_up(
                    folder, map(outbox.unpack_changes, bodies), replace(at, seq=lease.last_seq)
                )
                return True
    unsent_turns.move(folder, place, state, waiting)
    return False


def not_sent(database: Database, state: CopyState, unsent: list[Unsent]) -> list[Unsent]:
    """Return those change sets of a copy's outbox that the log does not have."""
    if not unsent:
        return []
    upto = database.run(
        partial(leases.sent_under, tenant=state.tenant, person=state.person, epoch=state.epoch)
    )
    return [] if upto is None else [one for one in unsent if one.seq > upto]


def _make(database: Database, folder: Path, lease: Lease, map_gib: float) -> None:
    seed = seeding.Seed(folder, map_gib)
    try:
        if lease.snapshot_upto:
            for part in _parts(database, lease):
                seed.add(parts.unseal(part))
        tail = database.run(partial(person_log.read, lease=lease, after=lease.snapshot_upto))
        if tail is None:
            raise FleetError(
                f"the log of {lease.person!r} has a gap after {lease.snapshot_upto}",
                hint="Restore the database from a backup; see docs/fleet.md",
            )
        seed.apply(map(outbox.unpack_changes, tail))
        state = CopyState(
            tenant=lease.tenant, person=lease.person, seq=lease.last_seq, epoch=lease.epoch
        )
        seed.finish(state)
    except BaseException:
        seed.abandon()
        raise


def _parts(database: Database, lease: Lease) -> Iterator[Part]:
    """Yield the parts of the snapshot; the next ones are read while some are written."""

    def read(first: int) -> list[Part]:
        return database.run(partial(snapshots.read, lease=lease, first=first))

    with ThreadPoolExecutor(1, "slowcat-parts") as pool:
        first, coming = 0, pool.submit(read, 0)
        while found := coming.result():
            first += len(found)
            if len(found) == snapshots.AT_ONCE:
                coming = pool.submit(read, first)
            yield from found
            if len(found) < snapshots.AT_ONCE:
                return
