"""What earlier conversations told is shown in every prompt that reads turns, and what comes of it."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

from slowcat_memory.idle.jobs.extraction.contextualize import Contextualize
from slowcat_memory.idle.jobs.extraction.facts import Facts
from slowcat_memory.idle.jobs.summaries import SessionSummary
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Forget
from slowcat_memory.testing import ScriptedLLM
from tests.support.idle_doubles import NOW, House, housing

FIRST = "my sister Hana works at Northlight, over in Leeds, and she has done so for nine good years"
SECOND = (
    "she rang and they moved my start there, it is in March now and I do not mind one bit at all"
)
READERS = ("facts", "contextualize", "session_summary")


def reply(prompt: Prompt) -> Any:
    """Answer as a model that uses what a prompt shows as known."""
    lines = re.findall(r"^\[(\d+)\] .*?: (.*)$", prompt.user, re.M)
    first = {number for number, text in lines if FIRST in text}
    knows = "Northlight" in prompt.user.partition("=== record")[0]
    name = "Northlight" if first or knows else "the firm"
    told = (
        f"Mira's start at {name} is in March."
        if not first
        else "Hana works at Northlight in Leeds."
    )
    quote = "they moved my start there" if not first else "Hana works at Northlight"
    turn = int(lines[0][0])
    if prompt.job == "facts":
        names = [{"name": "Hana", "type": "person"}, {"name": "Northlight", "type": "organisation"}]
        sister = {"turn": turn, "type": "person", "subject": "Mira", "predicate": "has_sister",
                  "object": "Hana", "content": "Mira's sister is Hana.",
                  "quote": "my sister Hana works at Northlight"}  # fmt: skip
        work = {"turn": turn, "type": "work", "subject": "Hana" if first else "Mira",
                "predicate": "works_at", "object": name, "content": told, "quote": quote,
                "confidence": "high"}  # fmt: skip
        return {"facts": [sister, work] if first else [work], "entities": names if first else []}
    if prompt.job == "contextualize":
        return {"turns": [{"turn": turn, "context": told, "questions": []}]}
    return {"summary": told}


class Talks(House):
    def __init__(self, path: Path) -> None:
        super().__init__(path, Facts(), Contextualize(), SessionSummary(), llm=ScriptedLLM(reply))

    def talk(self, session: str, text: str, days: int) -> int:
        said, at = (text, "I see, and then?"), NOW + timedelta(days=days)
        return self.say(said, session=session, at=at, speaker="Mira")[0]


one = housing(Talks)


def of_second(llm: ScriptedLLM) -> dict[str, str]:
    return {one.job: one.user for one in llm.prompts if SECOND in one.user}


def test_every_prompt_that_reads_turns_shows_who_was_known_before(one) -> None:
    llm = one.llm
    one.talk("s1", FIRST, 0)
    one.think()
    assert not any("Known from before" in prompt.user for prompt in llm.prompts)
    one.talk("s2", SECOND, 3)
    one.think()
    assert set(READERS) <= set(of_second(llm))
    for job, user in of_second(llm).items():
        head = user.partition("=== record")[0]
        assert "- Hana: sister of Mira" in head and "Northlight" in head, job
        assert "Last conversation (2026-05-12): Hana works at Northlight in Leeds." in head, job


def test_a_name_of_an_earlier_conversation_is_kept_until_that_is_forgotten(one):
    first = one.talk("s1", FIRST, 0)
    one.think()
    second = one.talk("s2", SECOND, 3)
    one.think()
    sentence = "Mira's start at Northlight is in March."
    (fact,) = [fact for fact in one.memories("fact/") if fact.text == sentence]
    assert fact.sources == (second, first)
    assert one.context(second) == sentence
    assert any(m.text == sentence for m in one.memories("summary/"))
    assert fact.statement.predicate == "works_at" and fact.statement.subject_id
    one.store.forget(Forget(turns=(first,)))
    one.store.flush(None)
    left = [m for kind in ("fact", "summary", "entity") for m in one.memories(f"{kind}/")]
    assert not any("Northlight" in m.text for m in left) and not one.context(second)


def test_what_must_stay_here_is_no_known_name_and_no_prompt_is_refused(one) -> None:
    llm = one.llm
    first = one.talk("s1", FIRST, 0)
    one.think()
    one.change(first, local_only=True)
    llm.remote = True
    one.talk("s2", SECOND, 3)
    one.think()
    assert set(READERS) <= set(of_second(llm))
    assert not any("Hana" in user for user in of_second(llm).values())


def test_a_backlog_is_read_oldest_first_and_sees_nothing_of_later(one) -> None:
    llm = one.llm
    one.talk("s1", SECOND, 0)
    one.talk("s2", FIRST, 3)
    one.talk("s3", SECOND, 6)
    one.clock.advance(7 * 86_400)
    one.think()
    for job in READERS:
        users = [prompt.user for prompt in llm.prompts if prompt.job == job]
        assert len(users) == 3 and SECOND in users[0] and SECOND in users[2], job
        assert "Hana" not in users[0], job
        assert FIRST in users[1] and "- Hana" not in users[1].partition("=== record")[0], job
        assert "Northlight" in users[2].partition("=== record")[0], job
