"""Conversations of a fleet's worker without a pipeline, for tests."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from slowcat_memory.fleet import leases
from slowcat_memory.fleet.fleet_process import Fleet, SharedMember
from tests.support.said import said_by_anna, until

SOON_S = 10.0


@contextmanager
def talking(fleet: Fleet, person: str = "anna") -> Iterator[SharedMember]:
    with closing(fleet.member(person)) as member:
        member.start(SOON_S)
        if member.engine is None:
            raise member.availability.trouble
        member.prepare(person)
        yield member


def say(member: SharedMember, *texts: str) -> None:
    """Say something, and wait until the database has it."""
    for ack in [member.append(said_by_anna(text)) for text in texts]:
        ack.wait(SOON_S)


def texts(fleet: Fleet, person: str = "anna") -> list[str]:
    """Return what a conversation that begins now finds in the log."""
    with talking(fleet, person) as member, member.snapshot() as snapshot:
        return [turn.text for turn in snapshot.turns()]


def rows(fleet: Fleet, query: str, *args: object) -> list[tuple[Any, ...]]:
    """Return rows; ``$1`` is the tenant."""

    async def read(connection: Any) -> list[tuple[Any, ...]]:
        found = await connection.fetch(query, fleet.worker.tenant, *args)
        return [tuple(row) for row in found]

    return fleet.database.run(read)


def files_with(folder: Path, word: bytes) -> list[Path]:
    found = list[Path]()
    # Files and folders may be deleted meanwhile: ``os.walk`` passes over these.
    for path in (Path(root, name) for root, _, names in os.walk(folder) for name in names):
        with suppress(OSError):
            found += [path] if word in path.read_bytes() else []
    return found


def schedule(fleet: Fleet, person: str = "anna", after_s: float = 0.0) -> None:
    """Have somebody thought about who need not have talked."""
    known = "INSERT INTO slowcat.owner (tenant, person) VALUES ($1, $2) ON CONFLICT DO NOTHING"
    rows(fleet, known, person)
    fleet.database.run(leases.schedule_task, fleet.worker.tenant, person, after_s)


def wait_gone(folder: Path, word: bytes) -> None:
    assert until(lambda: not files_with(folder, word), SOON_S), files_with(folder, word)
