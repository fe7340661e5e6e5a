"""A turn recalled again, as of then; and what was derived, made again."""

import asyncio
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import EndpointError, StoreError, TranscriptError
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Forget, LedgerEntry, Memory, Turn, WriteBatch
from slowcat_memory.replay.replay import REPLAY, Replayed, rederive, replay_turn
from slowcat_memory.testing import FixedClock, HashEmbedder, ScriptedLLM, memory_config
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer
from tests.support.engine_home import last_session
from tests.support.job_seeker import OURS, SCOPE, SESSIONS, USER, begin, block_of, note, say
from tests.support.memories import Look, engine_of, ledger, remember
from tests.support.recorded_answers import RecordingLLM, ReplayingLLM
from tests.support.rows import listed_texts
from tests.support.said import turn
from tests.support.sessions import hold

QUESTION = "What does Max eat in the morning?"
EARLIER, TOLD, ASKED, LATER = (
    listed_texts("replay", part) for part in ("earlier", "told", "asked", "later")
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[MemoryEngine]:
    made = opened(tmp_path)
    yield made
    made.close()


def opened(folder: Path, **sections: dict) -> MemoryEngine:
    embedder = HashEmbedder(256, token_dim=64)  # whose tokens are near nothing: all is unknown
    recall = {"unknown_below": 0.0, **sections.pop("recall", {})}
    config = memory_config(folder / "memory", recall=recall, **sections)
    engine = MemoryEngine(config, clock=FixedClock(), embedder=embedder)
    engine.prepare("anna")
    return engine


def logged(engine: MemoryEngine, text: str, session: str = "s", role: str = "user") -> Turn:
    engine.clock.advance(10)  # type: ignore[attr-defined]
    said = turn(text, id=0, session=session, role=role, at=engine.clock())
    return replace(said, id=engine.append(said).id)


def ask(engine: MemoryEngine, text: str) -> Turn:
    async def one() -> Turn:  # which is indexed when its recall is over
        asked = logged(engine, text, session="now")
        own = frozenset({chunk_id(asked.id)})
        found = await engine.recall(text, "anna", now=asked.at, exclude=own)
        assert found.stage == "full", "a recall by words alone is compared with one by vectors"
        engine.note_recall(asked, found, engine.blocks.pack(found, asked.at))
        return asked

    engine.flush(indexed=True)
    engine.store.flush()  # the vectors of tokens are read from the store
    asked = asyncio.run(one())
    engine.flush(indexed=True)
    return asked


def told(row: LedgerEntry | None) -> dict[str, tuple]:
    assert row
    return {one.memory: (one.score, one.probability) for one in row.told}


def is_as_then(replayed: Replayed) -> bool:
    assert replayed.then and replayed.then.stage == replayed.now.stage
    then, now = told(replayed.then), told(replayed.now)
    assert then.keys() == now.keys(), replayed.turn.text
    for memory, pair in then.items():
        assert pair == pytest.approx(now[memory], abs=2e-3), f"{memory}: {replayed.turn.text}"
    return True


def test_replay_turn_a_turn_is_what_it_was_whatever_was_said_since(engine: MemoryEngine) -> None:
    for text in EARLIER:
        logged(engine, text)
    asked = ask(engine, QUESTION)
    for text in LATER * 5:
        logged(engine, text, session="later")
    engine.flush(indexed=True)
    replayed = replay_turn(engine, asked.id)
    assert replayed.turn == asked and replayed.asked == QUESTION and is_as_then(replayed)
    assert [o.memory for o in replayed.now.offers] == [o.memory for o in replayed.then.offers]  # type: ignore[union-attr]
    assert replayed.now.at == asked.at and replayed.now.candidates == len(EARLIER)
    today = engine.search(QUESTION, "anna", 3, now=asked.at)  # the control: today's index differs
    assert {hit.memory.id for hit in today.hits} - told(replayed.then).keys()


def test_replay_turn_notes_of_later_are_not_there_and_what_was_retired_since_is(engine):
    early = engine.remember("Max eats carrots in the morning", "anna")
    engine.flush(indexed=True)
    asked = ask(engine, QUESTION)
    engine.clock.advance(60)  # type: ignore[attr-defined]
    late = engine.remember("Max eats apples in the morning", "anna")
    retired = replace(early, retired_at=engine.clock())
    engine.store.apply("job", WriteBatch(memories=(retired,))).wait()
    replayed = replay_turn(engine, asked.id)
    assert early.id in told(replayed.now) and late.id not in told(replayed.now)
    assert early.id in told(replayed.then)
    before = replace(early, retired_at=asked.at - timedelta(seconds=1))
    engine.store.apply("job", WriteBatch(memories=(before,))).wait()
    assert early.id not in told(replay_turn(engine, asked.id).now)


def test_replay_turn_a_follow_up_leans_on_what_it_leant_on(engine: MemoryEngine) -> None:
    logged(engine, "My brother Moritz works at the brewery", session="earlier")
    logged(engine, "The garage called", session="earlier")
    logged(engine, "Where does my brother Moritz work?")
    follow = logged(engine, "and what about him?")
    engine.flush(indexed=True)
    replayed = replay_turn(engine, follow.id)
    assert "Moritz" in replayed.asked and replayed.then is None
    best = max(replayed.now.told, key=lambda one: one.score)
    assert replayed.memories[best.memory].text.startswith("My brother Moritz")
    said = {chunk_id(n) for n in range(1, follow.id) if n > 2}
    assert not said & told(replayed.now).keys(), "what the session said stood in the context"


def test_replay_turn_other_options_make_another_now(tmp_path: Path, engine: MemoryEngine) -> None:
    for text in EARLIER:
        logged(engine, text)
    asked = ask(engine, QUESTION)
    engine.close()
    strict = opened(tmp_path, recall={"floor": 0.9999})
    replayed = replay_turn(strict, asked.id)
    assert replayed.then and replayed.then.offers and not replayed.now.offers
    assert {one.reason for one in replayed.now.left_out} == {"floor"}
    strict.close()


def test_replay_turn_what_was_forgotten_since_is_gone_from_then(engine: MemoryEngine) -> None:
    ids = [logged(engine, text).id for text in EARLIER]
    engine.flush(indexed=True)
    asked = ask(engine, QUESTION)
    engine.forget(Forget(turns=(ids[1],)))
    replayed = replay_turn(engine, asked.id)
    gone = chunk_id(ids[1])
    assert gone not in told(replayed.then) and gone not in told(replayed.now)
    assert gone not in replayed.memories


def test_replay_turn_what_is_no_turn_of_a_person(engine: MemoryEngine) -> None:
    reply = logged(engine, "Woof", role="assistant")
    engine.store.flush()
    for number in (reply.id, 99, 0):
        with pytest.raises(TranscriptError, match="no turn of a person"):
            replay_turn(engine, number)


def test_replay_turn_scopes_stay_apart(engine: MemoryEngine) -> None:
    engine.append(replace(logged(engine, EARLIER[0]), id=0, scope="berta", text="Max eats secrets"))
    asked = ask(engine, QUESTION)
    assert all("secret" not in m.text for m in replay_turn(engine, asked.id).memories.values())


async def test_replay_turn_a_whole_conversation_is_replayed_turn_by_turn(config) -> None:
    """What a pipeline asked, with its dialogue and its context, is made again from the log."""
    remember(config, *TOLD)
    async with ScriptedServer(lambda _: "I see.") as server:
        processor = HybridContextualMemoryProcessor(config=config)
        async with HeadlessConversation(llm_url=server.url, memory=processor) as conversation:
            for number, text in enumerate(ASKED, start=1):
                await conversation.say(text)
                await indexed(processor.engine, 2 * number)
    rows = ledger(config)
    assert len(rows) == len(ASKED) and any(row.visible for row in rows)
    with engine_of(config) as engine:
        for row in rows:
            replayed = await asyncio.to_thread(replay_turn, engine, row.turn)
            assert is_as_then(replayed)
            assert [o.memory for o in row.offers] == [o.memory for o in replayed.now.offers]
            reasons = [[one.reason for one in r.left_out] for r in (row, replayed.now)]
            assert reasons[0] == reasons[1] and set(row.visible) == set(replayed.now.visible)
        again = await asyncio.to_thread(replay_turn, engine, rows[1].turn)
        assert again.asked != ASKED[1], "a follow-up leans on the first"


async def indexed(engine: MemoryEngine, turns: int) -> None:
    """Wait until the reply is logged and indexed: else the next recall may miss it."""
    async with asyncio.timeout(60):
        while (session := last_session(engine, "user")) is None or session.turns < turns:
            await asyncio.sleep(0.01)
    await asyncio.to_thread(engine.flush, indexed=True)


# ---------------------------------------------------------------- what was derived is made again from the log


def answer(prompt: Prompt) -> dict[str, Any]:
    """Say back what the record says, as far as the job asks for words."""
    return {"lines": re.findall(r"^\[\d+\] [^:]*: (.*)$", prompt.user, re.M)[-3:]}


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
    return {m.id: m for m in Look(engine).memories(SCOPE) if m.made}


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
        return {m.id: m for m in Look(engine).memories(SCOPE) if not m.made or m.pinned}

    before = own()
    engine.apply(REPLAY, rederive(engine).batch)
    assert own() == before
    assert block_of(engine, "relationship") == "You are friends."


def test_rederive_an_icebreaker_that_was_used_is_not_used_again(house: House) -> None:
    engine = house.live()
    _open_a_matter(engine, house.clock)
    house.clock.advance(3 * 86400)
    assert "Bring this up once" in engine.session_context(SCOPE)
    waiting = {one.id for one in engine.icebreakers.waiting(SCOPE)}
    engine.apply(REPLAY, rederive(engine, OURS).batch)
    used = [m for m in derived(engine).values() if m.facets.get("became") == "used"]
    assert len(used) == 1 and used[0].retired_at
    assert used[0].id not in {one.id for one in engine.icebreakers.waiting(SCOPE)}
    assert used[0].id not in waiting


def _open_a_matter(engine: MemoryEngine, clock: FixedClock) -> None:
    """Log a session with an appointment two days ahead, and do idle work."""
    day = clock.now + timedelta(days=2)
    text = f"I have a dentist appointment on {day.day} {day:%B}."
    hold(engine, "later", [text], clock.now, scope=SCOPE, speaker=USER, reason="disconnect")
    engine.flush(indexed=True)
    assert engine.idle.until_done(["facts", *OURS]) == 0


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
    engine = house.open(ScriptedLLM(answer, model="another@test"))
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
    engine = house.open(ScriptedLLM(lambda prompt: EndpointError("away")))
    before = derived(engine)
    with pytest.raises(StoreError, match="could not be done"):
        rederive(engine, ["contextualize"])
    assert derived(engine) == before and not (house.path / REPLAY).exists()
