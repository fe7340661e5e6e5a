"""``check-llm`` on models of three qualities behind a scripted server."""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from slowcat_memory.cli.measure import talks
from slowcat_memory.cli.measure.probes import probes
from slowcat_memory.cli.measure.trial import Outcome, figures
from slowcat_memory.testing import ScriptedServer

FACTS = {  # what a good model writes of each talk: turn, type, subject, content, quote, date
    "Imogen": [
        (3, "work", "Imogen", "Imogen works as a vet at the clinic in Totnes from 1 April 2026.",
         "I work as a vet at the clinic in Totnes", "2026-04-01"),
        (5, "place", "Imogen", "Imogen stays in Exeter.", "I stay in Exeter", ""),
        (5, "person", "Callum", "Imogen's brother Callum lives in Totnes.",
         "My brother Callum lives in Totnes", ""),
        (7, "health", "Callum", "Callum is allergic to nuts.", "He is allergic to nuts", ""),
    ],
    "Jannik": [
        (3, "event", "Jannik", "Jannik muss am 9. Juni 2026 noch einmal zum Zahnarzt.",
         "ich muss am 9. Juni noch einmal hin", "2026-06-09"),
        (5, "person", "Merle", "Merle, Janniks Tochter, spielt Fagott.",
         "Meine Tochter Merle spielt seit letztem Herbst Fagott", ""),
        (7, "work", "Jannik", "Jannik arbeitet am Samstag in der Tischlerei.",
         "Ich arbeite am Samstag in der Tischlerei", ""),
    ],
}  # fmt: skip
RELATIONS = {
    "Imogen": [(5, "Callum", "lives_in", "Totnes", "My brother Callum lives in Totnes"),
               (5, "Imogen", "lives_in", "Exeter", "I stay in Exeter")],
    "Jannik": [(5, "Merle", "plays", "Fagott", "Meine Tochter Merle spielt seit letztem Herbst Fagott")],
}  # fmt: skip
SUMMARIES = {
    "Imogen": "Imogen starts to work as a vet in Totnes. Her brother Callum lives there.",
    "Jannik": "Jannik war beim Zahnarzt. Seine Tochter Merle hat am Sonntag ein Konzert.",
}
KEYS = ("turn", "type", "subject", "content", "quote", "date")
INVENTED = {"turn": 3, "type": "person", "subject": "Imogen", "confidence": "high",
            "content": "Imogen married Humphrey in Aberdeen in 1987.", "quote": "married Humphrey",
            "date": ""}  # fmt: skip


def good(prompt: str) -> dict[str, Any]:
    who = "Imogen" if "Imogen" in prompt else "Jannik"
    if "Write the facts of" in prompt:
        made = [dict(zip(KEYS, one, strict=True), confidence="high") for one in FACTS[who]]
        return {"facts": made}
    if "older" in prompt:
        pairs = enumerate(talks.sample().pair, 1)
        return {"pairs": [{"pair": n, "same_fact": one.same, "text": ""} for n, one in pairs]}
    if "Found:" in prompt:
        found = next(one for one in talks.sample().found if one.said in prompt)
        lines = range(1, len(found.lines) + 1)
        return {"grades": [{"line": n, "grade": 2 * (n in found.answers)} for n in lines]}
    turns = re.findall(r"^\[(\d+)\] (\w+): (.*)$", prompt, re.M)
    if "Write about the turns" in prompt and "quote" in instruction(prompt):
        names = ("turn", "subject", "predicate", "object", "quote")
        made = [dict(zip(names, one, strict=True)) for one in RELATIONS[who]]
        named = {value for one in made for value in (one["subject"], one["object"])}
        return {"entities": [{"name": n, "type": "person"} for n in named], "relations": made}
    if "Write about the turns" in prompt:
        return {"turns": [{"turn": int(n), "context": f"{who_} said: {text}", "questions": []}
                          for n, who_, text in turns]}  # fmt: skip
    return {"summary": SUMMARIES[who], "topics": [], "entities": [who], "tone": ""}


def instruction(prompt: str) -> str:
    return prompt.partition("\0")[0]


def sloppy(prompt: str) -> dict[str, Any] | str:
    """Answer as well, with inventions beside the truth, in prose; guess where to judge."""
    answer = good(prompt)
    for key in answer:
        if key == "facts":
            answer[key] = [*answer[key][:-1], INVENTED, INVENTED | {"quote": "Aberdeen"}]
        if key == "pairs":
            answer[key] = [one | {"same_fact": True} for one in answer[key]]
        if key == "grades":
            answer[key] = [one | {"grade": 2} for one in answer[key]]
        if key == "summary":
            answer[key] += " Humphrey flew to Aberdeen on 4 July 1987."
    return f"Sure! Here it is:\n```json\n{json.dumps(answer)}\n```"


def nonsense(prompt: str) -> str:
    return "I am only a small model, and I do not know what you mean."


@contextmanager
def served(model: Callable[[str], Any]) -> Iterator[str]:
    """Serve a model on a thread of its own; the block gets its URL."""
    loop, ready, ends = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    urls = list[str]()

    def reply(request: dict[str, Any]) -> str:
        system, user = (message["content"] for message in request["messages"][:2])
        answer = model(f"{system}\0{user}")
        return answer if isinstance(answer, str) else json.dumps(answer)

    async def serve() -> None:
        async with ScriptedServer(reply=reply) as server:
            urls.append(server.url)
            ready.set()
            await ends.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    try:
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join()
        loop.close()


def verdicts(sm, model: Callable[[str], Any]) -> tuple[dict[str, str], dict[str, Any]]:
    with served(model) as url:
        found = sm.json("check-llm", "--url", url, "--json")
    return {one["job"]: one["verdict"] for one in found["jobs"]}, found


def test_check_llm_a_good_model_is_good_for_every_job(sm) -> None:
    said, found = verdicts(sm, good)
    assert set(said.values()) == {"good"}, found
    assert all(job["first_try"] == 1 for job in found["jobs"])
    assert found["answer_rate"] > 0 and found["prompt_rate"] > 0 and not found["problems"]


def test_check_llm_a_sloppy_model_is_caught_inventing_and_guessing(sm) -> None:
    said, found = verdicts(sm, sloppy)
    by_job = {one["job"]: one for one in found["jobs"]}
    assert said["facts"] == "usable" and by_job["facts"]["grounded"] < 0.8
    assert said["merge"] == said["rerank"] == "no"
    assert by_job["facts"]["answers"] == 1


def test_check_llm_nonsense_is_good_for_nothing_and_said_so(sm) -> None:
    with served(nonsense) as url:
        text = sm.ok("check-llm", "--url", url, "--quick")
    assert "Better none" in text
    said, found = verdicts(sm, nonsense)
    assert set(said.values()) == {"no"} and found["problems"]


def test_check_llm_without_a_server_says_what_to_do(sm) -> None:
    assert "running" in sm.fails("check-llm", "--url", "http://127.0.0.1:9/v1")


def test_check_llm_quick_has_every_job_with_fewer_prompts() -> None:
    every, quick = probes(talks.sample()), probes(talks.sample(), quick=True)
    assert {one.job for one in every} == {one.job for one in quick}
    assert len(quick) < len(every)


@pytest.mark.parametrize("outcomes", [[Outcome(job="facts", problem="it is empty")]])
def test_check_llm_figures_of_no_answers_are_no_division_by_zero(outcomes) -> None:
    made = figures(outcomes)
    assert made.jobs[0].verdict == "no" and made.prompt_rate is None
