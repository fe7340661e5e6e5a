import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from slowcat_memory.core.query.recall_gate import Need
from slowcat_memory.core.ranking.score import AnswerEvidence
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Hit, Memory, Turn, WriteBatch
from slowcat_memory.runtime.recall.choosing import abstain
from slowcat_memory.runtime.recall.query import Recollection
from tests.support.engine_home import Home
from tests.support.recall_without_store import NOW, Mind, memory
from tests.support.rows import each_listed
from tests.support.said import turn_at

NOTHING = AnswerEvidence(coverage=0, max_similarity=0, unseen_names=1, memories=500)
UNNAMED = replace(NOTHING, unseen_names=0)
EVIDENCE = {
    "nothing": NOTHING,
    "unnamed": UNNAMED,
    "no amount": replace(UNNAMED, max_similarity=0.6, lacks_value=1.0),
    "everything": replace(UNNAMED, coverage=1, max_similarity=1),
    "in no time": None,
}
PLAIN = Hit(memory=memory("plain", "Max is a dog"), score=1.0)
PINNED = Hit(memory=memory("pin", "Speak slowly", pinned=True), score=0.5)


# ------------------------------------------------------------------- by itself


@each_listed("rules/abstain.jsonl")
def test_abstain_says_unknown_of_what_asks_for_a_memory(need, named, evidence, unknown):
    found = Recollection(hits=[PLAIN, PINNED], evidence=EVIDENCE[evidence], names_speaker=named)
    told = abstain(found, Need(**need), 0.2)
    assert told.unknown is unknown
    assert told.hits == ([PINNED] if unknown else [PLAIN, PINNED])
    assert not abstain(found, Need(**need), 0.0).unknown


# ------------------------------------------------------------------- in a recall


def test_service_abstain_choose_what_is_over_or_superseded_is_not_offered_by_any_view():
    over = memory("rome", "I live in Rome", days=900, valid_to=NOW - timedelta(days=300))
    mind = Mind(over, memory("oslo", "I live in Oslo", days=290))
    assert mind.ids("where do I live") == ["oslo"]
    assert mind.ids("did I live in Rome two years ago") == ["rome", "oslo"]
    mind.memories["oslo"] = replace(mind.memories["oslo"], retired_at=NOW)  # since it was indexed
    assert mind.ids("where do I live") == []


# ------------------------------------------------------------------- in an engine


def turn(text: str, minute: int) -> Turn:
    return turn_at(text, NOW - timedelta(days=3) + timedelta(minutes=minute))


@pytest.fixture
def engine(home: Home) -> MemoryEngine:
    made = home.open(recall={"deadline_ms": 5000.0, "floor": 0.0})
    for n, text in enumerate(("My dog is called Max", "I drink green tea every morning")):
        made.append(turn(text, n))
    made.flush(indexed=True)
    return made


def recalled(engine: MemoryEngine, text: str) -> tuple[Recollection, str]:
    found = asyncio.run(engine.recall(text, "anna"))
    return found, engine.blocks.pack(found, engine.clock()).text


def test_service_abstain_recall_thanks_are_not_looked_up_and_counted(engine):
    found, block = recalled(engine, "Okay, thank you!")
    assert found == Recollection(stage="skipped") and block == ""
    assert engine.metrics.counts() == {"recall_skipped": 1}


def test_service_abstain_recall_a_name_that_is_stored_is_looked_up(engine):
    asked = "sing a song about biscuit"
    assert recalled(engine, asked)[0].stage == "skipped"
    engine.append(turn("My cat is called Biscuit", 3))
    engine.flush(indexed=True)
    assert "Biscuit" in recalled(engine, asked)[1]


def test_service_abstain_recall_a_memory_that_is_missing_is_said_to_be_missing(engine):
    found, block = recalled(engine, "What is Konstantin's wife called?")
    assert found.unknown and found.hits == [] and "nothing about this is remembered" in block
    assert engine.metrics.counts()["told_unknown"] == 1
    found, block = recalled(engine, "good morning, what is my dog called?")
    assert not found.unknown and "Max" in block and "nothing" not in block
    assert recalled(engine, "Who wrote Hamlet?")[0].unknown is False


def test_service_abstain_recall_an_empty_memory_remembers_nothing(engine):
    engine.prepare("ben")
    assert asyncio.run(engine.recall("what is my name?", "ben")).unknown
    assert not asyncio.run(engine.recall("what is the capital of France?", "ben")).unknown


def test_service_abstain_pack_the_time_is_in_the_block_of_who_asks_for_it(engine):
    assert "(now) Tuesday 12 May, 12:00" in recalled(engine, "what time is it?")[1]
    assert "(now)" not in recalled(engine, "what is my dog called")[1]
    before = engine.session_context("anna")
    recalled(engine, "what time is it?")
    engine.clock.advance(3600)  # type: ignore[attr-defined]
    assert engine.session_context("anna") == before  # whose bytes stay, whatever the clock says


def test_service_abstain_recall_a_correction_is_offered_and_what_it_corrects_is_not(engine):
    old = engine.remember("Our landlord is called Novak", "anna", at=NOW - timedelta(days=90))
    assert "Novak" in recalled(engine, "what is our landlord called")[1]
    gone = replace(old, retired_at=NOW)
    engine.store.apply("person", WriteBatch(memories=(gone,))).wait(None)
    engine.indexer.read_again(gone.scope, [gone.id])
    new = engine.remember("Our landlord is called Weber", "anna")
    for _ in range(2):
        block = recalled(engine, "what is our landlord called")[1]
        assert "Weber" in block and "Novak" not in block
        engine.upkeep.seal("anna")
    assert isinstance(new, Memory)


def test_service_abstain_session_context_what_is_over_leaves_the_head(engine):
    note = engine.remember("Anna is on a diet", "anna", pinned=True)
    assert "diet" in engine.session_context("anna")
    over = replace(note, valid_to=NOW - timedelta(days=1))
    engine.store.apply("person", WriteBatch(memories=(over,))).wait(None)
    engine.indexer.read_again(over.scope, [over.id])
    assert "diet" not in engine.session_context("anna")
