"""Jobs that look back on sessions: blocks, profile, episodes, and what is worth bringing up."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

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
    assert block_of(engine, "self_perception"), "what is left is told again"


def test_reflection_an_icebreaker_comes_once_for_each_source(opened, clock):
    engine = opened(icebreakers={"quiet_hours": "", "min_absence_h": 0.0}, bring_up={"most": 2})
    week(engine, clock, 0)
    week(engine, clock, 1)
    waiting = engine.icebreakers.waiting(SCOPE)
    assert [m.facets["source"] for m in waiting] == ["fact/3", "fact/1"]
    clock.now = begin(2)
    assert "interview at Google" in engine.session_context(SCOPE)
    week(engine, clock, 2)
    again = [m.facets["source"] for m in engine.icebreakers.waiting(SCOPE)]
    assert "fact/3" not in again, "never after it was used"
    ids = tuple(m.id for m in engine.icebreakers.waiting(SCOPE))
    engine.forget(Forget(scope=SCOPE, memories=ids))
    clock.advance(400)
    engine.idle.until_done(OURS)
    assert "fact/1" not in [m.facets["source"] for m in engine.icebreakers.waiting(SCOPE)]


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
    asked = {m.facets["source"] for m in engine.icebreakers.waiting(SCOPE)}
    assert asked == {"fact/1", "fact/2"}
    converse(engine, clock, "I've spoken to the plumber.", "The viewing has been cancelled.")
    assert engine.icebreakers.waiting(SCOPE) == []
    task, viewing = (Look(engine.store).memory(SCOPE, f"fact/{n}") for n in (1, 2))
    assert task.valid_to and task.retired_at and task.facets["why"] == "done"
    assert viewing.retired_at and viewing.facets["why"] == "off"


# ------------------------------------------------------------------- when blocks and the profile ask an LLM, what they show it, and what stays without

DAY = 86400.0
EVER = datetime.min.replace(tzinfo=UTC)


class Home:
    """A memory of Maya's whose blocks are written after each conversation."""

    def __init__(self, opened: Any, clock: FixedClock, answer: Any) -> None:
        self.llm, self.clock, self.talks = ScriptedLLM(answer), clock, 0
        self.engine = opened(self.llm, memory={"time_zone": "America/Los_Angeles"})

    def talk(self, *texts: str, since: datetime | None = None) -> None:
        """Hold a conversation from which facts with these texts are drawn, then do the idle work."""
        self.talks += 1
        said, now = "Well. " + " ".join(texts), self.clock.now
        (turn,) = hold(self.engine, f"s{self.talks}", [said], now, scope=SCOPE, speaker="Maya")
        given = {"scope": SCOPE, "speaker": "Maya", "valid_from": since or now, "recorded_at": now}
        facts = tuple(fact(text, sources=(turn,), subject="Maya", **given) for text in texts)
        self.engine.store.apply("facts", WriteBatch(memories=facts)).wait(None)
        self.think()

    def think(self) -> None:
        assert self.engine.idle.until_done(["profile", "blocks"]) == 0
        self.engine.store.flush(None)

    def asked(self, label: str) -> list[str]:
        """Return the prompts for a block, or for the profile."""
        return [
            prompt.user
            for prompt in self.llm.prompts
            if prompt.user.endswith(f"lines of {label}.") or prompt.job == label
        ]


@pytest.fixture
def home(opened: Any, clock: FixedClock) -> Any:
    return partial(Home, opened, clock)


def lines(*texts: str) -> Any:
    return lambda prompt: {"lines": [*texts]}


def test_blocks_of_what_is_true_since_ever_are_written_in_los_angeles(home: Any) -> None:
    maya = home(lines("Maya has a sister, Ines."))
    maya.talk("Ines is Maya's sister.", since=EVER)
    assert block_of(maya.engine, "human") == "Maya has a sister, Ines."
    assert Look(maya.engine.store).tasks(state="dead") == []


def test_a_month_of_daily_talks_asks_for_few_blocks(home: Any) -> None:
    maya = home(lines("Maya lives in Munich."))
    for day in range(28):
        maya.talk("Maya lives in Munich." if not day else f"Maya met friend number {day}.")
        maya.clock.advance(DAY)
    assert 3 <= len(maya.asked("human")) <= 7
    assert not maya.asked("self_perception"), "there was no advice to look back on"


def test_what_is_new_stands_in_a_block_before_the_llm_is_asked_again(home: Any) -> None:
    maya = home(lines("Maya has her home in Munich."))
    maya.talk("Maya lives in Munich, her home.")
    maya.clock.advance(DAY)
    maya.talk("Maya is allergic to latex.")
    assert len(maya.asked("human")) == 1
    assert block_of(maya.engine, "human").splitlines() == [
        "Maya has her home in Munich.", "Maya is allergic to latex."]  # fmt: skip


def test_a_line_goes_with_the_fact_that_it_was_drawn_from(home: Any) -> None:
    maya = home(lines("Maya lives in Munich.", "Maya has a cat, Tiger."))
    maya.talk("Maya lives in Munich.", "Maya has a cat called Tiger.")
    assert "Munich" in block_of(maya.engine, "human")
    old = Look(maya.engine.store).memory(SCOPE, "fact/Maya lives in Munich.")
    assert old is not None
    maya.clock.advance(3600)
    over = replace(old, retired_at=maya.clock.now)
    maya.engine.store.apply("facts", WriteBatch(memories=(over,))).wait(None)
    maya.talk("Maya lives in Leipzig now.")
    text = block_of(maya.engine, "human")
    assert "Munich" not in text and "Tiger" in text and "Leipzig" in text
    assert len(maya.asked("human")) == 1, "no prompt for that"


def test_the_latest_plans_are_among_what_the_llm_is_shown(home: Any) -> None:
    maya = home(lines("Maya lives in Munich."))
    maya.talk("Maya lives in Munich.", *(f"Maya saw film number {n}." for n in range(70)))
    maya.clock.advance(timedelta(days=20).total_seconds())
    maya.talk("Maya moves to Leipzig on 5 June 2026.")
    last = maya.asked("human")[-1]
    assert "Maya moves to Leipzig on 5 June 2026." in last and "Maya lives in Munich." in last
    assert last.count("\n[") <= 24
