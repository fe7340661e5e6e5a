"""The derived is made again from the log: what comes out is what was there."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import EndpointError, StoreError
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Memory, WriteBatch
from slowcat_memory.replay.replay import REPLAY, rederive
from slowcat_memory.testing import FixedClock, HashEmbedder, ScriptedLLM, memory_config
from tests.support.job_seeker import OURS, SCOPE, SESSIONS, USER, begin, block_of, note, say
from tests.support.recorded_answers import RecordingLLM, ReplayingLLM
from tests.support.sessions import hold


def answer(prompt: Prompt) -> dict[str, Any]:
    """Say back what the record says, as far as the job asks for words."""
    lines = re.findall(r"^\[\d+\] [^:]*: (.*)$", prompt.user, re.M)
    return {"lines": lines[-3:]}


class House:
    def __init__(self, path: Path) -> None:
        self.path, self.clock = path, FixedClock(begin(0))
        self.engine: MemoryEngine = None  # type: ignore[assignment]

    def open(self, llm: Any = None) -> MemoryEngine:
        if self.engine is not None:
            self.engine.close()
        config = memory_config(self.path, idle={"grace_s": 0.0}, episodes={"window": 2})
        self.engine = MemoryEngine(config, clock=self.clock, llm=llm, embedder=HashEmbedder())
        return self.engine

    def live(self, llm: Any = None) -> MemoryEngine:
        engine = self.open(llm)
        for week in range(len(SESSIONS)):
            say(engine, self.clock, week)
            note(engine, week)
            assert engine.idle.until_done(OURS) == 0
        return engine


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path / "memory")
    yield made
    made.engine.close()


def derived(engine: MemoryEngine) -> dict[str, Memory]:
    with engine.store.snapshot() as snapshot:
        return {m.id: m for m in snapshot.memories(SCOPE) if m.made}


@pytest.mark.parametrize("llm", [None, ScriptedLLM(answer)], ids=["rules", "llm"])
def test_rederive_what_comes_out_is_what_was_there(house: House, llm: Any) -> None:
    engine = house.live(llm)
    before = derived(engine)
    kinds = {memory.kind for memory in before.values()}
    assert {"episode", "icebreaker", "block/relationship", "block/background_context"} <= kinds
    assert any(m.made and m.made.model for m in before.values()) == (llm is not None)
    made = rederive(engine, OURS)
    assert not made.changes and made.same == len(before) and made.sessions == 4
    # Ids, texts and times: with everything lost, all of it comes back as it was.
    engine.apply("test", WriteBatch(drop=tuple((SCOPE, id_) for id_ in before)))
    assert derived(engine) == {}
    made = rederive(engine, OURS)
    assert derived(engine) == {}, "nothing is written before it is adopted"
    engine.apply(REPLAY, made.batch)
    assert derived(engine) == before
    assert made.backup and made.backup.exists() and not (house.path / REPLAY).exists()


def test_rederive_what_is_a_persons_stays(house: House) -> None:
    engine = house.live()
    house.clock.advance(60)
    known = max(m.id for m in derived(engine).values() if m.kind == "block/relationship")
    engine.edit(SCOPE, known, text="You are friends.")
    engine.remember("Her sister is called Ida.", SCOPE)
    pinned = next(m for m in derived(engine).values() if m.kind == "episode")
    engine.apply("test", WriteBatch(memories=(replace(pinned, pinned=True, text="Mine."),)))

    def own() -> dict[str, Memory]:
        with engine.store.snapshot() as snapshot:
            return {m.id: m for m in snapshot.memories(SCOPE) if not m.made or m.pinned}

    before = own()
    engine.apply(REPLAY, rederive(engine).batch)
    assert own() == before
    assert block_of(engine, "relationship") == "You are friends."


def test_rederive_an_icebreaker_that_was_used_is_not_used_again(house: House) -> None:
    engine = house.live()
    _open_a_matter(engine, house.clock)
    house.clock.advance(3 * 86400)
    head = engine.session_context(SCOPE)
    assert "Bring this up once" in head
    waiting = {one.id for one in engine.wiring.icebreakers.waiting(SCOPE)}
    engine.apply(REPLAY, rederive(engine, OURS).batch)
    used = [m for m in derived(engine).values() if m.facets.get("became") == "used"]
    assert len(used) == 1 and used[0].retired_at
    assert used[0].id not in {one.id for one in engine.wiring.icebreakers.waiting(SCOPE)}
    assert used[0].id not in waiting


def _open_a_matter(engine: MemoryEngine, clock: FixedClock) -> None:
    """Log a session with an appointment two days ahead, and do idle work."""
    day = clock.now + timedelta(days=2)
    text = f"I have a dentist appointment on {day.day} {day:%B}."
    hold(engine, "later", [text], clock.now, scope=SCOPE, speaker=USER, reason="disconnect")
    engine.flush(indexed=True)
    assert engine.idle.until_done(OURS) == 0


def test_rederive_with_recorded_answers_and_without_them(house: House, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    recording = RecordingLLM(ScriptedLLM(answer), file)
    before = derived(house.live(recording))
    recording.close()
    answers = ReplayingLLM(file)
    engine = house.open(answers)
    made = rederive(engine, OURS)
    assert not made.changes and answers.asked and not answers.missing
    # Another model: only its work is made again, under the same ids where it says the same.
    other = ScriptedLLM(answer, model="another@test")
    engine = house.open(other)
    made = rederive(engine, ["blocks"])
    assert {m.kind.partition("/")[0] for m in made.new} == {"block"} and not made.gone
    engine.apply(REPLAY, made.batch)
    after = derived(engine)
    assert after.keys() == before.keys()
    blocks = [m for m in after.values() if m.made and m.made.job == "blocks"]
    assert {m.made.model for m in blocks if m.made} == {"another@test", ""}
    assert {i: m.text for i, m in after.items()} == {i: m.text for i, m in before.items()}


def test_rederive_what_cannot_be_done_changes_nothing(house: House) -> None:
    engine = house.live()
    with pytest.raises(KeyError):
        rederive(engine, ["no such job"])
    away = ScriptedLLM(lambda prompt: EndpointError("away"))
    engine = house.open(away)
    before = derived(engine)
    with pytest.raises(StoreError, match="could not be done"):
        rederive(engine, ["contextualize"])
    assert derived(engine) == before and not (house.path / REPLAY).exists()
