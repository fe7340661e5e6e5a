"""Opening a namespace reads no more for a larger store, and the rest follows behind it."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from datetime import timedelta
from operator import methodcaller
from pathlib import Path

import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import FACT, chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Memory, Statement, WriteBatch
from slowcat_memory.runtime.namespaces import indexer as indexing
from slowcat_memory.runtime.namespaces.indexer import SLICE
from slowcat_memory.runtime.namespaces.known_facts import KnownFacts
from slowcat_memory.runtime.namespaces.live_index import LiveIndex
from slowcat_memory.runtime.namespaces.registry import Namespace
from slowcat_memory.store.disk.transaction import Rows
from slowcat_memory.store.snapshot import Snapshot
from slowcat_memory.testing import FixedClock
from tests.support.engine_home import Gate, Home, busy
from tests.support.namespace_scene import Scene, note
from tests.support.said import turn_at, until


@pytest.fixture
def opened(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Namespace]:
    """Open the scene's namespace as a fresh process does, and do nothing more."""

    def load() -> Namespace:
        with monkeypatch.context() as patch:
            patch.setattr(Namespace, "finish_opening", lambda self: None)
            return scene.load()

    return load


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tables of all records that are read."""
    found, decode, event = list[str](), Rows.undamaged, Snapshot._event

    def counted(self: Rows, how: object, table: str, *rest: object) -> object:
        found.append(table)
        return decode(self, how, table, *rest)  # type: ignore[arg-type]

    def counted_event(self: Snapshot, key: bytes) -> object:
        found.append("log")
        return event(self, key)

    monkeypatch.setattr(Rows, "undamaged", counted)
    monkeypatch.setattr(Snapshot, "_event", counted_event)
    return found


def _grow(scene: Scene, turns: int) -> None:
    begin = scene.store.last_id()
    for n in range(begin, begin + turns):
        said = scene.say(f"I like word{n}", f"s{n}")
        fact = note(f"{FACT}/{said.id}", f"Anna likes word{n}", kind=FACT, sources=(said.id,))
        scene.store.apply("test", WriteBatch(memories=(fact,))).wait()
    scene.store.flush()
    scene.namespace.reseal()


def test_opening_reads_no_more_records_of_a_store_with_more_sessions_and_facts(
    scene, opened, reads
):
    counts = []
    for _ in range(2):
        _grow(scene, 40)
        scene.say("one more turn in the tail", f"tail{len(counts)}")
        scene.store.flush()
        reads.clear()
        namespace = opened()
        namespace.searcher.lexical("word3 turn")
        counts.append(len(reads))
    assert counts[0] == counts[1]


def test_the_latest_texts_are_in_memory_once_the_opening_is_finished(scene, opened):
    turns = scene.talk(8)
    namespace = opened()
    assert not namespace.recent([chunk_id(turn.id) for turn in turns])
    later = scene.say("said after the opening")
    scene.store.flush(30)  # a saved turn that is not in the store was forgotten
    namespace.add_turn(later)
    Namespace.finish_opening(namespace)
    kept = namespace.recent([chunk_id(turn.id) for turn in (*turns, later)])
    assert list(kept) == [chunk_id(turn.id) for turn in (*turns[-4:], later)]


def test_local_only_marks_of_a_sealed_index_are_those_in_the_store(scene, opened):
    def shown(namespace: Namespace) -> set[str]:
        searcher = namespace.searcher
        return set(searcher.candidates(searcher.lexical("secret"), local=False).ids)

    hidden, other = note("note/1", "a secret", local_only=True), note("note/2", "no secret")
    for one in (hidden, other):
        scene.put(one)
    scene.namespace.reseal()
    assert shown(opened()) == {"note/2"}
    marks = WriteBatch(marks=(("anna", "note/1", False), ("anna", "note/2", True)))
    scene.store.apply("test", marks).wait()
    scene.put(note("note/3", "another secret", local_only=True))
    assert shown(opened()) == {"note/1"}


def test_a_fact_that_comes_while_the_stored_ones_are_read_is_kept_in_its_order():
    now = FixedClock()()

    def lives_in(home: str, turn: int) -> Memory:
        stated = Statement(subject="Anna", predicate="lives_in", object=home)
        made = {"kind": FACT, "sources": (turn,), "statement": stated, "valid_from": now}
        return note(f"{FACT}/{turn}", f"Anna lives in {home}", **made)

    old, new = lives_in("Lisbon", 1), lives_in("Porto", 2)
    ended = replace(old, valid_to=now + timedelta(days=1))
    later = now + timedelta(days=2)
    facts = KnownFacts("english")
    for fact in (ended, new):
        facts.change(methodcaller("put", fact))
    assert facts.endings("chunk/1", later) == ()  # not read yet
    facts.read([old], (), nullcontext())
    (ending,) = facts.endings("chunk/1", later)
    assert ending.until == ended.valid_to
    facts.change(methodcaller("drop", ended.id))
    assert facts.endings("chunk/1", later) == ()


# ------------------------------------------------------------------- one person beside another


def _recalled(engine: MemoryEngine, scope: str) -> list[str]:
    found = asyncio.run(engine.recall("Where is the boat?", scope, now=engine.clock()))
    return [hit.memory.text for hit in found.hits]


@pytest.fixture
def couple(tmp_path: Path) -> Iterator[MemoryEngine]:
    """An engine in which Anna's index is loaded and Ben's is not."""
    home = Home(tmp_path)
    for scope in ("anna", "ben"):
        with closing(home.open()) as engine:
            engine.append(home.turn(f"The boat of {scope} is in Kiel", scope=scope)).wait(30)
    with closing(home.open(recall={"deadline_ms": 10_000.0})) as engine:
        yield engine


def test_opening_nobody_waits_while_somebody_elses_index_is_loaded(couple, monkeypatch):
    gate, load = Gate(), LiveIndex.load
    monkeypatch.setattr(LiveIndex, "load", lambda *args: (gate(), load(*args))[1])
    assert _recalled(couple, "ben") == []
    assert gate.reached.wait(30)
    couple.append(turn_at("I sold the boat", couple.clock(), session="b", scope="ben"))
    couple.remember("The boat needs paint", "anna")
    assert set(_recalled(couple, "anna")) == {"The boat of anna is in Kiel", "The boat needs paint"}
    gate.open.set()
    couple.indexer.catch_up()
    assert set(_recalled(couple, "ben")) == {"The boat of ben is in Kiel", "I sold the boat"}


def test_opening_turns_that_come_at_its_end_have_their_neighbours_as_after_a_restart(
    couple, monkeypatch
) -> None:
    gate, load, indexer = Gate(), LiveIndex.load, couple.indexer
    monkeypatch.setattr(LiveIndex, "load", lambda *args: (load(*args), gate())[0])

    def say(text: str) -> None:
        couple.append(turn_at(text, couple.clock(), session="b", scope="ben"))
        indexer.release()

    def scores() -> list[tuple[str, float]]:
        couple.flush(indexed=True)
        found = couple.search("Who painted the boat red?", "ben").hits
        return [(hit.memory.text, round(hit.score, 5)) for hit in found]

    say("I sold the boat")
    assert gate.reached.wait(30)
    say("It needed paint")
    with busy(couple):
        say("Red was the best")
        gate.open.set()
        assert until(lambda: couple.namespaces.loaded("ben"))
    found = scores()
    indexer.reload("ben")
    assert len(found) == 4
    assert found == scores()


def test_opening_an_index_that_nobody_uses_is_dropped_and_loaded_again(couple):
    couple.flush(indexed=True)  # nothing is dropped while turns wait to be saved
    namespaces = couple.namespaces
    unused = weakref.ref(namespaces.get("ben").searcher)
    namespaces.drop_unused(after_s=0.0, kept=2)
    assert unused() is not None
    namespaces.get("anna")
    namespaces.drop_unused(after_s=0.0, kept=1)
    assert [one.scope for one in namespaces] == ["anna"]
    assert until(lambda: gc.collect() >= 0 and unused() is None)  # once its threads have ended
    assert _recalled(couple, "ben") == []
    couple.indexer.catch_up()
    assert _recalled(couple, "ben") == ["The boat of ben is in Kiel"]


def test_opening_turns_that_two_threads_release_keep_their_order(couple, monkeypatch):
    acks = couple.store.append_all([turn_at(text, couple.clock()) for text in ("I row", "I sail")])
    release, indexed = couple.indexer.release, list[int]()
    other = threading.Thread(target=release)

    def beside(id_: int) -> str:
        if other.ident is None:
            other.start()
            other.join(0.1)
        return chunk_id(id_)

    monkeypatch.setattr(indexing, "chunk_id", beside)
    monkeypatch.setattr(Namespace, "add_turn", lambda _, turn, ack: indexed.append(turn.id))
    couple.indexer.add(acks)
    release()
    couple.indexer.catch_up()
    assert indexed == [ack.id for ack in acks]


def test_opening_a_flood_of_turns_lets_a_recall_in_between(couple):
    indexer, searcher = couple.indexer, couple.namespaces.get("anna").searcher
    with busy(couple):
        turn = turn_at("I row", couple.clock(), session="f")
        couple.append(*[turn] * 50)
        indexer.release()
        between = indexer.talk.submit(lambda: len(searcher))
    assert between.result(30) == 1 + SLICE
    indexer.catch_up()
    assert len(searcher) == 51
