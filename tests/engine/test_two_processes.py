"""Two processes on one memory, or a child that was forked: nothing is lost, and nothing forgotten stays."""

import json
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget, MemoryEvent
from slowcat_memory.store import restore
from slowcat_memory.store.care import copies
from slowcat_memory.store.sharing import living, others_of
from slowcat_memory.testing import memory_config
from tests.support.engine_home import first, texts
from tests.support.memories import Look
from tests.support.other_process import WAIT_S, OtherProcess, printed_by, stopped
from tests.support.said import turn_at

# ------------------------------------------------------------------- two processes on one memory: each recalls what the other heard, and nothing that

VIOLIN, BOAT = "the violin is in the attic", "the boat is blue"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A busy machine's processes confirm late: only a test of who never does may not wait."""
    monkeypatch.setattr(copies, "CONFIRM_S", WAIT_S)
    return tmp_path / "memory"


@pytest.fixture
def engine(folder: Path) -> Iterator[MemoryEngine]:
    made = MemoryEngine(memory_config(folder))
    made.prepare("anna")
    yield made
    made.close()


def say(engine: MemoryEngine, text: str) -> int:
    ack = engine.append(turn_at(text))
    assert engine.flush(30, indexed=True)
    return ack.id


def test_two_processes_each_recalls_what_the_other_heard(folder, engine):
    with OtherProcess(folder) as other:
        assert [one.pid for one in others_of(folder)] == [other.process.pid]
        earlier = say(engine, VIOLIN)
        assert other.call("search", "violin") == [VIOLIN]
        (second,) = other.call("say", BOAT)
        assert first(engine, "boat") == BOAT
        assert earlier < second < say(engine, "the car is red")
        other.call("note", "the key is under the pot")
        assert first(engine, "key") == "the key is under the pot"
        other.call("seal")
        other.call("say", "the kettle is new")
        assert first(engine, "kettle") == "the kettle is new"
        assert first(engine, "violin") == VIOLIN
    assert [one.pid for one in living(folder)] == [os.getpid()]


def test_two_processes_what_one_forgets_is_gone_in_both(folder, engine):
    with OtherProcess(folder) as other:
        violin, boat = other.call("say", VIOLIN, BOAT)
        assert first(engine, "violin") == VIOLIN
        assert other.call("forget", violin) == [True, []]
        assert VIOLIN not in texts(engine.search("violin", "anna"))
        gone = engine.forget(Forget(turns=(boat,)))
        assert gone.erased and BOAT not in other.call("search", "boat")


def test_two_processes_a_turn_that_was_read_before_it_was_forgotten_is_not_indexed_behind_it(
    engine,
):
    id_ = say(engine, VIOLIN)
    read = Look(engine).turn(id_)
    assert read is not None and engine.forget(Forget(turns=(id_,))).erased
    indexer = engine.indexer
    indexer.talk.submit(indexer.hear, "anna", [read]).result()  # as behind a load of the index
    assert texts(engine.search("violin", "anna")) == []


def test_two_processes_one_that_is_stopped_is_named_by_a_forget(folder, engine, monkeypatch):
    monkeypatch.setattr(copies, "CONFIRM_S", 0.1)
    with OtherProcess(folder) as other:
        (violin,) = other.call("say", VIOLIN)
        with stopped(other.process.pid):
            gone = engine.forget(Forget(turns=(violin,)))
            assert engine.upkeep.has_due() and engine.upkeep.erase_due() == 0
            assert not engine.upkeep.has_due(), "not all the time"
        assert not gone.erased and str(other.process.pid) in gone.problems[0]
        monkeypatch.setattr(engine.upkeep, "_again_s", 0.0)
        monkeypatch.setattr(copies, "CONFIRM_S", WAIT_S)
        assert engine.upkeep.has_due() and engine.upkeep.erase_due() == 0
        assert not engine.store.is_erasing() and not engine.upkeep.has_due()


def test_two_processes_go_on_with_what_was_restored_beside_them(folder, engine, tmp_path):
    with OtherProcess(folder) as other:
        other.call("say", VIOLIN)
        backup = engine.store.backup(tmp_path / "kept.mdb")
        other.call("say", BOAT)
        engine.close()
        restore(folder, backup)
        (later,) = other.call("say", "the car is red")
        again = MemoryEngine(memory_config(folder))
        assert [turn.text for turn in Look(again).turns("anna")] == [VIOLIN, "the car is red"]
        again.close()
        assert BOAT not in other.call("search", "boat") and later > 2


def test_two_processes_events_carry_their_origin(folder, engine):
    heard = list[MemoryEvent]()
    engine.subscribe(on_event=heard.append)
    with OtherProcess(folder) as other:
        say(engine, BOAT)
        other.call("say", VIOLIN)
        other.call("note", "the key is under the pot")
        texts(engine.search("violin", "anna"))
        texts(engine.search("key", "anna"))
    stored = [(event.what, bool(event.origin)) for event in heard]
    assert ("stored", False) in stored and ("stored", True) in stored
    assert ("updated", True) in stored


def test_events_name_what_changes_and_hold_no_words_until_nobody_listens(engine):
    events: list[MemoryEvent] = []
    stop = engine.subscribe(on_event=events.append)
    turn = say(engine, "The lodger plays the oboe")
    note = engine.remember("The lodger leaves in May", "anna").id
    engine.edit("anna", note, pinned=True)
    engine.forget(Forget(scope="anna", memories=(note,)))
    stop()
    engine.remember("Nobody listens to this", "anna")
    of_note = [(what, (note,)) for what in ("created", "marked", "forgotten")]
    assert [(one.what, one.ids) for one in events] == [("stored", (chunk_id(turn),)), *of_note]
    assert {one.scope for one in events} == {"anna"} and all(one.at for one in events)
    assert "lodger" not in repr(events)


def test_two_processes_one_at_a_time_does_idle_work(folder, engine):
    with OtherProcess(folder) as other:
        with engine.store.idle_turn() as is_free:
            assert is_free and other.call("idle turn") is False
        assert other.call("idle turn") is True


# ------------------------------------------------------------------- A forked child: it uses a memory of its own, and touches nothing of its parent's

FORKS = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import StoreClosedError
from slowcat_memory.engine.background import BackgroundEngine
from slowcat_memory.testing import memory_config
from tests.support.said import turn_at

def texts(memory):
    with memory.snapshot() as snapshot:
        return [turn.text for turn in snapshot.turns("anna")]

def refused(call):
    try:
        call()
    except StoreClosedError as error:
        return "before a fork" in str(error)
    return False

config = memory_config(sys.argv[1])
memory = BackgroundEngine.acquire(config)
memory.start(30)
memory.append(turn_at("the parent's")).wait(30)
memory.flush(30, indexed=True)
texts(memory)
read, write = os.pipe()
if os.fork() == 0:
    found = {"refused": [refused(call) for call in (
        lambda: memory.append(turn_at("lost")), lambda: memory.search("x", "anna"),
        lambda: texts(memory), lambda: memory.upkeep)]}
    memory.close()
    own = MemoryEngine(config)
    own.append(turn_at("the child's")).wait(30)
    found["words"] = own.flush(30, indexed=True) and [
        hit.memory.text for hit in own.search("child", "anna").hits]
    own.close()
    os.write(write, json.dumps(found).encode())
    os._exit(0)
os.close(write)
found = json.loads(os.fdopen(read).read() or "{}")
os.wait()
memory.append(turn_at("the parent's again")).wait(30)
found["all"] = texts(memory)
memory.close()
print(json.dumps(found))
"""


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another"])
def test_forking_a_child_opens_a_memory_of_its_own_and_leaves_its_parents_alone(tmp_path, beside):
    folder = tmp_path / "memory"
    with OtherProcess(folder) if beside else nullcontext():
        found = json.loads(printed_by(FORKS, folder))
    assert found["refused"] == [True] * 4
    assert "the child's" in found["words"]
    assert found["all"] == ["the parent's", "the child's", "the parent's again"]
