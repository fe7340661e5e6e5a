"""Turns that waited in a file and were then saved in a copy, whose process ends before it deletes them."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from slowcat_memory.config import Config
from slowcat_memory.fleet import Fleet
from slowcat_memory.fleet.shipper import Shipper
from slowcat_memory.fleet.waiting_turns import NAME, WaitingTurns, left_behind
from slowcat_memory.records import Cursor
from tests.fleet.talking import SOON_S, say, talking
from tests.fleet.test_one_person import expire
from tests.support.said import said_by_anna

Make = Callable[..., Config]


def waiting(folder: Path, *texts: str) -> tuple[WaitingTurns, list[Cursor]]:
    """Return turns that are in the file, and their cursors."""
    turns, cursors = WaitingTurns(folder, "t", "anna"), []
    for text in texts:
        cursors.append(turns.next())
        turns.keep(cursors[-1], said_by_anna(text))
    return turns, cursors


def test_turns_that_are_saved_elsewhere_leave_their_file(tmp_path: Path) -> None:
    turns, cursors = waiting(tmp_path, "one", "two")
    turns.settle(cursors[0])
    turns.settle(cursors[1])
    assert turns.close() is None and not list(tmp_path.glob(f"{NAME}*"))


def test_turns_behind_one_that_a_full_disk_refused_are_read_and_other_bytes_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, places = os.pwrite, list[int]()

    def nearly_full(fd: int, data: bytes, at: int) -> int:
        places.append(at)
        if len(places) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data[:20] if len(places) == 2 else data, at)

    monkeypatch.setattr(os, "pwrite", nearly_full)
    turns, _ = waiting(tmp_path, "one", "two", "three")
    path = turns.close()
    assert path is not None
    path.write_bytes(path.read_bytes() + b"torn")  # as a kill leaves it
    with left_behind(path) as found:
        assert found is not None and [late.n for late in found[1]] == [1, 3]
    aside = tmp_path / f"set-aside-{path.name}"
    assert aside.read_bytes() == b"torn" and {*tmp_path.iterdir()} == {path, aside}


def test_a_turn_that_a_lost_copy_had_saved_is_passed_on_once(
    worker_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the process was killed between the two: its file has the turn, and so has its copy."""
    with Fleet(worker_config("a")) as first, Fleet(worker_config("b")) as second:
        blocked, send = True, Shipper._send

        def send_of_others(shipper: Shipper) -> bool:
            if blocked and shipper._lease.holder == first.worker.holder:
                return False
            return send(shipper)

        monkeypatch.setattr(Shipper, "_send", send_of_others)
        monkeypatch.setattr(WaitingTurns, "settle", lambda self, cursor: None)
        member = first.member("anna")
        with talking(second):
            member.start(SOON_S)
            member.append(said_by_anna("My cat is called Mimi."))  # into the file
        assert member.flush(SOON_S) and member.holding is not None, "the copy has it, too"
        assert member.holding.shipper.waiting
        assert member._waiting.close() is not None
        first.database.run(expire)
        with talking(second) as other:
            blocked = False
            say(other, "My parrot is called Coco.")
        member.release()
        first.tidy()
        with talking(second) as other, other.snapshot() as snapshot:
            texts = [turn.text for turn in snapshot.turns("anna")]
        assert sorted(texts) == ["My cat is called Mimi.", "My parrot is called Coco."]
