"""Gives the holder of a lease a copy of the person's memory that has everything in the log."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.errors import FleetError
from slowcat_memory.fleet import copies, late_turns, leases, person_log, snapshots, waiting_turns
from slowcat_memory.fleet.copies import Copies
from slowcat_memory.fleet.database import Database
from slowcat_memory.fleet.leases import Lease
from slowcat_memory.store.disk import outbox
from slowcat_memory.store.disk.outbox import CopyState, Unsent
from slowcat_memory.store.replica import parts, seeding
from slowcat_memory.store.replica.parts import Part

SETS_AT_ONCE = 200


class Hydrated(Struct, frozen=True):
    """A copy that is up to date.

    Attributes:
        folder: Its store.
        sent: Number of the last change set that the log has; the copy may have more to send.
        warm: Whether it was here before.
    """

    folder: Path
    sent: int
    warm: bool


def hydrate(database: Database, place: Copies, lease: Lease, map_gib: float) -> Hydrated:
    """Bring a copy up to date, or make one. Blocks: 50 to 300 ms for 10,000 memories.

    The copies must be locked, and stay so until the copy is open: others delete closed ones.

    Args:
        map_gib: Address space to reserve for a store, in GiB.

    Raises:
        DatabaseAwayError: The database cannot be reached.
        FleetError: It lacks a part of this memory.
    """
    place.sweep()
    folder = place.unused()
    found = copies.read_state(folder)
    if found is not None:
        if _is_ahead(lease, *found):
            copies.set_aside(folder, leases.has_less(lease.person))
        elif _follow_up(database, folder, lease, *found):
            return Hydrated(folder, lease.last_seq, warm=True)
        else:
            copies.delete(folder)
    _make(database, folder, lease, map_gib)
    return Hydrated(folder, lease.last_seq, warm=False)


def _is_ahead(lease: Lease, state: CopyState, unsent: list[Unsent]) -> bool:
    """Return whether a copy has what the database acknowledged and has lost since."""
    sent = unsent[0].seq - 1 if unsent else state.seq
    return state.epoch >= lease.epoch or sent > lease.last_seq


def _follow_up(
    database: Database, folder: Path, lease: Lease, state: CopyState, unsent: list[Unsent]
) -> bool:
    """Bring an existing copy up to date; return whether that was possible."""
    at = replace(state, epoch=lease.epoch)
    if waiting := not_sent(database, state, unsent):
        if waiting[0].seq == lease.last_seq + 1:
            seeding.sign(folder, at)  # nobody has appended since: it is sent under this lease
            logger.info("fleet: {} change sets were not sent yet", len(waiting))
            return True
        pass_on(database, folder, state, waiting)
        return False
    if state.person != lease.person:
        return False
    if state.seq < lease.last_seq or unsent:
        bodies = database.run(partial(person_log.read, lease=lease, after=state.seq))
        if bodies is None:
            return False
        seeding.top_up(folder, map(outbox.unpack_changes, bodies), replace(at, seq=lease.last_seq))
    return True


def not_sent(database: Database, state: CopyState, unsent: list[Unsent]) -> list[Unsent]:
    """Return those change sets of a copy's outbox that the log does not have."""
    if not unsent:
        return []
    upto = database.run(
        partial(leases.sent_under, tenant=state.tenant, person=state.person, epoch=state.epoch)
    )
    return [] if upto is None else [one for one in unsent if one.seq > upto]


def pass_on(database: Database, folder: Path, state: CopyState, waiting: list[Unsent]) -> None:
    """Store what a copy can no longer send under its lease for the next holder."""
    # First, since the file of a process that was killed would pass the same turns on again.
    waiting_turns.drop(folder.parent, late_turns.saved_of(waiting))
    # No two workers have written under the same epoch: it names what was heard under it.
    late = late_turns.late_of(str(state.epoch), waiting)
    if late:
        logger.warning("fleet: {} turns were not sent in time; they are appended now", len(late))
        store = partial(late_turns.store, tenant=state.tenant, person=state.person, late=late)
        database.run(store)


def send(database: Database, lease: Lease, waiting: list[Unsent], lease_s: float) -> None:
    """Append what a closed copy has not sent, and nobody appended after."""
    for first in range(0, len(waiting), SETS_AT_ONCE):
        sets = waiting[first : first + SETS_AT_ONCE]
        database.run(partial(person_log.append, lease=lease, sets=sets, lease_s=lease_s))


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
