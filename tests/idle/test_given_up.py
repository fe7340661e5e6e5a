"""A model whose answers cannot be used: rules do what they can, and another model replaces it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from slowcat_memory.idle.registry import BUILT_IN
from slowcat_memory.providers import Prompt
from slowcat_memory.testing import ScriptedLLM
from tests.support.asking_jobs import ASKING, SAID, ledger
from tests.support.parroting_llm import Mind, parrot

NO_RULE = {"contextualize", "rerank"}  # they need an LLM: index text and grades are in no words
WITHOUT_RECORDS = {"merge"}  # what it decides is seen in the facts that others made
FROM_CHANGES = {"blocks"}  # planned again when something changes


class Lived(Struct):
    """A life with a useless model, and then with a good one: what each job made, by model."""

    before: dict[str, set[str]]
    after: dict[str, set[str]]
    asked: dict[str, int]
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
    with mind.engine.store.snapshot() as snapshot:
        return {task.job for task in snapshot.tasks(state="dead")}


USELESS: dict[str, Any] = {
    "prose": "I am sorry, I cannot help with that.",
    "wrong items": {"items": [{"x": 1}, {"y": [2]}], "text": None},
}


@pytest.fixture(scope="module", params=USELESS)
def lived(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Lived]:
    useless = ScriptedLLM(lambda prompt: USELESS[request.param], model="useless@test")
    mind = Mind(tmp_path_factory.mktemp("given_up") / "store", useless)
    try:
        for number in range(2):
            mind.talk(f"s{number}", SAID)
        ledger(mind)
        mind.engine.flush(indexed=True)
        mind.think(days=1.0)
        before, dead_before = made(mind), dead(mind)
        with mind.engine.store.snapshot() as snapshot:
            waiting = len(snapshot.tasks(state="waiting"))
        asked = {job: 0 for job in ASKING}
        for prompt in useless.prompts:
            asked[prompt.job] += 1
        mind.talk("s2", [("My brother Tom moved to Leeds in April.", "I see.")])
        mind.think(ScriptedLLM(parrot, model="good@test"), days=1.0)
        yield Lived(before, made(mind), asked, dead_before, dead(mind), waiting)
    finally:
        mind.close()


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
    assert {job.name for job in BUILT_IN if job.name in ASKING} == ASKING
    assert {job.name for job in BUILT_IN if job.needs == "llm"} <= NO_RULE


def test_given_up_one_turn_that_a_model_cannot_describe_costs_its_neighbours_nothing(tmp_path):
    """Given up as a whole, the turns are tried in smaller pieces."""

    def answer(prompt: Prompt) -> Any:
        if prompt.job != "contextualize" or "moved to Leeds" not in prompt.user.split("\n")[-1]:
            reply = parrot(prompt)
            numbers = {one["turn"] for one in reply["turns"]}
            return "nonsense" if numbers & poisoned else reply
        return parrot(prompt)

    poisoned = set[int]()
    job = tuple(job for job in BUILT_IN if job.name == "contextualize")
    mind = Mind(tmp_path / "store", ScriptedLLM(answer), job)
    try:
        turns = mind.talk("s", SAID)
        poisoned.add(turns[4].id)
        mind.think()
        with mind.engine.store.snapshot() as snapshot:
            described = {one.memory for one in snapshot.contexts("anna")}
            failed = [task for task in snapshot.tasks(state="dead")]
        assert len(described) >= len(turns) - 3
        assert all(str(turns[4].id) in task.note for task in failed) and len(failed) == 1
    finally:
        mind.close()


def test_given_up_an_empty_reply_is_doubted_where_rules_find_something(tmp_path: Path) -> None:
    llm = ScriptedLLM(lambda prompt: {"facts": [], "entities": []})
    jobs = tuple(one for one in BUILT_IN if one.name == "facts")
    mind = Mind(tmp_path / "store", llm, jobs)
    try:
        mind.talk("s", [("My sister Clara lives in Porto.", "Porto is near.")])
        mind.think()
        assert len(llm.prompts) == 1, "the rules' facts stand"
        assert made(mind)["facts"] == {""} and not dead(mind)
        mind.talk("t", [("Do you think that it might rain later on this week?", "It may.")])
        mind.think()
        assert len(llm.prompts) == 2, "an empty reply about nothing is believed"
        mind.think()
        assert len(llm.prompts) == 2
    finally:
        mind.close()


def test_given_up_an_empty_reply_about_what_is_known_is_believed(tmp_path: Path) -> None:
    jobs = tuple(one for one in BUILT_IN if one.name == "facts")
    mind = Mind(tmp_path / "store", ScriptedLLM(parrot), jobs)
    try:
        mind.talk("s", [("I live in Porto.", "I see.")])
        fact = {"type": "person", "subject": "Anna", "content": "Anna lives in Porto.",
                "quote": "I live in Porto", "confidence": "high"}  # fmt: skip
        mind.think(ScriptedLLM(lambda prompt: {"facts": [fact | {"turn": asked_in(prompt)}]}))
        llm = ScriptedLLM(lambda prompt: {"facts": []})
        mind.talk("t", [("I live in Porto.", "You said so.")])
        mind.think(llm)
        assert len(llm.prompts) == 1
    finally:
        mind.close()


def asked_in(prompt: Prompt) -> int:
    return int(prompt.user.split()[-1].strip("."))
