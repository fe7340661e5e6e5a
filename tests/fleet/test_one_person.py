"""One person on one worker after another: lease, copy, receipts, forgetting."""

import asyncio
import errno
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.errors import DatabaseAwayError, FleetError, StoreUnsafeError
from slowcat_memory.fleet import copies, leases, person_log
from slowcat_memory.fleet.copies import Copies, WaitingTurns
from slowcat_memory.fleet.fleet_process import Fleet, SharedMember
from slowcat_memory.fleet.holding import Holding
from slowcat_memory.records import Cursor, Forget, Turn
from slowcat_memory.runtime.recall.query import RecallOptions
from slowcat_memory.store import Store, replica
from slowcat_memory.store.disk.outbox import Unsent
from tests.fleet.talking import SOON_S, files_with, rows, say, talking, texts
from tests.support.said import said_by_anna


def recalled(member: SharedMember, question: str) -> list[str]:
    assert member.flush(SOON_S, indexed=True)
    found = asyncio.run(member.recall(question, "anna"))
    return [hit.memory.text for hit in found.hits]


def test_a_worker_that_had_the_person_reads_only_what_is_new(worker_config):
    patient = RecallOptions(deadline_ms=SOON_S * 1e3, settle_ms=SOON_S * 1e3)  # on a busy machine
    config = worker_config("a", recall=patient)
    with Fleet(config) as first, Fleet(worker_config("b")) as second:
        with talking(first) as member:
            say(member, "My dog is called Bello.")
        with talking(second) as member:
            say(member, "My cat is called Mimi.")
        with talking(first) as member:
            assert member.holding is not None and member.holding.warm
            assert "My cat is called Mimi." in recalled(member, "What is my cat called?")


def test_what_is_forgotten_is_in_no_row_and_in_no_copy(first, second, tmp_path):
    with talking(first) as member:
        say(member, "The safe's number is quobble.", "My dog is called Bello.")
    with talking(second) as member:
        gone = member.forget(Forget(turns=(1,)))
        assert gone.erased and gone.turns == (1,)
        assert rows(first, "SELECT 1 FROM slowcat.log WHERE tenant = $1") == []
        assert rows(first, "SELECT 1 FROM slowcat.snapshot WHERE tenant = $1") != []
    first.tidy()
    assert files_with(tmp_path, b"quobble") == []
    with talking(first) as member:
        assert recalled(member, "What is the safe's number?") == []
    assert texts(first) == ["My dog is called Bello."]


def test_a_copy_cannot_be_written_past_its_outbox(fleet):
    with talking(fleet) as member:
        say(member, "My dog is called Bello.")
        folder = member.holding.folder  # type: ignore[union-attr]
    with pytest.raises(StoreUnsafeError, match="copy of the memory of 'anna'"):
        Store.open(folder)
    with Store.open(folder, readonly=True) as store, store.snapshot() as snapshot:
        assert [turn.text for turn in snapshot.turns("anna")] == ["My dog is called Bello."]


def test_turns_of_a_refused_conversation_are_appended_by_the_next_holder(first, second, tmp_path):
    with talking(first) as member:
        say(member, "My dog is called Bello.")
        refused = second.member("anna")
        refused.start(SOON_S)
        assert refused.engine is None
        asked = refused.append(said_by_anna("My cat is called Mimi."))
        refused.append(replace(said_by_anna("Mimi is grey."), reply_to=asked.id))
        refused.close()
    with talking(second) as member, member.snapshot() as snapshot:
        turns = list(snapshot.turns("anna"))
    assert [turn.text for turn in turns] == [
        "My dog is called Bello.", "My cat is called Mimi.", "Mimi is grey."
    ]  # fmt: skip
    assert turns[2].reply_to == turns[1].id
    assert len(texts(first)) == 3  # once
    assert not list(tmp_path.rglob("unsent-*"))


async def expire(connection: Any) -> None:
    """Let another conversation take over every lease, also one that is renewed again."""
    await connection.execute("UPDATE slowcat.owner SET purpose = 'idle'")


def test_notes_and_forgets_of_a_worker_that_lost_its_lease_are_carried_out_by_the_next(
    first, second
):
    member = first.member("anna")
    member.start(SOON_S)
    say(member, "The safe's number is quobble.", "My dog is called Bello.")
    holding = member.holding
    holding.stop()  # nothing is sent any more, as beside a database that is away
    first.database.run(expire)
    with pytest.raises(FleetError, match="not yet in the database"):
        member.remember("Buy a new lead", "anna")
    gone = member.forget(Forget(turns=(1,)))
    assert not gone.erased and "database" in gone.problems[0]
    with talking(second) as other:
        say(other, "My parrot is called Coco.")
    member.close()
    with talking(second) as other, other.snapshot() as snapshot:
        assert [turn.text for turn in snapshot.turns("anna")] == [
            "My dog is called Bello.", "My parrot is called Coco."
        ]  # fmt: skip
        assert "Buy a new lead" in [one.text for one in snapshot.memories("anna")]


def test_a_snapshot_never_takes_the_place_of_a_later_one(worker_config, fleet):
    with talking(fleet) as member:
        say(member, "The safe's number is quobble.", "My dog is called Bello.")
        holding = member.holding
        early = holding.replica.whole()
        assert member.forget(Forget(turns=(1,))).erased
        fleet.database.run(person_log.write_snapshot, holding.lease, early)
    with Fleet(worker_config("b")) as other:
        assert texts(other) == ["My dog is called Bello."]


def test_forgetting_everything_names_turns_that_wait_on_another_worker(first, second):
    with talking(first) as member:
        say(member, "My dog is called Bello.")
        refused = second.member("anna")
        refused.start(SOON_S)
        refused.append(said_by_anna("My cat is called Mimi."))
        refused.close()
        gone = member.forget(Forget(everything=True))
        assert not gone.erased and len(gone.remains) == 1
        assert "/b/" in gone.remains[0] and "/unsent-" in gone.remains[0]
    second.tidy()  # they are appended as they were said
    assert texts(first) == ["My cat is called Mimi."]
    with talking(first) as member:
        assert member.forget(Forget(everything=True)).erased
    assert texts(second) == []


def test_forgetting_names_a_copy_that_another_worker_set_aside(first, second, tmp_path):
    with talking(first) as member:
        say(member, "The safe's number is quobble.", "My dog is called Bello.")
        data = member.holding.folder / "data.mdb"
    damaged = data.read_bytes()
    data.write_bytes(damaged[: len(damaged) // 2])
    first.tidy()
    with talking(second) as member:
        gone = member.forget(Forget(turns=(1,)))
        assert gone.turns == (1,) and not gone.erased
        assert "/a/" in gone.remains[0] and "/set-aside-" in gone.remains[0]
        (aside,) = tmp_path.rglob("set-aside-*")
        shutil.rmtree(aside)
        first.tidy()
        assert member.forget(Forget(turns=(2,))).erased


# ---------------------------------------------------------------- turns that wait for the database, or for another worker


# ------------------------------------------------------------------- turns that are said while there is no copy: in a store on this disk, until a cop


class Waits:
    """Appends turns that wait, as a member does."""

    def __init__(self, folder: Path) -> None:
        self.place = Copies(folder, "x")
        self.turns = WaitingTurns(self.place, "t", "anna")
        self.cursors = list[Cursor]()

    def say(self, text: str, reply_to: int = 0) -> int:
        id_ = -(1 << 40) + len(self.cursors)
        self.cursors.append(self.turns.next_cursor)
        self.turns.keep(replace(said_by_anna(text), id=id_, reply_to=reply_to))
        return id_

    def left(self) -> list[Turn]:
        """Return what is on the disk once it is closed."""
        self.turns.close()
        found = list[Turn]()
        for folder in self.place.closed(copies.UNSENT):
            left = copies.read(*replica.state_of(folder))
            assert self.cursors[-1].name == f"{copies.PREFIX}{left.source}"
            found += [event for event in left.events if isinstance(event, Turn)]
        return found


def test_turns_have_the_numbers_of_their_cursors_and_refer_to_each_other(tmp_path):
    waits = Waits(tmp_path)
    waits.say("gone")
    waits.turns.drop()  # the next ones are another source's
    waits.say("two", reply_to=waits.say("one"))
    waits.say("three", reply_to=101)  # of a copy that is gone
    found = waits.left()
    assert [(turn.text, turn.id, turn.reply_to) for turn in found] == [
        ("one", 1, 0), ("two", 2, 1), ("three", 3, 0)
    ]  # fmt: skip
    assert [cursor.position for cursor in waits.cursors] == [1, 1, 2, 3]
    assert len(waits.place.closed(copies.UNSENT)) == 1


def test_turns_behind_a_disk_that_was_full_for_a_moment_are_all_there(tmp_path, monkeypatch):
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


def test_a_turn_that_a_lost_copy_had_saved_is_appended_once(first, second, monkeypatch):
    """As if the process was killed between the two: its store has the turn, and so has its copy."""
    blocked, send = True, Holding._send

    def send_of_others(holding: Holding) -> bool:
        if blocked and holding.database is first.database:
            return False
        return send(holding)

    monkeypatch.setattr(Holding, "_send", send_of_others)
    monkeypatch.setattr(WaitingTurns, "drop", lambda *_: None)
    member = first.member("anna")
    with talking(second):
        member.start(SOON_S)
        member.append(said_by_anna("My cat is called Mimi."))  # into a store of its own
    assert member.flush(SOON_S) and member.holding is not None, "the copy has it, too"
    assert member.holding.waiting
    first.database.run(expire)
    with talking(second) as other:
        blocked = False
        say(other, "My parrot is called Coco.")
    member.close()
    first.tidy()
    assert sorted(texts(second)) == ["My cat is called Mimi.", "My parrot is called Coco."]


# ------------------------------------------------------------------- what could not be sent, and is tried again after one fault or another: each turn


TEXTS = ["My dog is called Bello.", "My cat is called Mimi."]


def leave_unsent(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, *said: str) -> None:
    """Say something that is saved in a copy, and not sent before it is closed."""
    with monkeypatch.context() as patch:
        patch.setattr(Holding, "_send", lambda *_: False)
        patch.setattr("slowcat_memory.fleet.holding.FLUSH_S", 0.1)
        member = fleet.member("anna")
        member.start(SOON_S)
        for text in said:
            member.append(said_by_anna(text))
        assert member.flush(SOON_S)
        patch.setattr("slowcat_memory.fleet.housekeeping.tidy_person", lambda *_: None)
        member.close()


def test_turns_of_a_worker_whose_successor_died_at_once_are_sent_once(first, second, monkeypatch):
    """The successor appended nothing; the answer to what is sent then is lost."""
    with talking(first) as member:
        say(member, "I live in Lisbon.")
    leave_unsent(first, monkeypatch, *TEXTS)
    first.database.run(leases.take, replace(second.worker, lease_s=0.0), "anna")
    append = person_log.append

    async def answer_lost(*args: Any, **how: Any) -> int:
        await append(*args, **how)
        raise DatabaseAwayError("the answer was lost")

    with monkeypatch.context() as patch:
        patch.setattr(person_log, "append", answer_lost)
        patch.setattr("slowcat_memory.fleet.holding.FLUSH_S", 0.1)
        first.tidy()
    for fleet in (first, second, first, second):
        fleet.tidy()
    assert sorted(texts(second)) == sorted([*TEXTS, "I live in Lisbon."])


def test_turns_whose_store_was_not_deleted_are_appended_once(first, second, monkeypatch, tmp_path):
    """As if the worker was killed after it had saved them in its copy, or sent them."""
    with talking(first) as member:
        say(member, "I live in Lisbon.")
    leave_unsent(first, monkeypatch, *TEXTS)
    with talking(second) as member:
        say(member, "My parrot is called Coco.")
    left = list[Path]()

    def kept(folder: Path) -> None:
        if folder.name.startswith(copies.UNSENT):
            left.append(folder)
        else:
            shutil.rmtree(folder)

    with monkeypatch.context() as patch:
        patch.setattr(copies, "remove", kept)
        leave_unsent(first, monkeypatch, "It is me again.")  # saved, and not sent
        assert len(left) == 1 and left[0].is_dir()
        with talking(second) as member:  # so that copy cannot be sent either
            say(member, "My fish is called Finn.")
        for _ in range(3):
            first.tidy()
        assert len(set(left)) == 2
    found = texts(second)
    assert sorted(found) == sorted([
        *TEXTS, "I live in Lisbon.", "It is me again.", "My parrot is called Coco.",
        "My fish is called Finn.",
    ])  # fmt: skip
    first.tidy()
    assert not list(tmp_path.rglob(f"{copies.UNSENT}*")) and texts(second) == found


def test_a_store_of_turns_that_another_process_appends_is_left_to_it(
    first, second, monkeypatch, tmp_path
):
    with talking(second):
        refused = first.member("anna")
        refused.start(SOON_S)
        refused.append(said_by_anna(TEXTS[0]))
        refused.close()
    (store,) = tmp_path.rglob(f"{copies.UNSENT}*")
    with copies.if_free(store / copies.CLAIM) as free:
        assert free
        first.tidy()
        assert store.is_dir() and texts(second) == []
    first.tidy()
    assert not store.exists() and texts(second) == TEXTS[:1]


# ------------------------------------------------------------------- what is sent again after nobody knows whether it arrived


def test_a_second_try_with_more_in_it_goes_on_where_the_first_came(worker_config):
    sets = [Unsent(seq, 1, seq, b"%d" % seq) for seq in (1, 2, 3)]
    with Fleet(worker_config()) as fleet:
        lease = fleet.database.run(leases.take, fleet.worker, "anna")
        append = partial(fleet.database.run, person_log.append, lease)
        assert append(sets[:2]) == 2  # its answer was lost
        assert append(sets) == 2
        assert [append(sets[2:]), append(sets[2:])] == [3, 3]
