"""What a person keeps, marks and corrects, and what is forgotten."""

import threading
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index.generation import Build
from slowcat_memory.records import Forget, Memory, WriteBatch
from slowcat_memory.store.care import copies
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import SECRET, TALK, Gate, edge, first, texts
from tests.support.memories import Look, engine_of, residue


def test_notes_remember_a_statement_that_nobody_said_is_found(home):
    engine = home.open(HashEmbedder())
    kept = engine.remember("Anna is allergic\0 to nuts", "anna", speaker="Anna")
    assert kept.text == "Anna is allergic to nuts" and kept.importance == 0.8
    assert first(engine, "nuts") == kept.text
    assert engine.remember("Anna is allergic to nuts", "anna", speaker="Anna").id == kept.id
    engine.flush(indexed=True)
    assert engine.upkeep.stats()["index"]["anna"] == {
        "memories": 1, "sealed": 0, "tail": 1, "vectors": 1
    }  # fmt: skip
    engine.close()
    assert first(home.open(), "nuts") == kept.text


def test_notes_remember_nothing_cannot_be_remembered(home):
    with pytest.raises(ValueError, match="nothing to remember"):
        home.open().remember(" \0 ", "anna")


def test_notes_mark_a_pin_is_stored_and_counts(home):
    engine = home.open(HashEmbedder())
    ids = home.talk(engine, "Max likes bones", "Max likes balls")
    engine.store.flush()
    assert first(engine, "Max likes") == "Max likes balls"  # the later one
    pinned = engine.edit("anna", chunk_id(ids[0]), pinned=True)
    assert pinned is not None and pinned.pinned
    assert first(engine, "Max likes") == "Max likes bones"
    engine = home.again(HashEmbedder())
    assert first(engine, "Max likes") == "Max likes bones"
    engine.edit("anna", chunk_id(ids[0]), pinned=False)
    assert first(engine, "Max likes") == "Max likes balls"
    assert engine.edit("anna", "chunk/999", pinned=True) is None
    assert engine.edit("berta", chunk_id(ids[0]), pinned=True) is None


def test_notes_mark_a_pin_waits_for_the_turn_it_pins(home, engine):
    gate = Gate()
    engine.indexer.talk.submit(gate)
    ack = engine.append(home.turn("Max likes bones"))
    ack.wait(30)
    threading.Timer(0.05, gate.open.set).start()
    engine.edit("anna", chunk_id(ack.id), pinned=True)
    found = engine.search("Max", "anna")
    engine.edit("anna", chunk_id(ack.id), pinned=False)
    without = engine.search("Max", "anna").hits[0]
    assert found.hits[0].memory.pinned and not without.memory.pinned
    gain = engine.config.rank.pinned
    assert found.hits[0].score - without.score == pytest.approx(gain, abs=1e-3)


def test_notes_session_context_the_context_of_a_session_stays_the_same_during_it(home, engine):
    assert engine.session_context("anna") == ""
    for session, told in (("one", "once"), ("two", "2 times")):
        engine.append(edge(home, session, "start"))
        home.talk(engine, session=session)
        during = engine.session_context("anna")
        engine.append(edge(home, session, "end"))
        engine.store.flush()
        after = engine.session_context("anna")
        assert after.splitlines()[2] == (
            f"You have talked {told} before, the last time on 12 May 2026, earlier today; "
            "today is Tuesday, 12 May 2026."
        )
        assert during == ("" if session == "one" else during) and during != after
    engine.append(edge(home, "three", "start"))
    before = engine.session_context("anna")
    home.talk(engine, session="three")
    assert engine.session_context("anna") == before
    engine.remember("Anna hates surprises", "anna", speaker="Anna", pinned=True)
    *lines, _ = engine.session_context("anna").splitlines()
    pinned = ["You were asked to always keep in mind:", "- Anna: Anna hates surprises"]
    assert lines == [*before.splitlines()[:3], *pinned]
    assert engine.session_context("berta") == ""


@pytest.mark.parametrize("days", [None, 30])
def test_notes_a_correction_is_true_as_long_as_what_it_replaces(config, days):
    with engine_of(config) as engine:
        now = engine.clock()
        until = None if days is None else now - timedelta(days=days)
        fact = Memory(
            id="fact/1", kind="fact/home", scope="user", speaker="Anna", text="Anna lives in York",
            valid_from=now - timedelta(days=90), valid_to=until, recorded_at=now,
        )  # fmt: skip
        engine.apply("job", WriteBatch(memories=(fact,)))
        made = engine.edit("user", fact.id, text="Anna lived in Leeds")
        assert made is not None and (made.valid_from, made.valid_to) == (fact.valid_from, until)
        [entry] = Look(engine).commands()
        engine.undo(entry)
        back = Look(engine).memory("user", fact.id)
    assert back == fact


def test_notes_what_is_remembered_again_stays_pinned(config):
    with engine_of(config) as engine:
        engine.remember("Max is a dog", "user", pinned=True)
        again = engine.remember("Max is a dog", "user")
        other = engine.remember("Max is a cat", "user")
        corrected = engine.edit("user", other.id, text="Max is a dog")
    assert again.pinned and corrected is not None and corrected.pinned


def test_notes_what_was_forgotten_can_be_remembered_again(engine):
    for _ in range(3):
        kept = engine.remember("Max is a dog", "anna")
        assert engine.remember("Max is a dog", "anna").id == kept.id
        assert first(engine, "dog") == kept.text
        engine.forget(Forget(memories=(kept.id,), scope="anna"))
        assert first(engine, "dog") == ""


def test_notes_what_is_remembered_again_after_it_was_hidden_is_not_erased(home, engine):
    kept = engine.remember("Max is a dog", "anna")
    engine.forget(Forget(memories=(kept.id,), scope="anna"), undo_s=60)
    home.clock.advance(30)
    engine.remember("Max is a dog", "anna")
    home.clock.advance(31)
    assert engine.upkeep.erase_due() == 1
    assert first(engine, "dog") == "Max is a dog"


# ------------------------------------------------------------------- what is forgotten


def test_forget_it_is_out_of_mind_before_its_bytes_are_erased(home, monkeypatch):
    """Erasing takes a second per GB; nobody may recall what is being erased."""
    engine, seen, rewrite = home.open(), [], copies.rewrite
    (secret,) = home.talk(engine, SECRET)
    home.talk(engine)

    def slow(*args: Any) -> bool:
        seen.append(texts(engine.search("swordfish", "anna")))
        return rewrite(*args)

    monkeypatch.setattr(copies, "rewrite", slow)
    assert engine.forget(Forget(turns=(secret,))).erased
    assert seen == [[]]


def test_forget_turns_said_while_something_is_forgotten_are_kept(home, engine, monkeypatch):
    (secret,) = home.talk(engine, SECRET)
    forget = engine.store.forget

    def meanwhile(*args: Any, **how: Any) -> Any:
        gone = forget(*args, **how)
        for text in TALK:
            engine.append(home.turn(text))
        return gone

    monkeypatch.setattr(engine.store, "forget", meanwhile)
    engine.forget(Forget(turns=(secret,)))
    engine.flush(indexed=True)
    assert len(engine.namespaces.get("anna").searcher) == 5
    assert [first(engine, word) for word in ("dog", "tea", "violin")] == [TALK[0], TALK[1], TALK[3]]


def test_forget_forgetting_everything_leaves_a_memory_that_works(home, engine):
    home.talk(engine)
    engine.remember("Anna loves tea", "anna")
    engine.forget(Forget(scope="anna", everything=True))
    assert texts(engine.search("dog tea", "anna")) == []
    home.talk(engine)
    assert first(engine, "dog") == TALK[0]


@pytest.mark.parametrize("replaced", [False, True])
def test_forget_a_build_that_has_read_the_turn_is_ended_first(
    home, engine, monkeypatch, tmp_path, replaced
):
    (secret,) = home.talk(engine, SECRET)
    home.talk(engine)
    engine.search("dog", "anna")
    begun, run = threading.Event(), Build._run
    waits = tmp_path / "waits.py"
    waits.write_text("import sys\nsys.stdin.read()\n")

    def slow(self: Build, module: str, arguments: Any, errors: Any) -> None:
        begun.set()
        run(self, str(waits), arguments, errors)

    monkeypatch.setattr(Build, "_run", slow)
    failed = partial(pytest.raises, IndexDamagedError, engine.upkeep.seal, "anna")
    sealing = threading.Thread(target=failed)
    sealing.start()
    assert begun.wait(30)
    building = engine.namespaces.get("anna")
    while building.build._child is None:
        pass
    if replaced:
        engine.indexer.reload("anna")
    assert engine.forget(Forget(turns=(secret,))).erased
    sealing.join(20)
    assert not sealing.is_alive() and not building.recent([chunk_id(secret)])
    assert not residue(home.path, "swordfish")


def test_forget_the_indexes_of_other_namespaces_stay_in_use(home, engine):
    (secret,) = home.talk(engine, SECRET)
    engine.append(home.turn(TALK[0], scope="bob"))
    engine.upkeep.seal("bob")
    assert engine.forget(Forget(turns=(secret,))).erased
    engine = home.again()
    engine.prepare("bob")
    assert engine.upkeep.stats()["index"]["bob"]["sealed"] == 1
