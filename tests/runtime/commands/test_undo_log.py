"""What an order changes in recall, on disk, and back again; and what a crash leaves."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from copy import copy

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import SessionEdge
from slowcat_memory.testing import HashEmbedder
from slowcat_memory.transfer.formats.rows import export
from slowcat_memory.transfer.reading import FileReadings, Options
from tests.support.engine_talks import NOW, UNDO_S, WORD, commands, found, hide, talk
from tests.support.memories import Look, residue
from tests.support.other_process import printed_by
from tests.support.said import turn_at


def test_undo_log_what_comes_back_is_found_as_before(home):
    """Its neighbours' windows and its vector are as if nothing had been."""
    engine = home.open(HashEmbedder())
    ids = talk(engine, "my dog is Max", "a fine name", "he likes fetch", "good", "bye", "bye")
    engine.flush(indexed=True)
    before = engine.search("who likes fetch with Max", "anna", k=9).hits
    entry = hide(engine, *ids[2:4])
    assert found(engine, "fetch") != [hit.memory.text for hit in before]
    engine.undo_log.undo(entry)
    engine.flush(indexed=True)
    after = engine.search("who likes fetch with Max", "anna", k=9).hits
    assert [(h.memory.id, pytest.approx(h.score)) for h in after] == [
        (h.memory.id, h.score) for h in before
    ]
    assert all(hit.cosine is not None for hit in after)


def test_undo_log_what_is_hidden_ends_nothing_nor_after_a_restart(home, engine):
    first, _, second, _ = talk(engine, "I live in Lisbon.", "nice", "I live in Porto now.", "oh")

    def is_over(engine: MemoryEngine) -> bool:
        engine.flush(indexed=True)
        known = engine.namespaces.get("anna").facts
        return bool(known.endings(f"chunk/{first}", engine.clock()))

    assert is_over(engine)
    hide(engine, second)
    assert not is_over(engine) and not is_over(home.again())


def test_undo_log_hidden_stays_hidden_after_a_restart_and_a_rebuilt_index(home, engine):
    first, reply, *_ = talk(engine, f"a {WORD} lives here", "nice", "and a cat", "oh")
    entry = hide(engine, first, reply)
    engine = home.again()
    assert found(engine, WORD) == []
    engine.upkeep.seal("anna")
    assert found(engine, WORD) == []
    engine = home.again()
    assert found(engine, WORD) == []
    engine.undo_log.undo(entry)
    assert found(engine, WORD)[0] == f"a {WORD} lives here"
    engine.close()
    assert found(home.open(), WORD)[0] == f"a {WORD} lives here"


def test_undo_log_when_it_is_due_it_is_erased_with_the_order_and_its_answer(engine, home):
    first, reply, order, answer = talk(
        engine, f"a {WORD} lives here", "nice", f"forget everything about {WORD}", f"{WORD}, gone"
    )
    hide(engine, first, reply, turn=order)
    assert engine.upkeep.erase_due() == 0 and residue(home.path, WORD)
    home.clock.advance(UNDO_S)
    assert engine.upkeep.erase_due() == 1
    assert residue(home.path, WORD) == []
    (entry,) = commands(engine)
    assert entry.state == "erased" and not (entry.hidden or entry.turns or entry.turn)
    assert engine.undo_log.undo(entry) is None
    assert engine.upkeep.erase_due() == 0
    assert [turn.id for turn in Look(engine.store).turns()] == []


def test_undo_log_end_of_a_session_erases_what_is_due(engine, home):
    first, reply = talk(engine, f"a {WORD} lives here", "nice")
    hide(engine, first, reply)
    for seconds, left in ((0.0, True), (UNDO_S, False)):
        home.clock.advance(seconds)
        engine.append(
            SessionEdge(session="s", scope="anna", kind="end", at=engine.clock(), reason="close")
        )
        engine.flush(indexed=True)
        assert bool(residue(home.path, WORD)) is left


CRASH = """
import os, sys
from tests.support import engine_talks as t
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.store.care import copies
from slowcat_memory.testing import FixedClock, memory_config
clock = FixedClock()
engine = MemoryEngine(memory_config(sys.argv[1]), clock=clock)
first, reply = t.talk(engine, f"a {t.WORD} lives here", "nice")
t.hide(engine, first, reply)
if sys.argv[2] == "erasing":  # rows are gone, their bytes are not
    clock.advance(t.UNDO_S)
    copies.erase = lambda *_: os._exit(9)
    engine.upkeep.erase_due()
os._exit(9)
"""


@pytest.mark.parametrize("moment", ["hidden", "erasing"])
def test_undo_log_crash_leaves_no_forgetting_half_done(home, moment):
    printed_by(CRASH, home.path, moment, ends=9)
    assert residue(home.path, WORD), "the crash came before the bytes were gone"
    engine = home.open()
    assert found(engine, WORD) == []
    engine.close()
    home.clock.advance(3600)
    engine = home.open()
    engine.flush(indexed=True)
    assert residue(home.path, WORD) == []
    assert [entry.state for entry in commands(engine)] == ["erased"]


def test_undo_log_question_changes_nothing_until_it_is_answered(engine, home):
    first, _ = talk(engine, f"a {WORD} lives here", "nice")
    asked = engine.undo_log.hide("forget_about", "anna", [f"chunk/{first}"], [first], 0, None)
    home.clock.advance(86400)
    assert engine.upkeep.erase_due() == 0 and found(engine, WORD)
    assert engine.undo_log.undo(asked).state == "undone"
    assert found(engine, WORD)
    assert engine.undo_log.confirm(asked, UNDO_S).state == "done"
    assert found(engine, WORD) == []


def test_undo_log_export_leaves_out_what_is_to_be_forgotten_and_keeps_asides_apart(
    engine, tmp_path
):
    first, reply, *_ = talk(engine, f"a {WORD} lives here", "nice", "and a cat", "oh")
    hide(engine, first, reply)
    engine.append(turn_at("forget that", NOW, aside=True))
    engine.store.flush(None)
    rows = [(row["text"], row.get("aside", False)) for row in export(engine.store.snapshot)]
    assert rows == [("and a cat", False), ("oh", False), ("forget that", True)]
    path = tmp_path / "export.jsonl"
    path.write_text(json.dumps({"text": "forget that", "aside": True}))
    [reading] = FileReadings(path, Options(), print, print)
    ((said,),) = [s.utterances for t in reading.transcripts() for s in t.sessions]
    assert said.aside


def test_undo_log_two_processes_at_once_write_two_rows(engine):
    logs = [engine.undo_log, copy(engine.undo_log)]
    logs[1]._lock = threading.Lock()  # as in a process of its own
    ids = talk(engine, *(f"sentence {n}" for n in range(10)))
    with ThreadPoolExecutor(len(logs)) as threads:
        asked = [
            threads.submit(logs[n % 2].hide, "forget_about", "anna", (), (id_,), 0, None)
            for n, id_ in enumerate(ids)
        ]
    assert sorted(one.result().id for one in asked) == list(range(1, len(ids) + 1))
