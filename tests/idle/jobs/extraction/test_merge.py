"""Pairs of facts that an LLM decides about: each once, all of them, with their days."""

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowcat_memory.idle.jobs.extraction.merge import Merge
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Memory, Task, WriteBatch
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.testing import ScriptedLLM, think
from tests.support import said
from tests.support.memories import Look

AT = datetime(2026, 11, 2, 18, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store", options=StoreOptions(map_size_gib=1 / 16)) as made:
        yield made


def fact(n: int, text: str, type: str = "plan", **parts: Any) -> Memory:
    given = {"id": f"fact/{n:02}", "scope": "nell", "valid_from": AT + timedelta(days=n)}
    return said.fact(text, type, subject="Nell", sources=(n,), **given, **parts)


def merge(store: Store, llm: ScriptedLLM, *facts: Memory) -> None:
    ids = [one.id for one in facts]
    task = Task(
        id=f"merge/nell/{ids[-1]}", job="merge", key=ids[-1], scope="nell", created=AT,
        note=msgspec.json.encode(ids).decode(),
    )  # fmt: skip
    store.apply("test", WriteBatch(memories=facts, tasks=(task,)))
    store.flush(None)
    assert asyncio.run(think(store, Merge(), llm=llm, now=AT + timedelta(days=60))) == 0


def answering(same: bool) -> ScriptedLLM:
    def reply(prompt: Prompt) -> dict[str, object]:
        numbers = sorted({int(n) for n in re.findall(r"^(\d+)\. older", prompt.user, re.M)})
        return {"pairs": [{"pair": n, "same_fact": same, "text": ""} for n in numbers]}

    return ScriptedLLM(reply)


def current(store: Store) -> set[str]:
    every = Look(store).memories("nell", "fact/")
    return {one.text for one in every if one.retired_at is None}


FIRST = fact(1, "Nell moves into the cottage on 14 November 2026.", date="2026-11-14")
SECOND = fact(3, "Nell moves into the cottage on 28 November 2026.", date="2026-11-28")


def test_another_day_is_asked_about_with_the_days_of_both_and_replaces_the_first(store):
    llm = answering(same=True)
    merge(store, llm, FIRST, SECOND)
    assert current(store) == {SECOND.text}
    (prompt,) = llm.prompts
    assert "older (2026-11-03): " in prompt.user and "newer (2026-11-05): " in prompt.user


def test_a_pair_is_asked_once(store: Store) -> None:
    llm = answering(same=False)
    merge(store, llm, FIRST, SECOND)
    again = Look(store).memories("nell", "fact/")
    merge(store, llm, *again)
    assert len(llm.prompts) == 1 and current(store) == {FIRST.text, SECOND.text}


def test_more_pairs_than_a_prompt_has_room_for_are_asked_later(store: Store) -> None:
    llm, things = answering(same=True), "door gate roof wall sink oven lamp sofa rug desk".split()
    facts = []
    for n, thing in enumerate(things):
        facts.append(
            fact(2 * n + 1, f"Nell repairs the {thing} on 3 December 2026.", date="2026-12-03")
        )
        facts.append(
            fact(2 * n + 2, f"Nell repairs the {thing} on 9 December 2026.", date="2026-12-09")
        )
    merge(store, llm, *facts)
    assert len(llm.prompts) > 1 and all(p.user.count("older") <= 8 for p in llm.prompts)
    assert current(store) == {one.text for one in facts[1::2]}


def test_all_the_same_retires_no_other_matter(store: Store) -> None:
    llm = answering(same=True)
    beard, cats = (
        fact(1, "Nell has a red beard now.", "person"),
        fact(2, "Nell has a cat allergy now.", "person"),
    )
    merge(store, llm, beard, cats)
    assert current(store) == {beard.text, cats.text}


def test_after_answers_that_cannot_be_used_words_decide(store: Store) -> None:
    """Nothing that rules can decide waits for a model."""
    moved = fact(3, SECOND.text, date="2026-11-28", quote="we move on the 28th instead")
    held = fact(4, "Nell takes 20 milligrams of the blue tablets.", "health")
    risen = fact(5, "Nell takes 40 milligrams of the blue tablets now, at night.", "health")
    merge(store, ScriptedLLM(lambda prompt: "no idea"), FIRST, moved, held, risen)
    assert FIRST.text not in current(store) and moved.text in current(store)
