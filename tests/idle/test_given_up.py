"""A model whose answers cannot be used: rules do what they can, and another model replaces it."""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from slowcat_memory.idle.registry import BUILT_IN
from slowcat_memory.providers import Prompt, ThinkingOptions
from slowcat_memory.providers.llm.openai import OpenAILLM
from slowcat_memory.testing import ScriptedLLM
from tests.support.faulty_llm_server import FAULTS, Fault, FaultServer
from tests.support.memories import Look
from tests.support.parroting_llm import ASKING, SAID, Mind, ledger, parrot, think

NO_RULE = {"contextualize", "rerank"}  # they need an LLM: index text and grades are in no words
WITHOUT_RECORDS = {"merge"}  # what it decides is seen in the facts that others made
FROM_CHANGES = {"blocks"}  # planned again when something changes


class Lived(Struct):
    """A life with a useless model, and then with a good one: what each job made, by model."""

    before: dict[str, set[str]]
    after: dict[str, set[str]]
    asked: Counter[str]
    dead_before: set[str]
    dead_after: set[str]
    waiting: int


def made(mind: Mind) -> dict[str, set[str]]:
    """Return the models behind what holds, by job; "" for a rule."""
    models: dict[str, set[str]] = {}
    with mind.engine.store.snapshot() as snapshot:
        memories = [one for one in snapshot.memories("anna") if one.retired_at is None]
        for one in (*memories, *snapshot.contexts("anna"), *snapshot.keys("anna")):
            if one.made:
                models.setdefault(one.made.job, set()).add(one.made.model)
    return models


def dead(mind: Mind) -> set[str]:
    return {task.job for task in Look(mind.engine.store).tasks(state="dead")}


USELESS: dict[str, Any] = {
    "prose": "I am sorry, I cannot help with that.",
    "wrong items": {"items": [{"x": 1}, {"y": [2]}], "text": None},
}


@pytest.fixture(scope="module", params=USELESS)
def lived(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Lived]:
    useless = ScriptedLLM(lambda prompt: USELESS[request.param], model="useless@test")
    with closing(Mind(tmp_path_factory.mktemp("given_up") / "store", useless)) as mind:
        for number in range(2):
            mind.talk(f"s{number}", SAID)
        ledger(mind)
        mind.engine.flush(indexed=True)
        mind.think(days=1.0)
        before, dead_before = made(mind), dead(mind)
        waiting = len(Look(mind.engine.store).tasks(state="waiting"))
        asked = Counter(prompt.job for prompt in useless.prompts)
        mind.talk("s2", [("My brother Tom moved to Leeds in April.", "I see.")])
        mind.think(ScriptedLLM(parrot, model="good@test"), days=1.0)
        yield Lived(before, made(mind), asked, dead_before, dead(mind), waiting)


@pytest.mark.parametrize("job", sorted(ASKING))
def test_given_up_a_rule_stands_in_for_every_kind_that_has_one(job: str, lived: Lived) -> None:
    assert lived.asked[job], "the job never asked: nothing is shown"
    found = lived.before.get(job, set())
    if job in NO_RULE:
        assert not found
    elif job not in WITHOUT_RECORDS:
        assert found == {""}
    assert not lived.waiting


@pytest.mark.parametrize("job", sorted(ASKING - WITHOUT_RECORDS - {"rerank"}))
def test_given_up_what_a_better_model_finds_takes_its_place(job: str, lived: Lived) -> None:
    assert "good@test" in lived.after[job]
    assert not lived.dead_after & {job}
    if job not in FROM_CHANGES:
        assert job in lived.dead_before, "what was given up can be seen, and tried again"


def test_given_up_every_job_with_an_llm_is_here() -> None:
    assert {job.name for job in BUILT_IN if job.needs == "llm"} <= NO_RULE


def test_given_up_one_turn_that_a_model_cannot_describe_costs_its_neighbours_nothing(mind):
    """Given up as a whole, the turns are tried in smaller pieces."""

    def answer(prompt: Prompt) -> Any:
        if prompt.job != "contextualize" or "moved to Leeds" not in prompt.user.split("\n")[-1]:
            reply = parrot(prompt)
            numbers = {one["turn"] for one in reply["turns"]}
            return "nonsense" if numbers & poisoned else reply
        return parrot(prompt)

    poisoned = set[int]()
    mind.llm, mind.jobs = ScriptedLLM(answer), [JOBS["contextualize"]]
    turns = mind.talk("s", SAID)
    poisoned.add(turns[4].id)
    mind.think()
    described = {one.memory for one in Look(mind.engine).contexts("anna")}
    failed = Look(mind.engine).tasks(state="dead")
    assert len(described) >= len(turns) - 3
    assert all(str(turns[4].id) in task.note for task in failed) and len(failed) == 1


def test_given_up_an_empty_reply_is_doubted_where_rules_find_something(mind: Mind) -> None:
    llm = mind.llm = ScriptedLLM(lambda prompt: {"facts": [], "entities": []})
    mind.jobs = [JOBS["facts"]]
    mind.talk("s", [("My sister Clara lives in Porto.", "Porto is near.")])
    mind.think()
    assert len(llm.prompts) == 1, "the rules' facts stand"
    assert made(mind)["facts"] == {""} and not dead(mind)
    mind.talk("t", [("Do you think that it might rain later on this week?", "It may.")])
    mind.think()
    assert len(llm.prompts) == 2, "an empty reply about nothing is believed"
    mind.think()
    assert len(llm.prompts) == 2


def test_given_up_an_empty_reply_about_what_is_known_is_believed(mind: Mind) -> None:
    mind.jobs = [JOBS["facts"]]
    mind.talk("s", [("I live in Porto.", "I see.")])
    fact = {"type": "person", "subject": "Anna", "content": "Anna lives in Porto.",
            "quote": "I live in Porto", "confidence": "high"}  # fmt: skip
    mind.think(
        ScriptedLLM(
            lambda prompt: {"facts": [fact | {"turn": int(prompt.user.split()[-1].strip("."))}]}
        )
    )
    llm = ScriptedLLM(lambda prompt: {"facts": []})
    mind.talk("t", [("I live in Porto.", "You said so.")])
    mind.think(llm)
    assert len(llm.prompts) == 1


# ------------------------------------------------------------------- whatever a model server does to any job that asks it: an end, and nothing made of a bad answer

BEACH = ("I love the beach in Lisbon with my sister.", "Lisbon is nice.")  # a pair to merge
WITH_A_PAIR = [*SAID[:4], BEACH, SAID[5]]
ALWAYS = {"500", "schema violation"}
READERS = {"contextualize", "rerank"}  # they meet every fault each time, for all
# What these make by rule meanwhile stands until something changes.
CONTENT = {"blocks", "merge"}
HANGS = {"hang", "slow first token", "stall", "drip", "endless reasoning"}
QUICK = {"first_token_s": 0.1, "between_tokens_s": 0.1, "total_s": 0.3, "connect_s": 0.3}
UNSEEN = "silent truncation"  # of a prompt that is too short to tell: it was read all the same
JOBS = {job.name: job for job in BUILT_IN if job.name in ASKING}
CASES = [
    pytest.param(
        fault, name, id=f"{name}-{fault.name}",
        marks=() if fault.name in ALWAYS or name in READERS else pytest.mark.slow,
    )
    for name in sorted(ASKING)
    for fault in FAULTS
]  # fmt: skip


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return stores in which only one job's work is not done, by its name."""
    made: dict[str, tuple[Path, Any]] = {}

    def prepare(name: str) -> tuple[Path, Any]:
        if name not in made:
            folder = tmp_path_factory.mktemp(name) / "store"
            others = tuple(job for job in BUILT_IN if job.name != name)
            mind = Mind(folder, ScriptedLLM(parrot), others)
            for number in range(2):
                mind.talk(f"s{number}", WITH_A_PAIR)
            ledger(mind)
            mind.engine.flush(indexed=True)
            mind.think(days=0.1)
            mind.clock.advance(8 * 86400)
            made[name] = folder, mind.clock.now
            mind.close()
        return made[name]

    return prepare


def made_by(mind: Mind, name: str) -> list[str]:
    """List the models behind what a job has made; "" for a rule."""
    look = Look(mind.engine.store)
    records = (*look.memories("anna"), *look.contexts("anna"), *look.keys("anna"))
    return [one.made.model for one in records if one.made and one.made.job == name]


@pytest.mark.parametrize(("fault", "name"), CASES)
def test_every_job_faults_a_fault_ends_in_what_is_true_or_in_nothing(
    fault: Fault, name: str, prepared: Any, tmp_path: Path
) -> None:
    folder, now = prepared(name)
    shutil.copytree(folder, tmp_path / "store")
    job = JOBS[name]
    mind = Mind(tmp_path / "store", None, (job,))
    mind.clock.now = now
    asked: list[str] = []

    def good(body: dict[str, Any]) -> str:
        asked.append(body["messages"][-1]["content"])
        return json.dumps(parrot(Prompt(job=name, version=1, system="", user=asked[-1])))

    async def serve() -> None:
        async with FaultServer(good) as server:
            server.fault = fault.name
            limits = QUICK if fault.name in HANGS else {}  # else a busy machine's
            llm = OpenAILLM(ThinkingOptions(url=server.url, **limits))
            run = lambda **more: asyncio.to_thread(  # noqa: E731
                think, mind.engine, mind.clock, llm, (job,), **more
            )
            await run(patience_s=2.0 if fault.outcome == "endpoint" else 2000.0)
            if fault.outcome in ("endpoint", "bad", "long") and fault.name != UNSEEN:
                assert not any(made_by(mind, name)), "something is made of a bad answer"
            assert len(Look(mind.engine.store).runs()) < 400, "it spins"
            if fault.outcome == "endpoint":
                server.fault = "none"
                assert await run(patience_s=2000.0) == 0

    with closing(mind):
        before = {run.id for run in Look(mind.engine.store).runs()}
        asyncio.run(asyncio.wait_for(serve(), 60))
        own = [one.state for one in Look(mind.engine.store).tasks() if one.job == name]
        runs = [run for run in Look(mind.engine.store).runs() if run.id not in before]
        assert asked, "the job never asked: nothing is shown"
        assert "waiting" not in own
        if fault.outcome in ("ok", "endpoint"):
            assert "dead" not in own
            content = name in CONTENT and fault.outcome == "endpoint"
            assert any(made_by(mind, name)) or name == "merge" or content
        told = " ".join(run.error for run in runs)
        assert not any(word in told for word in ("dentist", "Clara", "Lisbon"))
