"""Jobs that look back on sessions: blocks, profile, episodes, and what is worth bringing up."""

from datetime import timedelta
from typing import Any

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import BadAnswerError, EndpointError
from slowcat_memory.idle.jobs.reflection.blocks import Blocks
from slowcat_memory.idle.jobs.reflection.by_rule import BringUp, Episodes, Profile
from slowcat_memory.records import Forget, Memory, SessionEdge, Turn, WriteBatch
from slowcat_memory.testing import FixedClock, ScriptedLLM, check_job
from tests.support.job_seeker import OURS, SCOPE, SESSIONS, begin, block_of, note, say
from tests.support.memories import Look
from tests.support.said import fact, turn
from tests.support.sessions import hold, session


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(begin(0))


def week(engine: MemoryEngine, clock: FixedClock, number: int, put_back: int = 0) -> list[Turn]:
    turns = say(engine, clock, number)
    note(engine, number)
    assert engine.idle.until_done(OURS, patience_s=0.0) == put_back
    return turns


def memories(engine: MemoryEngine, beginning: str = "") -> list[Memory]:
    return [m for m in Look(engine.store).memories(SCOPE, beginning) if not m.retired_at]


@pytest.mark.parametrize(
    "job", [Blocks(), Profile(), Episodes(), BringUp()], ids=lambda job: job.name
)
def test_reflection_they_keep_to_the_contract(job: Any) -> None:
    said = SESSIONS[0] + SESSIONS[1]
    check_job(job, session("s", said, begin(0), step_s=30, scope=SCOPE, speaker="Maya"))


def edit(engine: Any, label: str, text: str) -> None:
    found = (one for one in memories(engine) if one.kind == f"block/{label}" and not one.retired_at)
    assert engine.edit(SCOPE, next(found).id, text=text)


def test_reflection_the_head_is_the_same_all_through_a_session(opened, clock):
    engine = opened(icebreakers={"quiet_hours": "", "min_absence_h": 0.0})
    week(engine, clock, 0)
    clock.now = begin(1)
    head = engine.session_context(SCOPE)
    edge: dict[str, Any] = {"session": "now", "scope": SCOPE}
    engine.append(SessionEdge(**edge, kind="start", at=clock.now))
    clock.advance(30)
    said = "I feel confident and proud, and I have an interview at Siemens tomorrow."
    ack = engine.append(turn(said, **edge, id=0, speaker="Maya", at=clock.now))
    engine.store.flush(None)
    clock.advance(400)
    before = block_of(engine, "human")
    edit(engine, "human", "Something new.")
    assert block_of(engine, "human") != before
    assert engine.session_context(SCOPE) == head, "what is superseded stands until its end"
    engine.append(SessionEdge(**edge, kind="end", at=clock.now))
    engine.store.flush(None)
    clock.advance(86400)
    engine.idle.until_done(OURS)
    assert "Something new." in engine.session_context(SCOPE)
    assert ack.event.id


def test_reflection_what_a_person_edits_is_not_written_over(opened: Any, clock: FixedClock) -> None:
    engine = opened()
    week(engine, clock, 0)
    edit(engine, "relationship", "We are old friends.")
    week(engine, clock, 1)
    assert block_of(engine, "relationship") == "We are old friends."


@pytest.mark.parametrize(
    "fault", [EndpointError("away"), BadAnswerError("nonsense"), "no JSON at all"]
)
def test_reflection_where_an_llm_is_no_help_rules_do(opened, clock, fault):
    engine = opened(ScriptedLLM(lambda prompt: fault))
    week(engine, clock, 0, put_back=4)
    assert "anxious" in block_of(engine, "relationship") and block_of(engine, "persona") == ""
    assert {m.made.model for m in memories(engine) if m.made} == {""}
    engine = opened(ScriptedLLM(lambda prompt: {"lines": ["Maya was anxious."]}))
    engine.idle.until_done(OURS, patience_s=0.0)
    assert "Maya was anxious." != block_of(engine, "relationship"), "not asked at every look"
    clock.advance(86_400)
    engine.idle.until_done(OURS)
    assert block_of(engine, "relationship") == "Maya was anxious.", "written anew once it is there"
    engine = opened(ScriptedLLM(lambda prompt: fault))
    week(engine, clock, 1)
    first, *added = block_of(engine, "relationship").splitlines()
    assert first == "Maya was anxious.", "kept while it is away"
    assert added == ["11 May 2026: She asked for exercises and took them up."], "what is new stands"


def test_reflection_an_llm_is_asked_once_about_the_same(opened: Any, clock: FixedClock) -> None:
    llm = ScriptedLLM(lambda prompt: {"lines": ["Maya was anxious."]})
    engine = opened(llm)
    week(engine, clock, 0)
    asked = len(llm.prompts)
    clock.advance(400)
    engine.idle.until_done(OURS)
    engine.idle.until_done(OURS)
    assert len(llm.prompts) == asked == 4


def test_reflection_what_is_forgotten_is_in_no_block(opened: Any, clock: FixedClock) -> None:
    engine = opened()
    turns = week(engine, clock, 0)
    assert "Siemens" in block_of(engine, "background_context")
    lost = tuple(one.id for one in turns if "Siemens" in one.text)
    engine.store.forget(Forget(turns=lost))
    told = [m for m in memories(engine) if "Siemens" in m.text]
    assert told == [], "it goes with its source, at once"
    clock.advance(400)
    assert engine.idle.until_done(OURS) == 0
    assert block_of(engine, "background_context") == "" or "Siemens" not in block_of(
        engine, "background_context"
    )
    assert "anxious" in block_of(engine, "relationship"), "what is left is told again"


def test_reflection_an_icebreaker_comes_once_for_each_source(opened, clock):
    engine = opened(icebreakers={"quiet_hours": "", "min_absence_h": 0.0}, bring_up={"most": 2})
    week(engine, clock, 0)
    week(engine, clock, 1)
    waiting = engine.wiring.icebreakers.waiting(SCOPE)
    assert [m.facets["source"] for m in waiting] == ["fact/3", "fact/1"]
    clock.now = begin(2)
    head = engine.session_context(SCOPE)
    assert "interview at Google" in head
    week(engine, clock, 2)
    again = [m.facets["source"] for m in engine.wiring.icebreakers.waiting(SCOPE)]
    assert "fact/3" not in again, "never after it was used"
    engine.wiring.icebreakers.drop(SCOPE, [m.id for m in engine.wiring.icebreakers.waiting(SCOPE)])
    clock.advance(400)
    engine.idle.until_done(OURS)
    assert "fact/1" not in [m.facets["source"] for m in engine.wiring.icebreakers.waiting(SCOPE)]


def converse(engine: MemoryEngine, clock: FixedClock, *said: str) -> None:
    """Say something in a session of its own, a day later, and let the jobs work."""
    clock.advance(86_400)
    hold(engine, f"s{clock.now:%d%H}", said, clock.now, step_s=30, scope=SCOPE, speaker="Maya")
    engine.store.flush(None)
    clock.advance(4000)
    engine.idle.until_done(OURS)


def put(engine: MemoryEngine, clock: FixedClock, id_: str, kind: str, text: str, date: str = ""):
    times = {"valid_from": clock.now, "recorded_at": clock.now}
    given = {"id": f"fact/{id_}", "scope": SCOPE, "speaker": "Maya", "date": date, "sources": ()}
    known = fact(text, kind, **given, **times)
    engine.store.apply("test", WriteBatch(memories=(known,))).wait(None)


def test_reflection_a_task_that_was_done_is_over_and_not_asked_about(opened, clock):
    engine = opened(icebreakers={"quiet_hours": "", "min_absence_h": 0.0})
    put(engine, clock, "1", "open_thread", "Maya has to ask the plumber about the leak.")
    put(engine, clock, "2", "event", "Maya has a viewing.", date=f"{clock.now + timedelta(9):%F}")
    converse(engine, clock, "Hello there.")
    asked = {m.facets["source"] for m in engine.wiring.icebreakers.waiting(SCOPE)}
    assert asked == {"fact/1", "fact/2"}
    converse(engine, clock, "I've spoken to the plumber.", "The viewing has been cancelled.")
    assert engine.wiring.icebreakers.waiting(SCOPE) == []
    task, viewing = (Look(engine.store).memory(SCOPE, f"fact/{n}") for n in (1, 2))
    assert task.valid_to and task.retired_at and task.facets["why"] == "done"
    assert viewing.retired_at and viewing.facets["why"] == "off"
