"""When the jobs for blocks and the profile ask an LLM, what they show it, and what stays without."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.records import WriteBatch
from slowcat_memory.testing import FixedClock, ScriptedLLM
from tests.support.job_seeker import block_of
from tests.support.memories import Look
from tests.support.said import fact
from tests.support.sessions import hold

SCOPE = "maya"
BEGAN = datetime(2026, 5, 4, 18, tzinfo=UTC)
DAY = 86400.0
EVER = datetime.min.replace(tzinfo=UTC)


class Home:
    """A memory of Maya's whose blocks are written after each conversation."""

    def __init__(self, opened: Any, clock: FixedClock, answer: Any) -> None:
        self.llm, self.clock, self.talks = ScriptedLLM(answer), clock, 0
        self.engine = opened(self.llm, memory={"time_zone": "America/Los_Angeles"})

    def talk(self, *texts: str, since: datetime | None = None) -> None:
        """Hold a conversation from which facts with these texts are drawn, then do the idle work."""
        self.talks += 1
        said, now = "Well. " + " ".join(texts), self.clock.now
        (turn,) = hold(self.engine, f"s{self.talks}", [said], now, scope=SCOPE, speaker="Maya")
        given = {"scope": SCOPE, "speaker": "Maya", "valid_from": since or now, "recorded_at": now}
        facts = tuple(fact(text, sources=(turn,), subject="Maya", **given) for text in texts)
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
def clock() -> FixedClock:
    return FixedClock(BEGAN)


@pytest.fixture
def home(opened: Any, clock: FixedClock) -> Any:
    return partial(Home, opened, clock)


def lines(*texts: str) -> Any:
    return lambda prompt: {"lines": [*texts]}


def test_blocks_of_what_is_true_since_ever_are_written_in_los_angeles(home: Any) -> None:
    maya = home(lines("Maya has a sister, Ines."))
    maya.talk("Ines is Maya's sister.", since=EVER)
    assert block_of(maya.engine, "human") == "Maya has a sister, Ines."
    assert Look(maya.engine.store).tasks(state="dead") == []


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
    old = Look(maya.engine.store).memory(SCOPE, "fact/Maya lives in Munich.")
    assert old is not None
    maya.clock.advance(3600)
    over = replace(old, retired_at=maya.clock.now)
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
