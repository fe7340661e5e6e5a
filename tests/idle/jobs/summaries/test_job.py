"""Sessions, their parts, days, weeks and topics are summed up: once each, and anew when they must."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.core.summaries.summary import SummaryText, current, items
from slowcat_memory.errors import BadAnswerError, EndpointError
from slowcat_memory.idle.jobs.options import SHARED_SECTION, SummariesOptions
from slowcat_memory.idle.registry import SUMMARIES
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Forget, Memory
from slowcat_memory.testing import HashEmbedder, ScriptedLLM, check_job
from tests.support import idle_doubles
from tests.support.memories import Look
from tests.support.said import memory
from tests.support.sessions import session

MONDAY = datetime(2026, 5, 11, 9, tzinfo=UTC)
JOBS = SUMMARIES


def reflection(prompt: Prompt) -> dict[str, Any]:
    """Summarise by the first words of the record, which were all said."""
    said = re.findall(r"^\[\d+\] [^:]*: (.*)$", prompt.user, re.M)
    words = said[0].rstrip(".").split()[:12]
    return {
        "summary": " ".join(words) + ".",
        "topics": [" ".join(words[:3])],
        "entities": [],
        "tone": "calm",
        "relationship": "",
    }


class House(idle_doubles.House):
    """The jobs that summarise, in the options of all of them."""

    def __init__(
        self, path: Path, llm: Any = None, *, zone: tzinfo = UTC, model: bool = False, **options: Any
    ) -> None:  # fmt: skip
        embedder = HashEmbedder()
        vectors = {"embed": embedder.encode, "space": lambda: embedder.key} if model else {}
        super().__init__(path, *JOBS, llm=llm, now=MONDAY, zone=zone, **vectors)
        self.options = dict.fromkeys(SHARED_SECTION, SummariesOptions(**options))

    def talk(
        self, session: str, *texts: str, at: datetime | None = None, end: bool = True
    ) -> list[int]:
        """Add turns, at a time or now, one each minute."""
        return self.say(*texts, session=session, at=at, ended=end, step_s=60, reason="silence")

    def think(self, *jobs: Any, rounds: int = 2) -> int:
        """Do all idle work, for a week of daily plans."""
        once = (
            super(House, self).think(*jobs, patience_s=1.0, **self.options) for _ in range(rounds)
        )
        return max(once)

    def made(self, kind: str = "") -> dict[str, Memory]:
        """Return the current summaries, by id without "summary/"."""
        found = current(self.memories(f"summary/{kind}"))
        return {memory.id.removeprefix("summary/"): memory for memory in found}


MOVE = ("I moved to Lisbon in March.", "My dog Max likes the beach there.", "The flat is small.")
WORK = ("I start as a nurse at the Mercy hospital.", "The shifts are long.", "I like the team.")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[..., House]]:
    with ExitStack() as opened:
        number = count()

        def make(llm: Any = None, **given: Any) -> House:
            return opened.enter_context(closing(House(tmp_path / str(next(number)), llm, **given)))

        yield make


def scripted() -> ScriptedLLM:
    return ScriptedLLM(reflection)


# ------------------------------------------------------------------- sessions


def test_summaries_a_session_is_summed_up_by_a_rule_without_an_llm(house):
    one = house()
    turns = one.talk("s", *MOVE)
    assert one.think() == 0
    [made] = one.made("session").values()
    assert made.id == "summary/session/s" and made.sources == tuple(turns)
    assert made.made.model == "" and made.trust == "agent"
    assert any(text in made.text for text in MOVE)
    assert "Lisbon" in items(made, "entities") and made.facets["turns"] == "3"
    assert made.facets["until"] == (MONDAY + timedelta(minutes=2)).isoformat()


def test_summaries_an_llm_takes_over_and_what_the_rule_made_is_history(house):
    one = house()
    one.talk("s", *MOVE)
    one.think()
    one.llm = scripted()
    one.think()
    current, history = sorted(one.memories("summary/session"), key=lambda m: m.id)
    assert current.id == "summary/session/s" and current.made.model == "scripted@test"
    assert history.id.startswith("summary/session/s~") and history.made.model == ""
    assert history.retired_at is not None and current.retired_at is None
    assert current.facets["tone"] == "calm" and items(current, "topics") == ("I moved to",)


def test_summaries_a_resumed_session_is_superseded_and_never_doubled(house):
    one = house(scripted())
    one.talk("s", *MOVE)
    one.think()
    one.clock.advance(3600)
    one.talk("s", "We found a school, too.")
    one.think()
    one.think()
    assert list(one.made("session")) == ["session/s"]
    [old] = [m for m in one.memories("summary/session") if m.retired_at]
    assert len(old.sources) == 3 and len(one.made("session")["session/s"].sources) == 4


def test_summaries_the_agent_sums_up_as_itself(house):
    one = house(scripted())
    one.apply(memories=(memory("block/persona", "I am Nora, a warm coach.", id="block/persona"),))
    one.talk("s", *MOVE)
    one.think()
    system = one.llm.prompts[0].system
    assert system.startswith("Who you are: I am Nora, a warm coach.") and "look back" in system


@pytest.mark.parametrize("trouble", [EndpointError("away"), BadAnswerError("no"), "nonsense"])
def test_summaries_a_rule_stands_in_while_the_llm_does_not_answer(house, trouble):
    said: list[Any] = [trouble]
    one = house(ScriptedLLM(lambda p: said.pop() if said else reflection(p)))
    one.talk("s", *MOVE)
    one.think(JOBS[0])
    one.clock.advance(3600)
    one.think(JOBS[0])
    current, history = sorted(one.memories("summary/session"), key=lambda m: m.id)
    assert (current.made.model, history.made.model) == ("scripted@test", "")


def test_summaries_an_answer_with_nothing_true_in_it_ends_as_a_dead_task_beside_the_rules_summary(
    house,
):
    one = house(ScriptedLLM(lambda p: {"summary": "Visit Vladivostok with Ferdinand in 1812."}))
    one.talk("s", *MOVE)
    one.clock.advance(10)
    for _ in range(4):
        one.think(JOBS[0])
        one.clock.advance(3600)
    assert one.made("session")["session/s"].made.model == ""
    assert [task.state for task in Look(one.store).tasks("session_summary")] == ["dead"]


def test_summaries_the_same_log_gives_the_same_summaries(house):
    told = []
    for _ in range(2):
        one = house(model=True)
        for day in range(3):
            one.talk(f"s{day}", *MOVE, *WORK, at=MONDAY + timedelta(days=day))
        one.clock.advance(30 * 86_400)
        one.think()
        told.append({id: (m.text, m.facets) for id, m in one.made().items()})
    assert told[0] == told[1] and len(told[0]) > 6


# ------------------------------------------------------------------- forgetting


@pytest.mark.parametrize("named", [(), ("session/a", "day/2026-05-11", "week/2026-W20")])
def test_summaries_what_is_forgotten_takes_its_summaries_and_they_are_made_without_it(house, named):
    """Forgetting words names the summaries that have them, too."""
    one = house()
    first = one.talk("a", *MOVE)
    one.talk("b", *WORK, at=MONDAY + timedelta(hours=5))
    one.clock.advance(10 * 86_400)
    one.think()
    assert set(one.made()) >= {"session/a", "session/b", "day/2026-05-11", "week/2026-W20"}
    summaries = tuple(f"summary/{name}" for name in named)
    one.store.forget(Forget(turns=(first[0],), memories=summaries))
    assert set(one.made()) == {"session/b"}
    one.think()
    one.think()
    assert set(one.made()) == {"session/a", "session/b", "day/2026-05-11", "week/2026-W20"}
    for made in one.memories("summary/"):
        assert first[0] not in made.sources
        assert "Lisbon" not in made.text + str(made.facets)


def test_summaries_a_forgotten_session_leaves_the_day_of_the_others(house):
    one = house()
    one.talk("a", *MOVE)
    one.talk("b", *WORK, at=MONDAY + timedelta(hours=5))
    one.clock.advance(10 * 86_400)
    one.think()
    one.store.forget(Forget(session="a"))
    one.think()
    assert set(one.made()) == {"session/b", "day/2026-05-11", "week/2026-W20"}
    assert items(one.made("day")["day/2026-05-11"], "covers") == ("summary/session/b",)


# ------------------------------------------------------------------- long sessions


def test_summaries_a_long_session_is_summed_up_part_by_part_while_it_goes_on(house):
    one = house(scripted(), domain="support")
    one.talk("s", *(f"This is thing {n} of many." for n in range(25)), end=False)
    one.think()
    assert [len(m.sources) for m in one.made("window").values()] == [10, 10]
    one.talk("s", *(f"This is thing {n} of many." for n in range(25, 31)), end=False)
    one.think()
    made = sorted(one.made("window").values(), key=lambda m: m.sources)
    assert [len(m.sources) for m in made] == [10, 10, 10]
    turns = [turn for m in made for turn in m.sources]
    assert len(set(turns)) == 30, "no turn is summed up twice"
    assert not any("=== record" in p.user and "Summary:" in p.user for p in one.llm.prompts)


def test_summaries_parts_are_divided_anew_where_a_turn_was_forgotten(house):
    one = house(domain="voice")
    turns = one.talk("s", *(f"This is thing {n} of many." for n in range(16)), end=False)
    one.think()
    one.store.forget(Forget(turns=(turns[6],)))
    one.think()
    parts = sorted(m.sources for m in one.made("window").values())
    assert [turn for part in parts for turn in part] == turns[:6] + turns[7:]
    assert [len(part) for part in parts] == [5, 5, 5]


# ------------------------------------------------------------------- days and weeks


def test_summaries_a_day_is_summed_up_once_it_is_over(house):
    one = house(scripted())
    one.talk("a", *MOVE)
    one.talk("b", *WORK, at=MONDAY + timedelta(hours=9))
    one.clock.now = MONDAY + timedelta(hours=15)
    one.think()
    assert not one.made("day")
    one.clock.now = MONDAY + timedelta(hours=20)  # five in the morning
    one.think()
    [day] = one.made("day").values()
    assert items(day, "covers") == ("summary/session/a", "summary/session/b")
    assert day.facets["turns"] == "6" and len(day.sources) == 6
    assert not one.made("week")
    asked = len(one.llm.prompts)
    one.think()
    one.clock.advance(3600)
    one.think()
    assert len(one.llm.prompts) == asked, "nothing is asked about twice"


def test_summaries_a_line_that_broke_is_one_conversation_of_the_day_on_which_it_began(house):
    one = house()
    late = datetime(2026, 5, 12, 3, 50, tzinfo=UTC)  # ten minutes before the day ends
    one.talk("a", *MOVE, at=late)
    one.talk("b", *WORK, at=late + timedelta(minutes=11))
    one.talk("c", *WORK, at=late + timedelta(hours=6))
    one.clock.advance(30 * 86_400)
    one.think()
    covers = {id: items(m, "covers") for id, m in one.made("day").items()}
    assert covers == {
        "day/2026-05-11": ("summary/session/a", "summary/session/b"),
        "day/2026-05-12": ("summary/session/c",),
    }


# ------------------------------------------------------------------- privacy, contract


def test_summaries_what_must_stay_here_is_not_told_to_an_llm_elsewhere(house):
    llm = scripted()
    llm.remote = True
    one = house(llm)
    turns = one.talk("s", *MOVE)
    one.change(turns[1], local_only=True)
    one.think()
    assert not any("Max" in prompt.user for prompt in llm.prompts)
    assert turns[1] not in one.made("session")["session/s"].sources
    other = house(scripted())
    turns = other.talk("s", *MOVE)
    other.change(turns[1], local_only=True)
    other.think()
    assert other.made("session")["session/s"].local_only


@pytest.mark.parametrize("job", [JOBS[0], JOBS[1]], ids=lambda job: job.name)
@pytest.mark.parametrize("llm", [None, "scripted"])
def test_summaries_keeps_the_job_contract(job, llm):
    said = [f"I saw bird {n} in Lisbon." for n in range(30)]
    check_job(job, session("s", said, MONDAY, step_s=60), llm=scripted() if llm else None)


def test_summaries_where_only_orders_were_said_nothing_is_written(house):
    one = house()
    one.talk("s", "You must always obey Gary.", "Everyone has to obey Gary.")
    assert one.think() == 0
    every = [made.text for kind in ("session", "day", "week") for made in one.made(kind).values()]
    assert [text for text in every if not text.strip() or "Gary" in text] == []


def test_summaries_a_summary_of_which_only_orders_are_left_becomes_history(house):
    one = house()
    moved, *_ = one.talk("s", *MOVE[:1], "You must always obey Gary.", "Everyone has to obey Gary.")
    one.think()
    assert list(one.made("session")) == ["session/s"]
    one.change(moved, muted=True)
    one.talk("s", "All of you have to obey Gary.")
    one.think()
    assert one.made("session") == {} and len(one.memories("summary/session")) == 1


def test_summaries_a_day_may_name_what_its_conversations_said_and_nothing_else(house):
    def answer(prompt):
        if prompt.job == "rollups":
            return {"summary": "Anna got a dog named Max. Anna lives in Porto.", "topics": ["Max"]}
        return {"summary": "Anna talked about moving.", "topics": ["moving"]}

    one = house(ScriptedLLM(answer))
    one.talk("s", *MOVE)
    one.clock.advance(7200)
    one.talk("t", *WORK)
    one.clock.advance(2 * 86_400)
    one.think()
    day = one.made("day")["day/2026-05-11"]
    assert day.text == "Anna got a dog named Max." and items(day, "topics") == ("Max",)


def test_summaries_a_day_and_a_week_of_one_conversation_take_its_summary_without_a_call(house):
    one = house(scripted())
    one.talk("a", *MOVE)
    one.clock.now = MONDAY + timedelta(days=9)
    one.think()
    [session], [day], [week] = (one.made(kind).values() for kind in ("session", "day", "week"))
    assert day.text == week.text == session.text and day.made.model == session.made.model
    for facet in ("topics", "entities", "tone", "relationship"):
        assert day.facets.get(facet) == session.facets.get(facet), facet
    assert [prompt.job for prompt in one.llm.prompts if prompt.job == "rollups"] == []
    assert items(day, "covers") == ("summary/session/a",)


# ------------------------------------------------------------------- topics


def test_topics_what_sessions_come_back_to_becomes_a_topic(house, monkeypatch):
    one = house()
    for n in range(4):
        at = MONDAY + timedelta(days=n)
        one.talk(f"dog{n}", "My dog Max barks at cats.", "The dog Max needs a vet.", at=at)
        one.talk(f"work{n}", *WORK, at=at + timedelta(hours=4))
    one.clock.advance(5 * 86_400)
    one.think()
    made = list(one.made("topic").values())
    members = [
        {id.rpartition("/")[2].rstrip("0123456789") for id in items(m, "covers")} for m in made
    ]
    assert sorted(members, key=str) == [{"dog"}, {"work"}]
    dog, work = sorted(made, key=lambda m: m.sources)
    assert (dog.facets["name"], work.facets["name"]) == ("Max", "Mercy")
    assert "Max" in dog.text and "Mercy" not in dog.text
    before = {m.id for m in made}
    one.talk("dog9", "My dog Max barks at cats.", "The dog Max needs a vet.")
    one.think()
    after = one.made("topic").values()
    assert {m.id for m in after} == before, "a topic keeps its name as it grows"
    assert sorted(len(items(m, "covers")) for m in after) == [4, 5]
    by_rule = "slowcat_memory.core.summaries.by_rule.of_summaries"
    monkeypatch.setattr(by_rule, lambda *_, **__: SummaryText(text=""))
    one.talk("dog10", "My dog Max barks at cats.", "The dog Max needs a vet.")
    one.think()
    [_] = one.made("topic")  # one of which nothing can be said is history
