"""The queue of icebreakers, and the heads that take from it, in a real store."""

from datetime import timedelta
from typing import Any
from unittest.mock import patch

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import StoreError
from slowcat_memory.records import Memory, WriteBatch
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import HOUR, last_session
from tests.support.memories import Look
from tests.support.other_process import printed_by
from tests.support.said import memory_at

GARDEN, INTERVIEW = "Ask about the garden.", "Ask how the interview went."
CAKE = "Praise the cake."


def texts(engine: MemoryEngine) -> list[str]:
    return [memory.text for memory in engine.icebreakers.waiting("anna")]


# ------------------------------------------------------------------- pushing


def test_icebreakers_icebreaker_as_many_as_may_wait_and_the_least_important_makes_room(home):
    engine = home.open(icebreakers={"most": 2})
    assert engine.icebreakers.push("anna", GARDEN, priority=0.4)
    assert engine.icebreakers.push("anna", CAKE, priority=0.3)
    assert engine.icebreakers.push("anna", INTERVIEW, priority=0.9)
    assert texts(engine) == [INTERVIEW, GARDEN]
    assert engine.icebreakers.push("anna", "Nothing much.", priority=0.1) is None
    assert texts(engine) == [INTERVIEW, GARDEN]
    assert engine.icebreakers.waiting("berta") == []


def test_icebreakers_icebreaker_same_text_waits_once_and_is_not_taken_again_until_it_has_expired(
    home,
):
    engine = home.open(icebreakers={"quiet_hours": ""})
    engine.icebreakers.push("anna", GARDEN, priority=0.2)
    changed = engine.icebreakers.push("anna", GARDEN, priority=0.7)
    assert changed and [m.importance for m in engine.icebreakers.waiting("anna")] == [0.7]
    assert GARDEN in home.session(engine, "one")
    assert engine.icebreakers.push("anna", GARDEN, priority=1.0) is None
    home.clock.advance(14 * 24 * HOUR)
    assert engine.icebreakers.push("anna", GARDEN)
    assert texts(engine) == [GARDEN]


# ------------------------------------------------------------------- one for a session


def test_icebreakers_icebreaker_others_are_kept_where_that_is_wished(home):
    engine = home.open(icebreakers={"drop_others": False})
    for text, priority in ((GARDEN, 0.4), (INTERVIEW, 0.9)):
        engine.icebreakers.push("anna", text, priority=priority)
    assert INTERVIEW in home.session(engine, "one")
    assert texts(engine) == [GARDEN]


def test_icebreakers_icebreaker_is_the_same_however_often_it_is_asked_for_in_a_session(home):
    engine = home.open(icebreakers={"quiet_hours": "22:00-08:00"})
    home.session(engine, "before")
    engine.remember("Plays the cello.", "anna")
    for text in (GARDEN, INTERVIEW):
        engine.icebreakers.push("anna", text)
    home.clock.advance(4.9 * HOUR)  # 21:54
    told = {engine.session_context("anna") for _ in range(3)}
    home.clock.advance(600)
    told.add(engine.session_context("anna"))  # quiet hours began, nobody has spoken yet
    home.edge(engine, "now", "start")
    home.say(engine, "now")
    told.add(engine.session_context("anna"))
    engine.remember("Has a cat.", "anna")
    engine.icebreakers.push("anna", CAKE, priority=1.0, quiet=False)
    home.clock.advance(3 * HOUR)  # past midnight
    home.say(engine, "now")
    told.add(engine.session_context("anna"))
    assert len(told) == 1 and "earlier today" in told.pop()
    home.edge(engine, "now", "end")
    home.clock.advance(5 * HOUR)
    assert CAKE in engine.session_context("anna") and "cat" in engine.session_context("anna")


def test_icebreakers_icebreaker_nobody_is_asked_in_the_middle_of_a_session_or_right_after_one(home):
    engine = home.open(icebreakers={"quiet_hours": ""})
    home.edge(engine, "one", "start")
    home.say(engine, "one")
    engine.icebreakers.push("anna", GARDEN)
    assert engine.session_context("anna") == ""
    home.edge(engine, "one", "end")
    home.clock.advance(3.9 * HOUR)
    assert GARDEN not in engine.session_context("anna")
    home.clock.advance(0.2 * HOUR)
    assert GARDEN in engine.session_context("anna")


# ------------------------------------------------------------------- durable, or not at all


KILLED = """
import os, sys
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import FixedClock, memory_config
engine = MemoryEngine(memory_config(sys.argv[1]), clock=FixedClock())
print(engine.session_context("anna"), flush=True)
os.kill(os.getpid(), 9)
"""


def test_icebreakers_icebreaker_process_that_is_killed_right_after_does_not_say_it_again(home):
    home.open().icebreakers.push("anna", GARDEN)
    home.engines[0].close()
    assert GARDEN in printed_by(KILLED, home.path, ends=-9)
    home.clock.advance(2 * HOUR)
    engine = home.open()
    assert "Bring this up" not in engine.session_context("anna") and texts(engine) == []


def test_icebreakers_icebreaker_what_cannot_be_written_down_is_not_said(engine):
    engine.icebreakers.push("anna", GARDEN)
    with patch.object(engine.store, "apply", side_effect=StoreError("the disk is full")):
        assert engine.session_context("anna") == ""
    assert GARDEN in engine.session_context("anna")


# ------------------------------------------------------------------- never found


def test_icebreakers_icebreaker_neither_recall_nor_search_finds_an_icebreaker_or_a_block(home):
    engine = home.open(HashEmbedder())
    home.say(engine, "one", "The interview was about gardens")
    engine.icebreakers.push("anna", INTERVIEW)
    block = memory_at("block/human", "Had an interview.", home.clock(), kind="block/human")
    engine.store.apply("job", WriteBatch(memories=(block,))).wait()

    def found() -> set[str]:
        return {hit.memory.kind for hit in engine.search("interview", "anna").hits}

    assert found() == {"chunk"}
    engine.close()
    for step in ("loaded", "loaded beside the seal"):
        engine = home.open(HashEmbedder())
        assert found() == {"chunk"}, step
        if step == "loaded":
            engine.upkeep.seal("anna")
            assert found() == {"chunk"}, step
        assert engine.upkeep.stats()["index"]["anna"]["memories"] == 1
        engine.icebreakers.push("anna", f"Ask about another interview {step}.")
        engine.edit("anna", engine.icebreakers.waiting("anna")[0].id, pinned=True)
        assert found() == {"chunk"}, step
        engine.close()
    assert len(texts(home.open())) == 3, "they are there all the same"


# ------------------------------------------------------------------- the context of a session, but for its icebreaker


def test_head_session_head_summary_of_the_last_session_and_of_no_other(home, engine):
    home.session(engine, "one")
    home.session(engine, "two")

    def summary(id_: str, text: str, **more: Any) -> Memory:
        return memory_at(id_, text, home.clock(), kind="summary/session", **more)

    ids = [turn.id for turn in Look(engine).turns("anna")]
    engine.store.apply("job", WriteBatch(memories=(
        summary("summary/session/1", "They spoke of boats.", sources=(ids[0],)),
        summary("summary/session/2", "They spoke of trains.", sources=(ids[1],)),
        summary("summary/session/3", "Nothing of the kind."),
        summary("summary/session/4", "Not true.", sources=(ids[1],), retired_at=home.clock()),
    ))).wait()  # fmt: skip
    assert engine.session_context("anna").splitlines()[3] == "That time: They spoke of trains."


def test_head_a_session_dated_by_a_wrong_clock_is_not_the_last_time(home, engine):
    home.session(engine, "one")
    told = engine.session_context("anna")
    home.clock.now += timedelta(days=4000)
    home.session(engine, "ahead")
    home.clock.now -= timedelta(days=4000)
    again = engine.session_context("anna")
    date = told.partition("last time on ")[2].partition(",")[0]
    assert date and f"last time on {date}," in again
    assert last_session(engine, "anna").id == "one"  # type: ignore[union-attr]


def test_head_session_that_resumes_keeps_its_context(home, engine):
    home.session(engine, "one")
    home.clock.advance(86400)
    home.edge(engine, "two", "start")
    home.say(engine, "two")
    home.edge(engine, "two", "end", reason="disconnect")
    home.clock.advance(10)
    before = engine.session_context("anna")
    assert "talked 2 times" in before
    home.edge(engine, "two", "resume")
    home.say(engine, "two")
    for _ in range(2):
        home.clock.advance(7200)
        assert engine.session_context("anna") == before
    home.edge(engine, "two", "end", reason="disconnect")
    home.clock.advance(2 * 86400)
    assert engine.session_context("anna") != before, "another session begins"
