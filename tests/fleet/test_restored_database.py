"""A database that has less than it acknowledged: what a worker still has is kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slowcat_memory.config import Config
from slowcat_memory.fleet.fleet_process import Fleet
from tests.fleet.talking import say, talking

Make = Callable[..., Config]
TABLES = ("owner", "log", "snapshot", "taken_over")


@pytest.fixture
def emptied(worker_config: Make) -> Fleet:
    """A worker with a copy, whose database was replaced by an empty one."""
    fleet = Fleet(worker_config())
    with talking(fleet) as member:
        say(member, "My dog is called Bello.")

    async def empty(connection: object) -> None:
        for table in TABLES:
            query = f"DELETE FROM slowcat.{table} WHERE tenant = $1"
            await connection.execute(query, fleet.worker.tenant)  # type: ignore[attr-defined]

    fleet.database.run(empty)
    return fleet


def kept(tmp_path: Path) -> list[str]:
    return sorted(
        one.parent.name for one in tmp_path.rglob("data.mdb") if b"Bello" in one.read_bytes()
    )


def test_a_copy_of_which_the_database_knows_nothing_is_kept(emptied: Fleet, tmp_path: Path) -> None:
    with emptied as fleet:
        fleet.tidy()
        assert [name.startswith("copy-") for name in kept(tmp_path)] == [True]


def test_a_copy_that_is_ahead_of_the_database_is_set_aside(emptied: Fleet, tmp_path: Path) -> None:
    with emptied as fleet:
        with talking(fleet) as member:
            say(member, "My cat is called Mimi.")
            with member.snapshot() as snapshot:
                assert [turn.text for turn in snapshot.turns()] == ["My cat is called Mimi."]
        assert [name.startswith("set-aside-") for name in kept(tmp_path)] == [True]
        fleet.tidy()
        assert len(kept(tmp_path)) == 1
