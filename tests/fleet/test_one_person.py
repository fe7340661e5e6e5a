"""One person on one worker after another: lease, copy, receipts, forgetting."""

import asyncio
import shutil
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.errors import FleetError, StoreUnsafeError
from slowcat_memory.fleet import Fleet, person_log
from slowcat_memory.fleet.fleet_process import SharedMember
from slowcat_memory.records import Forget
from slowcat_memory.runtime.recall.query import RecallOptions
from slowcat_memory.store import Store
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
    first,
    second,
):
    member = first.member("anna")
    member.start(SOON_S)
    say(member, "The safe's number is quobble.", "My dog is called Bello.")
    holding = member.holding
    holding.shipper.stop()  # nothing is sent any more, as beside a database that is away
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
        early = holding.shipper.replica.whole()
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
