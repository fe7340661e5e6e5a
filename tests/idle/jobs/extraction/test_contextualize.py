"""Chunks are described: what is due, what is asked, what is written."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk, chunk_id
from slowcat_memory.core.ranking import token_codes
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.idle.jobs.extraction.contextualize import Contextualize
from slowcat_memory.idle.jobs.extraction.session_extractor import AskedTurns
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Forget, Task, WriteBatch
from slowcat_memory.testing import HashEmbedder, ScriptedLLM
from tests.support.idle_doubles import House, housing
from tests.support.memories import Look

GARDEN = [f"The {plant} in my garden is growing again" for plant in
          "oak rose fern moss hazel tulip lily maple birch cedar thyme basil".split()]  # fmt: skip
AT = datetime(2024, 3, 1, 18, tzinfo=UTC)
JOB = Contextualize()


def reply(prompt: Prompt) -> dict[str, Any]:
    """Describe every requested turn, by the words of the record."""
    lines = dict(re.findall(r"^\[(\d+)\] (.*)$", prompt.user, re.M))
    [last] = re.findall(r"^Write about the turns (.*)\.$", prompt.user, re.M)
    turns = []
    for n in last.split(", "):
        context, questions = f"Somebody says: {lines[n]}", [f"About {lines[n]}?"]
        turns.append({"turn": int(n), "context": context, "questions": questions})
    return {"turns": turns}


class Garden(House):
    """A house whose turns are described."""

    def __init__(self, path: Path, llm: Any = None) -> None:
        embedder = self.embedder = HashEmbedder(token_dim=8)
        super().__init__(
            path, llm=llm or ScriptedLLM(reply), now=AT + timedelta(days=30),
            embed=embedder.encode, scopes=lambda: ["anna"], space=lambda: embedder.key,
            token_space=lambda: embedder.token_key,
        )  # fmt: skip

    def say(
        self, session: str, *texts: str, at: datetime = AT, end: bool = True, **how: Any
    ) -> list[int]:
        how = {"step_s": 1, "speaker": "Ada", "ended": end} | how
        return super().say(*texts, session=session, at=at, **how)

    def plan(self) -> list[Task]:
        """Plan the job until its cursor stops; return the waiting tasks, in the loop's order."""
        for _ in range(50):
            plan = JOB.plan(self.contexts()(JOB))
            if plan is None:
                break
            self.apply(tasks=plan.tasks, cursor=plan.cursor)
        else:
            raise AssertionError("the cursor never stands still")
        waiting = Look(self.store).tasks()
        return sorted(waiting, key=lambda task: (task.rank, -task.created.timestamp(), task.id))

    def step(self, task: Task) -> WriteBatch:
        batch = asyncio.run(JOB.step(task, self.contexts()(JOB)))
        self.store.apply(Contextualize.name, replace(batch, done=task.id))
        self.store.flush(None)
        return batch

    def work(self) -> None:
        while waiting := self.plan():
            self.step(waiting[0])

    def asked(self, task: Task) -> list[int]:
        return msgspec.json.decode(task.note, type=AskedTurns).turns

    def keys(self, turn: int) -> list[str]:
        return [key.id for key in super().keys() if key.memory == chunk_id(turn)]


house = housing(Garden)


# ------------------------------------------------------------------- what is written


def test_contextualize_a_session_is_described(house):
    ids = house.say("s", *GARDEN[:3])
    house.work()
    assert len(house.llm.prompts) == 1
    for id, text in zip(ids, GARDEN, strict=False):
        assert house.context(id) == f"Somebody says: Ada: {text}"
        assert house.keys(id) == [f"chunk/{id}?q1"]
    found = Look(house.store).context("anna", chunk_id(ids[0]))
    turn = Look(house.store).turn(ids[0])
    of_all = Look(house.store).vectors(house.embedder.key, "anna")
    vectors = {vector.memory: vector for vector in of_all}
    tokens = Look(house.store).tokens(house.embedder.token_key, "anna", [chunk_id(ids[0])])
    assert found.sources == tuple(ids) and found.made.model == "scripted@test"
    assert set(vectors) == {name for id in ids for name in (chunk_id(id), f"chunk/{id}?q1")}
    line = f"{found.text}\nAda: {turn.text}"
    assert vectors[chunk_id(ids[0])].values @ house.embedder.encode_query(line).vector > 0.99
    assert len(tokens[0]) == len(token_codes.encode(house.embedder.encode([line]).tokens[0]))
    assert chunk(turn).text == GARDEN[0], "the person's words stay as they are"


# ------------------------------------------------------------------- what is due


def test_contextualize_small_talk_asides_guests_and_what_is_hidden_cost_nothing(house):
    ids = house.say("s", GARDEN[0], "ok thanks", GARDEN[1])
    house.say("aside", "forget the birch tree", aside=True)
    house.say("guests", GARDEN[2], scope="guest")
    hidden = house.say("t", GARDEN[3], GARDEN[4])
    house.change(hidden[0], retired_at=AT)
    asked = [id for task in house.plan() for id in house.asked(task)]
    assert sorted(asked) == [ids[0], ids[2], hidden[1]]
    house.work()
    said = "".join(prompt.user for prompt in house.llm.prompts)
    assert GARDEN[3] not in said and GARDEN[2] not in said and "birch" not in said
    assert "ok thanks" in said, "small talk is seen, and not asked about"


def test_contextualize_what_is_local_only_is_not_shown_to_an_llm_elsewhere(house):
    ids = house.say("s", *GARDEN[:3])
    house.change(ids[1], local_only=True)
    house.llm.remote = True
    house.work()
    [prompt] = house.llm.prompts
    assert GARDEN[0] in prompt.user and GARDEN[1] not in prompt.user


def test_contextualize_nothing_is_asked_twice(house):
    house.say("s", *GARDEN)
    house.work()
    assert len(house.llm.prompts) == 1 and house.plan() == []
    house.apply(cursor=replace(Look(house.store).cursor(Contextualize.name), position=0, note=""))
    assert house.plan() == [], "the cursor is lost, and the digests tell"
    assert JOB.plan(house.contexts()(JOB)) is None


def test_contextualize_a_resumed_session_asks_about_what_changed(house):
    ids = house.say("s", *GARDEN[:5])
    house.work()
    more = house.say("s", GARDEN[5], at=AT + timedelta(minutes=10))
    [task] = house.plan()
    assert house.asked(task) == [ids[-1], *more], "the last turn has a new neighbour"
    assert task.sources == (*ids, *more)


def test_contextualize_a_session_that_goes_on_waits_until_it_rests(house):
    house.clock.now = AT + timedelta(minutes=1)
    first = house.say("open", *GARDEN[:2], end=False)
    other = house.say("done", *GARDEN[2:4])
    assert [id for task in house.plan() for id in house.asked(task)] == other
    house.work()
    assert house.plan() == [] and len(house.llm.prompts) == 1, "nothing is asked again meanwhile"
    house.clock.advance(3600)
    assert [id for task in house.plan() for id in house.asked(task)] == first


def test_contextualize_another_version_and_a_forgetting_look_at_all_of_it(house, monkeypatch):
    ids = house.say("s", *GARDEN[:4])
    house.work()
    house.store.forget(Forget(turns=(ids[1],)))
    house.store.flush(None)
    assert house.context(ids[0]) == "", "it was made from what is forgotten too"
    assert [id for task in house.plan() for id in house.asked(task)] == [ids[0], *ids[2:]]
    house.work()
    assert not any(GARDEN[1] in p.user for p in house.llm.prompts[1:])
    monkeypatch.setattr(Contextualize, "version", 99)
    assert [id for task in house.plan() for id in house.asked(task)] == [ids[0], *ids[2:]]


def test_contextualize_the_newest_come_first(house):
    house.say("old", GARDEN[0], at=AT)
    house.say("older", GARDEN[2], at=AT - timedelta(days=20))
    house.say("today", GARDEN[3], at=house.clock.now - timedelta(hours=2))
    tasks = sorted(house.plan(), key=lambda task: task.rank)
    assert [task.key.partition(":")[0] for task in tasks][0] == "today"


# ------------------------------------------------------------------- prompts


def test_contextualize_a_long_session_is_cut_into_prompts_that_fit(tmp_path):
    house = Garden(tmp_path / "store", ScriptedLLM(reply, prompt_tokens=1500))
    ids = house.say(
        "s", *(f"{text} number {n}, and {'so on ' * 20}" for n, text in enumerate(GARDEN * 6))
    )
    house.work()
    assert all(house.context(id) for id in ids)
    sizes = [estimate_tokens(prompt.system + prompt.user) for prompt in house.llm.prompts]
    assert max(sizes) <= 1500
    house.store.close()


def test_contextualize_a_prompt_that_is_too_long_is_split_until_nothing_is_left(house):
    ids = house.say("s", *GARDEN[:8])
    [task] = house.plan()
    seen, parts = set(), [task]
    while parts:
        part = parts.pop()
        below = JOB.split(part)
        assert all(len(p.sources) < len(part.sources) and p.id != part.id for p in below)
        assert not below or sorted(i for p in below for i in house.asked(p)) == house.asked(part)
        seen |= set(house.asked(part)) if not below else set()
        parts += below
    assert seen == set(ids)


# ------------------------------------------------------------------- answers


def test_contextualize_what_lacks_an_answer_is_asked_again_once_in_one_call(house):
    ids = house.say("s", *GARDEN[:4])
    house.llm._reply = lambda prompt: {"turns": reply(prompt)["turns"][:1]}
    [task] = house.plan()
    batch = house.step(task)
    assert [house.asked(one) for one in batch.tasks] == [ids[1:]]
    assert {one.sources for one in batch.tasks} == {task.sources}, "the same, but for its end"
    house.llm._reply = lambda prompt: {"turns": []}
    for again in house.plan():
        assert house.step(again).tasks == ()
    assert house.plan() == [] and house.context(ids[0]) and not house.context(ids[1])
