"""Pairs of facts that an LLM decides about: each once, all of them, with their days."""

import re
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import msgspec

from slowcat_memory.idle.jobs.extraction.merge import Merge
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Memory, Task
from slowcat_memory.testing import ScriptedLLM
from tests.support import said
from tests.support.idle_doubles import House, housing

AT = datetime(2026, 11, 2, 18, tzinfo=UTC)


house = housing(House)


def fact(n: int, text: str, type: str = "plan", **parts: Any) -> Memory:
    given = {"id": f"fact/{n:02}", "scope": "nell", "valid_from": AT + timedelta(days=n)}
    return said.fact(text, type, subject="Nell", sources=(n,), **given, **parts)


def merge(house: House, llm: ScriptedLLM, *facts: Memory) -> None:
    ids = [one.id for one in facts]
    task = Task(
        id=f"merge/nell/{ids[-1]}", job="merge", key=ids[-1], scope="nell", created=AT,
        note=msgspec.json.encode(ids).decode(),
    )  # fmt: skip
    house.apply(memories=facts, tasks=(task,))
    house.llm, house.clock.now = llm, AT + timedelta(days=60)
    assert house.think(Merge()) == 0


def answering(same: bool) -> ScriptedLLM:
    def reply(prompt: Prompt) -> dict[str, object]:
        numbers = sorted({int(n) for n in re.findall(r"^(\d+)\. older", prompt.user, re.M)})
        return {"pairs": [{"pair": n, "same_fact": same, "text": ""} for n in numbers]}

    return ScriptedLLM(reply)


def current(house: House) -> set[str]:
    return {one.text for one in house.memories("fact/", "nell") if one.retired_at is None}


FIRST = fact(1, "Nell moves into the cottage on 14 November 2026.", date="2026-11-14")
SECOND = fact(3, "Nell moves into the cottage on 28 November 2026.", date="2026-11-28")


def test_another_day_is_asked_about_with_the_days_of_both_and_replaces_the_first(house):
    llm = answering(same=True)
    merge(house, llm, FIRST, SECOND)
    assert current(house) == {SECOND.text}
    (prompt,) = llm.prompts
    assert "older (2026-11-03): " in prompt.user and "newer (2026-11-05): " in prompt.user


def test_a_pair_is_asked_once(house: House) -> None:
    llm = answering(same=False)
    merge(house, llm, FIRST, SECOND)
    merge(house, llm, *house.memories("fact/", "nell"))
    assert len(llm.prompts) == 1 and current(house) == {FIRST.text, SECOND.text}


def test_more_pairs_than_a_prompt_has_room_for_are_asked_later(house: House) -> None:
    llm, things = answering(same=True), "door gate roof wall sink oven lamp sofa rug desk".split()
    facts = [
        fact(n, f"Nell repairs the {thing} on {day} December 2026.", date=f"2026-12-0{day}")
        for n, (thing, day) in enumerate(product(things, (3, 9)), 1)
    ]
    merge(house, llm, *facts)
    assert len(llm.prompts) > 1 and all(p.user.count("older") <= 8 for p in llm.prompts)
    assert current(house) == {one.text for one in facts[1::2]}


def test_all_the_same_retires_no_other_matter(house: House) -> None:
    llm = answering(same=True)
    texts = ("Nell has a red beard now.", "Nell has a cat allergy now.")
    beard, cats = (fact(n, text, "person") for n, text in enumerate(texts, 1))
    merge(house, llm, beard, cats)
    assert current(house) == {beard.text, cats.text}


def test_after_answers_that_cannot_be_used_words_decide(house: House) -> None:
    """Nothing that rules can decide waits for a model."""
    moved = fact(3, SECOND.text, date="2026-11-28", quote="we move on the 28th instead")
    held = fact(4, "Nell takes 20 milligrams of the blue tablets.", "health")
    risen = fact(5, "Nell takes 40 milligrams of the blue tablets now, at night.", "health")
    merge(house, ScriptedLLM(lambda prompt: "no idea"), FIRST, moved, held, risen)
    assert FIRST.text not in current(house) and moved.text in current(house)
