"""Copies that a kill or a restored database left."""

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from slowcat_memory.config import Config
from slowcat_memory.fleet.copies import copy_name
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.records import Forget
from tests.fleet.talking import files_with, rows, say, talking, texts, wait_gone
from tests.fleet.test_one_person import expire
from tests.support.said import said_by_anna

# ------------------------------------------------------------------- copies that nobody has open: what kills left of them, and what others forgot mea

Make = Callable[..., Config]
SECRET = "The safe's number is quobble."


def test_what_a_kill_left_of_copies_goes_and_is_in_nobodys_way(fleet, tenant, tmp_path):
    place = tmp_path / "a" / copy_name(tenant, "anna")
    with talking(fleet) as member:
        say(member, "My dog is called Bello.")
    (copy,) = place.glob("copy-*")
    (copy / "data.mdb").unlink()  # the rest of a deletion
    for name in (copy.name, "copy-b", "copy-c.new", "deleted-d"):
        (place / name).mkdir(exist_ok=True)
        (place / name / "left").write_text(SECRET)
    assert texts(fleet) == ["My dog is called Bello."]
    assert files_with(tmp_path, b"quobble") == []


def test_what_was_forgotten_while_a_worker_was_down_goes_as_it_begins(worker_config, tmp_path):
    with Fleet(worker_config("a")) as first, talking(first) as member:
        say(member, SECRET)
    with Fleet(worker_config("b")) as second, talking(second) as member:
        assert member.forget(Forget(turns=(1,))).erased
    assert files_with(tmp_path / "a", b"quobble") != []
    with Fleet(worker_config("a")):
        wait_gone(tmp_path / "a", b"quobble")


def test_what_was_forgotten_goes_from_a_copy_that_was_open_and_had_something_to_send(
    worker_config, tmp_path
):
    with Fleet(worker_config("a", 60.0)) as first, Fleet(worker_config("b")) as second:
        with talking(first) as stalled:
            say(stalled, SECRET)
            first.database.run(expire)
            with talking(second) as member:
                assert member.forget(Forget(turns=(1,))).erased
                stalled.append(said_by_anna("My dog is called Bello."))  # is refused
                wait_gone(tmp_path, b"quobble")
        assert texts(second) == ["My dog is called Bello."]


def test_a_current_copy_does_not_hide_what_another_could_not_send(worker_config, monkeypatch):
    names = [*map(str, range(100, 999))]  # each new copy is listed before those that are there
    monkeypatch.setattr(secrets, "token_hex", lambda size: names.pop())
    said = ["My dog is called Bello.", "My cat is called Mimi.", "My fish is called Wanda."]
    with Fleet(worker_config("a", 60.0)) as first, Fleet(worker_config("a")) as second:
        with talking(first) as stalled:
            say(stalled, said[0])
            first.database.run(expire)
            with talking(second) as member:
                stalled.append(said_by_anna(said[2]))  # is refused, or waits
                say(member, said[1])
        assert texts(second) == said


# ------------------------------------------------------------------- A database that has less than it acknowledged: what a worker still has is kept


@pytest.fixture
def emptied(worker_config: Make) -> Fleet:
    """A worker with a copy, whose database was replaced by an empty one."""
    fleet = Fleet(worker_config())
    with talking(fleet) as member:
        say(member, "My dog is called Bello.")

    for table in ("owner", "log", "snapshot", "taken_over"):
        rows(fleet, f"DELETE FROM slowcat.{table} WHERE tenant = $1")
    return fleet


def kept(tmp_path: Path) -> list[str]:
    return sorted(
        one.parent.name for one in tmp_path.rglob("data.mdb") if b"Bello" in one.read_bytes()
    )


def test_a_copy_of_which_the_database_knows_nothing_is_kept(emptied, tmp_path):
    with emptied as fleet:
        fleet.tidy()
        assert [name.startswith("copy-") for name in kept(tmp_path)] == [True]


def test_a_copy_that_is_ahead_of_the_database_is_set_aside(emptied, tmp_path):
    with emptied as fleet:
        with talking(fleet) as member:
            say(member, "My cat is called Mimi.")
        assert texts(fleet) == ["My cat is called Mimi."]
        assert [name.startswith("set-aside-") for name in kept(tmp_path)] == [True]
        fleet.tidy()
        assert len(kept(tmp_path)) == 1
