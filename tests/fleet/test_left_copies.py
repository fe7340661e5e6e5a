"""Copies that nobody has open: what kills left of them, and what others forgot meanwhile."""

import queue
import time
from collections.abc import Callable
from pathlib import Path

from slowcat_memory.config import Config
from slowcat_memory.fleet import housekeeping, snapshots
from slowcat_memory.fleet.copies import copy_name
from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.records import Forget
from tests.fleet.talking import say, talking
from tests.fleet.test_one_person import expire
from tests.support.said import said_by_anna

Make = Callable[..., Config]
FORGOTTEN_S = 5.0
SECRET = "The safe's number is quobble."


def files_with(folder: Path, word: bytes) -> list[Path]:
    found = list[Path]()
    for path in folder.rglob("*"):
        try:
            found += [path] if path.is_file() and word in path.read_bytes() else []
        except OSError:  # it was deleted meanwhile
            continue
    return found


def wait_gone(folder: Path, word: bytes) -> None:
    deadline = time.monotonic() + FORGOTTEN_S
    while found := files_with(folder, word):
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


def test_what_a_kill_left_of_copies_goes_and_is_in_nobodys_way(
    worker_config: Make, tenant: str, tmp_path: Path
) -> None:
    place = tmp_path / "a" / copy_name(tenant, "anna")
    with Fleet(worker_config("a")) as fleet:
        with talking(fleet) as member:
            say(member, "My dog is called Bello.")
        (place / "a" / "data.mdb").unlink()  # the rest of a deletion
        for name in ("a", "b", "c.new", "d.doomed"):
            (place / name).mkdir(exist_ok=True)
            (place / name / "left").write_text(SECRET)
        with talking(fleet) as member, member.snapshot() as snapshot:
            assert [turn.text for turn in snapshot.turns("anna")] == ["My dog is called Bello."]
        assert files_with(tmp_path, b"quobble") == []


def test_what_was_forgotten_while_a_worker_was_down_goes_as_it_begins(
    worker_config: Make, tmp_path: Path
) -> None:
    with Fleet(worker_config("a")) as first, talking(first) as member:
        say(member, SECRET)
    with Fleet(worker_config("b")) as second, talking(second) as member:
        assert member.forget(Forget(turns=(1,))).erased
    assert files_with(tmp_path / "a", b"quobble") != []
    with Fleet(worker_config("a")):
        wait_gone(tmp_path / "a", b"quobble")


def test_a_notification_that_is_repeated_deletes_no_copy(
    worker_config: Make, tmp_path: Path
) -> None:
    """Every role of a server can send one that it has overheard."""
    with Fleet(worker_config("a")) as first, Fleet(worker_config("b")) as second:
        heard = queue.SimpleQueue[str]()
        second.database.listen(snapshots.CHANNEL, heard.put)
        with talking(first) as member:
            say(member, SECRET, "My dog is called Bello.")
        with talking(second) as member:
            assert member.forget(Forget(turns=(1,))).erased
        message = heard.get(timeout=FORGOTTEN_S)
        wait_gone(tmp_path / "a", b"quobble")
        with talking(first) as member:
            say(member, "My cat is called Mimi.")
        there = sorted(tmp_path.rglob("data.mdb"))
        assert len(there) == 2
        for fleet in (first, second):
            housekeeping.look_at_notified(fleet.worker, message)
        assert sorted(tmp_path.rglob("data.mdb")) == there


def test_what_was_forgotten_goes_from_a_copy_that_was_open_and_had_something_to_send(
    worker_config: Make, tmp_path: Path
) -> None:
    with Fleet(worker_config("a", 60.0)) as first, Fleet(worker_config("b")) as second:
        with talking(first) as stalled:
            say(stalled, SECRET)
            first.database.run(expire)
            with talking(second) as member:
                assert member.forget(Forget(turns=(1,))).erased
                stalled.append(said_by_anna("My dog is called Bello."))  # is refused
                wait_gone(tmp_path, b"quobble")
        with talking(second) as member, member.snapshot() as snapshot:
            assert [turn.text for turn in snapshot.turns("anna")] == ["My dog is called Bello."]
