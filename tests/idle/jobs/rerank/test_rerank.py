"""Queries are judged by an LLM."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk, chunk_id
from slowcat_memory.idle.jobs.rerank import Rerank
from slowcat_memory.providers import Embedded
from slowcat_memory.records import LedgerEntry, LeftOut, Offer, WriteBatch
from slowcat_memory.testing import HashEmbedder, ScriptedLLM
from tests.support.idle_doubles import NOW, Rig
from tests.support.memories import Look
from tests.support.said import turn

SAID = (
    "My dentist is Dr Ray in Porto.",
    "The cat is called Tom.",
    "I drive a red car.",
    "Bye now.",
)
EMBEDDER, HOUR_AGO = HashEmbedder(), NOW - timedelta(hours=1)


def embed(texts: Any) -> Embedded:
    return Embedded(EMBEDDER.encode(texts), [])


class Talk:
    """A store with some memories, and turns that queried them."""

    def __init__(self, path: Path, *jobs: Any, llm: Any = None, options: dict | None = None):
        given = {"llm": llm, "embed": embed, "space": lambda: EMBEDDER.key}
        given["options"] = options or {}
        self.rig = Rig(path, *jobs, parts=given)
        self.memories = [chunk_id(self.say(text)) for text in SAID]
        self.rig.store.flush(None)

    def say(self, text: str, role: Any = "user", reply_to: int = 0, **given: Any) -> int:
        speaker = "Anna" if role == "user" else "Bot"
        said = turn(
            text, id=0, speaker=speaker, role=role, reply_to=reply_to, **{"at": HOUR_AGO} | given
        )
        return self.rig.store.append(said).id

    def ask(self, text: str, offered: list[int], left: tuple[int, ...] = (), **given: Any) -> int:
        asked = self.say(text, **given)
        views = {"dense": 0.5, "window": 0.5}
        row = LedgerEntry(
            turn=asked, scope="anna", session="s", at=NOW,
            offers=tuple(Offer(self.memories[n], 0.9 - n / 10, views) for n in offered),
            left_out=tuple(LeftOut(self.memories[n], "share", 0.3, 0.1, views) for n in left),
        )  # fmt: skip
        self.rig.store.write_ledger(row)
        self.rig.store.flush(None)
        return asked

    def keys(self) -> dict[str, float]:
        return {key.id: key.weight for key in Look(self.rig.store).keys("anna")}

    def vectors(self) -> set[str]:
        return {vector.memory for vector in Look(self.rig.store).vectors(EMBEDDER.key, "anna")}


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


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Callable[..., Talk]]:
    made: list[Talk] = []

    def make(*jobs: Any, **given: Any) -> Talk:
        made.append(Talk(tmp_path, *jobs, **given))
        return made[-1]

    yield make
    for one in made:
        one.rig.close()


def test_rerank_what_answers_and_what_was_offered_in_vain_become_keys(talk: Any) -> None:
    llm = grading(dentist=2, cat=1)
    one = talk(Rerank(), llm=llm)
    turn = one.ask("Where does my dentist work?", [0, 1, 2], left=(3,))
    one.rig.done()
    a, b, c, _ = (f"{memory}?a{turn}" for memory in one.memories)
    assert one.keys() == {a: 1.0, b: 0.5, c: -0.5}  # what was left out, and fails, is no news
    assert one.vectors() >= {a, b, c}
    assert len(llm.prompts) == 1 and "Where does my dentist work?" in llm.prompts[0].user
    one.rig.done()
    assert len(llm.prompts) == 1


@pytest.mark.parametrize(
    "text",
    [
        "yes exactly, the eighteenth",
        "no I meant the one we booked",
        "nein, ich meinte den anderen Termin",
    ],
)
def test_rerank_a_short_turn_is_judged_with_the_turn_before_it(talk: Any, text: str) -> None:
    llm = grading(dentist=2)
    one = talk(Rerank(), llm=llm)
    one.say("Your appointment is with Dr Ray, is it?", role="assistant")
    one.ask(text, [0, 1])
    one.rig.done()
    [prompt] = llm.prompts
    first, before, *_ = prompt.user.splitlines()
    assert text in first and before == "Just before, Bot: Your appointment is with Dr Ray, is it?"
    assert one.keys()


def test_rerank_a_turn_before_that_must_stay_here_is_not_shown(talk: Any) -> None:
    llm = grading(dentist=2)
    one = talk(Rerank(), llm=llm)
    secret = one.say("My code is four four two.")
    one.rig.store.flush(None)
    kept = replace(chunk(Look(one.rig.store).turn(secret)), local_only=True)
    one.rig.store.apply("kept here", WriteBatch(memories=(kept,)))
    one.ask("yes exactly, the eighteenth", [0, 1])
    one.rig.done()
    assert not any("four four two" in prompt.user for prompt in llm.prompts)


@pytest.mark.parametrize("grades", [{"Anna": 2}, {}])
def test_rerank_who_tells_nothing_apart_moves_nothing(talk: Any, grades: dict) -> None:
    one = talk(Rerank(), llm=grading(**grades))
    one.ask("Where does my dentist work?", [0, 1, 2])
    one.rig.done()
    assert one.keys() == {}


def test_rerank_what_must_stay_here_is_in_no_prompt(talk: Any) -> None:
    llm = grading(dentist=2)
    one = talk(Rerank(), llm=llm)
    secret = replace(chunk(Look(one.rig.store).turn(2)), local_only=True)
    gone = replace(chunk(Look(one.rig.store).turn(3)), retired_at=NOW)
    one.rig.store.apply("test", WriteBatch(memories=(secret, gone))).wait()
    one.ask("Where does my dentist work?", [0, 1, 2], left=(3,))
    one.ask("psst, my cat's name", [0, 1], aside=True)
    one.ask("Whose memory is this?", [0, 1, 3], scope="guest")
    hidden = one.ask("My secret question?", [0, 3])
    hush = replace(chunk(Look(one.rig.store).turn(hidden)), retired_at=NOW)
    one.rig.store.apply("test", WriteBatch(memories=(hush,))).wait()
    one.rig.done()
    (prompt,) = llm.prompts
    assert "dentist work" in prompt.user
    assert not any(word in prompt.user for word in ("Tom", "red car", "psst", "secret"))
