"""Four weeks with somebody who looks for work, through the pipeline: what comes back unasked."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.core.blocks.block import history, version_of
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.processor import HybridContextualMemoryProcessor
from slowcat_memory.providers import Prompt
from slowcat_memory.testing import FixedClock, ScriptedLLM, memory_config
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer
from tests.support.job_seeker import OURS, SCOPE, SESSIONS, USER, begin, block_of, note
from tests.support.memories import Look
from tests.support.rows import listed_texts
from tests.support.voice_pipeline import run

REPLIES = {said: answered for session in SESSIONS for said, answered in session}
# Recorded answers, with what must not get through.
LABELS = ("human", "relationship", "self_perception", "persona")
LINES = {label: listed_texts("job_seeker", label) for label in LABELS}


def answer(prompt: Prompt) -> dict[str, Any]:
    [label] = re.findall(r"Write the lines of (\w+)\.$", prompt.user)
    return {"lines": LINES[label]}


class Month:
    """An engine whose clock we move, and the heads and requests of each session."""

    def __init__(self, path: Path, llm: ScriptedLLM | None) -> None:
        self.clock = FixedClock(begin(0))
        config = memory_config(
            path, memory={"user_id": SCOPE, "user_name": USER}, idle={"grace_s": 0.0},
        )  # fmt: skip
        self.engine = MemoryEngine(config, clock=self.clock, llm=llm)
        self.heads: list[str] = []
        self.asked: list[dict[str, Any]] = []

    async def week(self, number: int) -> None:
        self.clock.now = begin(number)
        memory = HybridContextualMemoryProcessor(engine=self.engine)
        head = await memory.session_context()
        async with (
            ScriptedServer(lambda request: REPLIES[last(request)]) as server,
            HeadlessConversation(
                llm_url=server.url, memory=memory, system_instruction=head or "-", speaker=USER
            ) as talk,
        ):
            for said, _ in SESSIONS[number]:
                self.clock.advance(20)
                await talk.say(said)
        self.heads.append(head)
        self.asked += [dict(request) for request in server.requests]

    def think(self, number: int) -> None:
        self.engine.flush(indexed=True)
        self.clock.advance(600)
        note(self.engine, number)
        assert self.engine.idle.until_done(OURS) == 0


def last(request: dict[str, Any]) -> str:
    """Find which turn of the script a request asks about: memories may stand before its words."""
    return next(said for said in REPLIES if said in request["messages"][-1]["content"])


@pytest.fixture(params=[False, True], ids=["rules", "llm"])
def month(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Month]:
    made = Month(tmp_path / "memory", ScriptedLLM(answer) if request.param else None)
    for number in range(len(SESSIONS)):
        run(made.week(number))
        made.think(number)
    yield made
    made.engine.close()


def test_job_seeker_the_month_of_a_job_seeker(month):
    first, second, third, fourth = month.heads
    assert "Google" not in first
    # "You mentioned Google last week", without being asked.
    [recent] = [line for line in second.splitlines() if "Recent: " in line]
    assert "Google" in recent
    assert "waits for answers from Google and Siemens" in second and "a week ago" not in first
    # An appointment is asked after when it is over, and once.
    assert "interview" not in second
    [brought] = [line for line in third.splitlines() if line.startswith("Bring this up once")]
    assert "Google" in brought and "interview" in brought
    assert sum("interview at Google" in line for line in fourth.splitlines()
               if line.startswith("Bring this up once")) == 0  # fmt: skip
    # The arc: from anxious to confident, with the days where rules tell it.
    told = block_of(month.engine, "relationship")
    assert "anxious" in told and "confident" in told
    assert told.index("anxious") < told.index("confident")
    assert "Ignore" not in told
    # What the agent advised is known, and found.
    assert "three short stories" in block_of(month.engine, "self_perception")
    [question] = [
        r for r in month.asked if "at the very beginning?" in r["messages"][-1]["content"]
    ]
    assert "three short stories" in str(question["messages"])
    # Who she is; nothing that nobody said.
    human = block_of(month.engine, "human")
    assert "planner in Munich" in human and "Amazon" not in human
    assert "About Maya: wants: work as a planner in Munich." in fourth
    # Blocks have a history.
    every = Look(month.engine).memories(SCOPE, "block/")
    background = history(every, "background_context")
    assert [version_of(one) for one in background] == list(range(1, len(background) + 1))
    assert len(background) >= 4
    assert [one.retired_at is None for one in background] == [False] * (len(background) - 1) + [
        True
    ]
    assert background[0].retired_at == background[1].recorded_at
    assert all(one.sources for one in every)
