"""Turns that are said while there is no copy: in a store on this disk, until a copy has them."""

import errno
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.errors import StoreFullError
from slowcat_memory.fleet import Fleet, unsent
from slowcat_memory.fleet.copies import Copies
from slowcat_memory.fleet.shipper import Shipper
from slowcat_memory.fleet.unsent import WaitingTurns
from slowcat_memory.records import Cursor, Turn
from slowcat_memory.store import Ack, new_future, replica
from tests.fleet.talking import SOON_S, say, talking
from tests.fleet.test_one_person import expire
from tests.support.said import said_by_anna

Make = Callable[..., Config]


class Waits:
    """Appends turns that wait, as a member does."""

    def __init__(self, folder: Path) -> None:
        self.place = Copies(folder, "x")
        self.turns = WaitingTurns(self.place, "t", "anna")
        self.cursors, self.saved = list[Cursor](), list[Future[None]]()

    def say(self, text: str, reply_to: int = 0) -> int:
        id_ = -(1 << 40) + len(self.saved)

        def append(cursor: Cursor) -> Ack:
            self.cursors.append(cursor)
            self.saved.append(new_future())
            return Ack(self.saved[-1], replace(said_by_anna(text), id=id_, reply_to=reply_to))

        self.turns.append(said_by_anna(text), append)
        return id_

    def left(self) -> list[Turn]:
        """Return what is on the disk once it is closed."""
        self.turns.close()
        found = list[Turn]()
        for folder in self.place.unsent():
            state = replica.state_of(folder)
            assert state is not None
            left = unsent.read(*state)
            assert self.cursors[-1].name == f"{unsent.PREFIX}{left.source}"
            found += [event for event in left.events if isinstance(event, Turn)]
        return found


def test_turns_have_the_numbers_of_their_cursors_and_refer_to_each_other(tmp_path: Path) -> None:
    waits = Waits(tmp_path)
    waits.say("gone")
    waits.saved[0].set_result(None)  # the next ones are another source's
    first = waits.say("one")
    waits.say("two", reply_to=first)
    with pytest.raises(StoreFullError):
        waits.turns.append(said_by_anna("refused"), _refuse)
    waits.say("three", reply_to=101)  # of a copy that is gone
    found = waits.left()
    assert [(turn.text, turn.id, turn.reply_to) for turn in found] == [
        ("one", 1, 0), ("two", 2, 1), ("three", 3, 0)
    ]  # fmt: skip
    assert [cursor.position for cursor in waits.cursors] == [1, 1, 2, 3]
    assert len(waits.place.unsent()) == 1


def _refuse(cursor: Cursor) -> Ack:
    raise StoreFullError("too much waits")


def test_turns_behind_a_disk_that_was_full_for_a_moment_are_all_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, make, tries = Waits(tmp_path), WaitingTurns._make, list[int]()

    def full_at_first(turns: WaitingTurns, epoch: int) -> Any:
        tries.append(epoch)
        if len(tries) < 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return make(turns, epoch)

    monkeypatch.setattr(WaitingTurns, "_make", full_at_first)
    for text in ("one", "two", "three", "four"):
        waits.say(text)
    assert [(turn.id, turn.text) for turn in waits.left()] == [
        (1, "one"), (2, "two"), (3, "three"), (4, "four")
    ]  # fmt: skip
    assert len(tries) == 3


def test_a_turn_that_a_lost_copy_had_saved_is_appended_once(
    worker_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the process was killed between the two: its store has the turn, and so has its copy."""
    with Fleet(worker_config("a")) as first, Fleet(worker_config("b")) as second:
        blocked, send = True, Shipper._send

        def send_of_others(shipper: Shipper) -> bool:
            if blocked and shipper._database is first.database:
                return False
            return send(shipper)

        monkeypatch.setattr(Shipper, "_send", send_of_others)
        monkeypatch.setattr(WaitingTurns, "_settle", lambda *_: None)
        member = first.member("anna")
        with talking(second):
            member.start(SOON_S)
            member.append(said_by_anna("My cat is called Mimi."))  # into a store of its own
        assert member.flush(SOON_S) and member.holding is not None, "the copy has it, too"
        assert member.holding.shipper.waiting
        first.database.run(expire)
        with talking(second) as other:
            blocked = False
            say(other, "My parrot is called Coco.")
        member.close()
        first.tidy()
        with talking(second) as other, other.snapshot() as snapshot:
            texts = [turn.text for turn in snapshot.turns("anna")]
        assert sorted(texts) == ["My cat is called Mimi.", "My parrot is called Coco."]
