"""Queries are judged by an LLM."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.idle.jobs.rerank import Rerank
from slowcat_memory.records import LedgerEntry, LeftOut, Offer
from slowcat_memory.testing import HashEmbedder, ScriptedLLM
from tests.support.idle_doubles import NOW, House, housing
from tests.support.memories import Look
from tests.support.rows import cases, listed_texts
from tests.support.said import turn

SAID = listed_texts("idle/short_turns", "said")
EMBEDDER, HOUR_AGO = HashEmbedder(), NOW - timedelta(hours=1)


class Talk(House):
    """A store with some memories, and turns that queried them."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path, Rerank(), llm=grading(dentist=2), scopes=lambda: ["anna"],
            embed=EMBEDDER.encode, space=lambda: EMBEDDER.key,
        )  # fmt: skip
        self.memories = [chunk_id(self.turn(text)) for text in SAID]

    def turn(self, text: str, **given: Any) -> int:
        said = self.store.append(turn(text, **{"id": 0, "at": HOUR_AGO} | given))
        self.store.flush(None)
        return said.id

    def ask(self, text: str, offered: list[int], left: tuple[int, ...] = (), **given: Any) -> int:
        asked = self.turn(text, **given)
        views = {"dense": 0.5, "window": 0.5}
        row = LedgerEntry(
            turn=asked, scope="anna", session="s", at=NOW,
            offers=tuple(Offer(self.memories[n], 0.9 - n / 10, views) for n in offered),
            left_out=tuple(LeftOut(self.memories[n], "share", 0.3, 0.1, views) for n in left),
        )  # fmt: skip
        self.store.write_ledger(row)
        self.store.flush(None)
        return asked

    def keys(self) -> dict[str, float]:
        return {key.id: key.weight for key in super().keys()}


def grading(**grades: int) -> ScriptedLLM:
    """Grades the lines with a certain word; all others 0."""

    def reply(prompt: Any) -> Any:
        lines = re.findall(r"^(\d+)\. (.+)$", prompt.user, re.M)
        given = [
            {"line": int(n), "grade": max((g for w, g in grades.items() if w in line), default=0)}
            for n, line in lines
        ]
        return {"grades": given}

    return ScriptedLLM(reply)


one = housing(Talk)


def test_rerank_what_answers_and_what_was_offered_in_vain_become_keys(one: Talk) -> None:
    llm = one.llm = grading(dentist=2, cat=1)
    turn = one.ask("Where does my dentist work?", [0, 1, 2], left=(3,))
    one.think()
    a, b, c, _ = (f"{memory}?a{turn}" for memory in one.memories)
    assert one.keys() == {a: 1.0, b: 0.5, c: -0.5}  # what was left out, and fails, is no news
    assert {row.memory for row in Look(one.store).vectors(EMBEDDER.key, "anna")} >= {a, b, c}
    assert len(llm.prompts) == 1 and "Where does my dentist work?" in llm.prompts[0].user
    one.think()
    assert len(llm.prompts) == 1


@cases("idle/short_turns")
def test_rerank_a_short_turn_is_judged_with_the_turn_before_it(one: Talk, text: str) -> None:
    one.turn("Your appointment is with Dr Ray, is it?", role="assistant", speaker="Bot")
    one.ask(text, [0, 1])
    one.think()
    [prompt] = one.llm.prompts
    first, before, *_ = prompt.user.splitlines()
    assert text in first and before == "Just before, Bot: Your appointment is with Dr Ray, is it?"
    assert one.keys()


def test_rerank_a_turn_before_that_must_stay_here_is_not_shown(one: Talk) -> None:
    one.change(one.turn("My code is four four two."), local_only=True)
    one.ask("yes exactly, the eighteenth", [0, 1])
    one.think()
    assert not any("four four two" in prompt.user for prompt in one.llm.prompts)


@pytest.mark.parametrize("grades", [{"Anna": 2}, {}])
def test_rerank_who_tells_nothing_apart_moves_nothing(one: Talk, grades: dict) -> None:
    one.llm = grading(**grades)
    one.ask("Where does my dentist work?", [0, 1, 2])
    one.think()
    assert one.keys() == {}


def test_rerank_what_must_stay_here_is_in_no_prompt(one: Talk) -> None:
    one.change(2, local_only=True)
    one.change(3, retired_at=NOW)
    one.ask("Where does my dentist work?", [0, 1, 2], left=(3,))
    one.ask("psst, my cat's name", [0, 1], aside=True)
    one.ask("Whose memory is this?", [0, 1, 3], scope="guest")
    one.change(one.ask("My secret question?", [0, 3]), retired_at=NOW)
    one.think()
    (prompt,) = one.llm.prompts
    assert "dentist work" in prompt.user
    assert not any(word in prompt.user for word in ("Tom", "red car", "psst", "secret"))
