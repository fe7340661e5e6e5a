"""A turn's row of the ledger, as an engine makes it."""

import asyncio

import msgspec
import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.recall_gate import GateOptions
from slowcat_memory.core.query.understand import AskOptions
from slowcat_memory.core.ranking.score import Candidates
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget, LedgerEntry, SessionEdge, Turn
from slowcat_memory.runtime.recall.query import MOST_IN_ROW, asked_text, dialogue_before
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import Home, why_of
from tests.support.memories import residue
from tests.support.said import turn_at

SECRET = "The password is swordfish"


@pytest.fixture
def engine(home: Home) -> MemoryEngine:
    return home.open(HashEmbedder(256, token_dim=64), pack={"memories": 2})


def turn(engine: MemoryEngine, text: str, session: str = "s", role: str = "user") -> Turn:
    engine.clock.advance(10)  # type: ignore[attr-defined]
    said = turn_at(text, engine.clock(), session=session, role=role)
    return replace(said, id=engine.append(said).id)


def ask(engine: MemoryEngine, text: str, **how: object) -> LedgerEntry:
    """What a processor does at a turn, and what the ledger says of it."""

    async def one() -> Turn:
        asked = turn(engine, text, session="now")
        own = frozenset({chunk_id(asked.id)})
        found = await engine.recall(text, "anna", exclude=own | how.pop("exclude", frozenset()))  # type: ignore[arg-type,operator]
        engine.note_recall(asked, found, engine.blocks.pack(found, engine.clock()))
        assert why_of(engine, asked.id) is None, "the row is made once the caller has gone on"
        await asyncio.sleep(0)
        return asked

    engine.store.flush()  # the vectors of tokens are read from the store
    asked = asyncio.run(one())
    engine.flush(indexed=True)
    told = why_of(engine, asked.id)
    assert told
    return told[0]


def test_query_ledger_entry_a_row_is_small_and_holds_no_text(engine):
    for n in range(80):
        turn(engine, f"swordfish number{n} swims in the sea of words", session=f"s{n}")
    engine.flush(indexed=True)
    row = ask(engine, "swordfish swims in the sea")
    assert len(row.offers) + len(row.left_out) == MOST_IN_ROW and row.candidates == 80
    packed = msgspec.msgpack.encode(row)
    assert b"sword" not in packed and b"swims" not in packed
    assert len(packed) < 3500


def test_query_ledger_entry_forgetting_takes_candidates_out_of_rows_that_stay(engine):
    ids = [turn(engine, f"Max barks at number{n}").id for n in range(5)]
    engine.flush(indexed=True)
    row = ask(engine, "Does Max bark?", exclude=frozenset({chunk_id(ids[0])}))
    left = [int(one.memory.partition("/")[2]) for one in row.left_out]
    engine.forget(Forget(turns=(ids[0], left[0])))
    kept, memories = why_of(engine, row.turn)  # type: ignore[misc]
    assert [one.memory for one in kept.left_out] == [chunk_id(left[1])]
    assert kept.visible == tuple(v for v in row.visible if v != chunk_id(ids[0]))
    assert kept.offers == row.offers and chunk_id(left[0]) not in memories
    engine.forget(Forget(turns=(row.turn,)))
    assert why_of(engine, row.turn) is None


def test_query_ledger_entry_a_row_that_comes_after_the_forgetting_says_nothing_of_it(engine):
    gone = turn(engine, SECRET).id
    turn(engine, "Anna likes swordfish")
    engine.flush(indexed=True)
    asked = turn(engine, "What is the password?")
    found = engine.search("password swordfish", "anna")
    assert chunk_id(gone) in {hit.memory.id for hit in found.hits}
    engine.forget(Forget(turns=(gone,)))
    engine.note_recall(asked, found, engine.blocks.pack(replace(found, hits=[]), engine.clock()))
    engine.flush(indexed=True)
    row, memories = why_of(engine, asked.id)  # type: ignore[misc]
    assert chunk_id(gone) not in {one.memory for one in row.left_out} and SECRET not in str(
        memories
    )
    engine.close()
    assert not residue(engine.config.folder, "The password is")


def test_query_ledger_entry_what_was_asked_is_made_again_from_the_log(engine):
    engine.append(SessionEdge(session="s", scope="anna", kind="start", at=engine.clock()))
    turn(engine, "Where does my brother Moritz work?")
    turn(engine, "He brews beer.", role="assistant")
    turn(engine, "Something of another session", session="other")
    follow = turn(engine, "and what about him?")
    engine.store.flush()
    with engine.store.snapshot() as snapshot:
        said = [one.text for one in dialogue_before(snapshot, follow)]
        assert said == ["Where does my brother Moritz work?", "He brews beer."]
        assert "Moritz" in asked_text(snapshot, follow, AskOptions(), GateOptions(), "english")
        alone = AskOptions(follow_up=False)
        assert asked_text(snapshot, follow, alone, GateOptions(), "english") == follow.text


async def test_query_ledger_entry_a_turn_does_not_pay_for_its_row(engine, monkeypatch):
    """What is told of the candidates is worked out on the worker, never by who waits."""
    turn(engine, "Max barks")
    engine.flush(indexed=True)
    told, left_out = [], Candidates.left_out
    monkeypatch.setattr(Candidates, "left_out", lambda *given: told.append(1) or left_out(*given))
    asked = turn(engine, "Does Max bark?")
    found = await engine.recall("Does Max bark?", "anna")
    engine.note_recall(asked, found, engine.blocks.pack(found, engine.clock()))
    assert told == []
    await asyncio.sleep(0)
    engine.flush(indexed=True)
    assert told == [1]
