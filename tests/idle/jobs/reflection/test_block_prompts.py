"""When the jobs for blocks and the profile ask an LLM, what they show it, and what stays without."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Memory, SessionEdge, Statement, Turn, WriteBatch
from slowcat_memory.testing import FixedClock, ScriptedLLM, memory_config
from tests.support.job_seeker import block_of

SCOPE = "maya"
BEGAN = datetime(2026, 5, 4, 18, tzinfo=UTC)
DAY = 86400.0
EVER = datetime.min.replace(tzinfo=UTC)


class Home:
    """A memory of Maya's whose blocks are written after each conversation."""

    def __init__(self, folder: Path, answer: Any) -> None:
        self.llm, self.clock, self.talks = ScriptedLLM(answer), FixedClock(BEGAN), 0
        config = memory_config(
            folder, idle={"grace_s": 0.0}, memory={"time_zone": "America/Los_Angeles"}
        )
        self.engine = MemoryEngine(config, clock=self.clock, llm=self.llm)

    def talk(self, *texts: str, since: datetime | None = None, **facets: str) -> None:
        """Hold a conversation from which facts with these texts are drawn, then do the idle work."""
        self.talks += 1
        edge: dict[str, Any] = {"session": f"s{self.talks}", "scope": SCOPE}
        self.engine.append(SessionEdge(**edge, kind="start", at=self.clock.now))
        said = Turn(
            **edge, speaker="Maya", role="user", text="Well. " + " ".join(texts), at=self.clock.now
        )
        turn = self.engine.append(said).event
        self.engine.append(SessionEdge(**edge, kind="end", at=self.clock.now))
        facts = tuple(
            Memory(id=f"fact/{text}", kind="fact/person", scope=SCOPE, speaker="Maya", text=text,
                   valid_from=since or self.clock.now, recorded_at=self.clock.now, sources=(turn.id,),
                   trust="user", statement=Statement(subject="Maya", confidence="high", **facets))
            for text in texts
        )  # fmt: skip
        self.engine.store.apply("facts", WriteBatch(memories=facts)).wait(None)
        self.think()

    def think(self) -> None:
        assert self.engine.idle.until_done(["profile", "blocks"]) == 0
        self.engine.store.flush(None)

    def asked(self, label: str) -> list[str]:
        """Return the prompts for a block, or for the profile."""
        return [
            prompt.user
            for prompt in self.llm.prompts
            if prompt.user.endswith(f"lines of {label}.") or prompt.job == label
        ]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Any]:
    made: list[Home] = []

    def open_(answer: Any) -> Home:
        made.append(Home(tmp_path / "memory", answer))
        return made[-1]

    yield open_
    for one in made:
        one.engine.close()


def lines(*texts: str) -> Any:
    return lambda prompt: {"lines": [*texts]}


def test_blocks_of_what_is_true_since_ever_are_written_in_los_angeles(home: Any) -> None:
    maya = home(lines("Maya has a sister, Ines."))
    maya.talk("Ines is Maya's sister.", since=EVER)
    assert block_of(maya.engine, "human") == "Maya has a sister, Ines."
    with maya.engine.store.snapshot() as snapshot:
        assert list(snapshot.tasks(state="dead")) == []


def test_a_month_of_daily_talks_asks_for_few_blocks(home: Any) -> None:
    maya = home(lines("Maya lives in Munich."))
    for day in range(28):
        maya.talk("Maya lives in Munich." if not day else f"Maya met friend number {day}.")
        maya.clock.advance(DAY)
    assert 3 <= len(maya.asked("human")) <= 7
    assert not maya.asked("self_perception"), "there was no advice to look back on"


def test_what_is_new_stands_in_a_block_before_the_llm_is_asked_again(home: Any) -> None:
    maya = home(lines("Maya has her home in Munich."))
    maya.talk("Maya lives in Munich, her home.")
    maya.clock.advance(DAY)
    maya.talk("Maya is allergic to latex.")
    assert len(maya.asked("human")) == 1
    assert block_of(maya.engine, "human").splitlines() == [
        "Maya has her home in Munich.", "Maya is allergic to latex."]  # fmt: skip


def test_a_line_goes_with_the_fact_that_it_was_drawn_from(home: Any) -> None:
    maya = home(lines("Maya lives in Munich.", "Maya has a cat, Tiger."))
    maya.talk("Maya lives in Munich.", "Maya has a cat called Tiger.")
    assert "Munich" in block_of(maya.engine, "human")
    with maya.engine.store.snapshot() as snapshot:
        old = snapshot.memory(SCOPE, "fact/Maya lives in Munich.")
    assert old is not None
    maya.clock.advance(3600)
    over = Memory(
        **{**{f: getattr(old, f) for f in old.__struct_fields__}, "retired_at": maya.clock.now}
    )
    maya.engine.store.apply("facts", WriteBatch(memories=(over,))).wait(None)
    maya.talk("Maya lives in Leipzig now.")
    text = block_of(maya.engine, "human")
    assert "Munich" not in text and "Tiger" in text and "Leipzig" in text
    assert len(maya.asked("human")) == 1, "no prompt for that"


def test_the_latest_plans_are_among_what_the_llm_is_shown(home: Any) -> None:
    maya = home(lines("Maya lives in Munich."))
    maya.talk("Maya lives in Munich.", *(f"Maya saw film number {n}." for n in range(70)))
    maya.clock.advance(timedelta(days=20).total_seconds())
    maya.talk("Maya moves to Leipzig on 5 June 2026.")
    last = maya.asked("human")[-1]
    assert "Maya moves to Leipzig on 5 June 2026." in last and "Maya lives in Munich." in last
    assert last.count("\n[") <= 24
