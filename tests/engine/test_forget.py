import threading
from functools import partial
from typing import Any

import pytest

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.errors import IndexDamagedError
from slowcat_memory.index.generation import Build
from slowcat_memory.records import Forget
from slowcat_memory.store.care import copy
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import SECRET, TALK, first, texts
from tests.support.memories import residue


def test_forget_what_is_forgotten_is_gone_from_everywhere(home):
    engine = home.open(HashEmbedder())
    home.talk(engine)
    (secret,) = home.talk(engine, SECRET)
    engine.upkeep.tidy("anna")
    home.talk(engine, "something else")
    assert residue(home.path, "swordfish")
    assert first(engine, "swordfish") == SECRET
    gone = engine.forget(Forget(turns=(secret,)))
    assert gone.erased and gone.turns == (secret,)
    assert SECRET not in texts(engine.search("the secret word swordfish", "anna"))
    assert not residue(home.path, "swordfish")
    assert first(engine, "dog") == TALK[0]
    engine.upkeep.seal("anna")
    assert not residue(home.path, "swordfish")
    engine.close()
    engine = home.open(HashEmbedder())
    assert SECRET not in texts(engine.search("the secret word swordfish", "anna"))
    assert len(engine.wiring.namespaces.get("anna").searcher) == 6


def test_forget_it_is_out_of_mind_before_its_bytes_are_erased(home, monkeypatch):
    """Erasing takes a second per GB; nobody may recall what is being erased."""
    engine, seen, rewrite = home.open(), [], copy.rewrite
    (secret,) = home.talk(engine, SECRET)
    home.talk(engine)

    def slow(*args: Any) -> bool:
        seen.append(texts(engine.search("swordfish", "anna")))
        return rewrite(*args)

    monkeypatch.setattr(copy, "rewrite", slow)
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
    assert len(engine.wiring.namespaces.get("anna").searcher) == 5
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
    building = engine.wiring.namespaces.get("anna")
    while building._build._child is None:
        pass
    if replaced:
        engine.wiring.indexer.reload("anna")
    assert engine.forget(Forget(turns=(secret,))).erased
    sealing.join(20)
    assert not sealing.is_alive() and not building.recent([chunk_id(secret)])
    assert not residue(home.path, "swordfish")


def test_forget_the_indexes_of_other_namespaces_stay_in_use(home, engine):
    (secret,) = home.talk(engine, SECRET)
    engine.append(home.turn(TALK[0], scope="bob"))
    engine.upkeep.seal("bob")
    assert engine.forget(Forget(turns=(secret,))).erased
    engine.close()
    engine = home.open()
    engine.prepare("bob")
    assert engine.upkeep.stats()["index"]["bob"]["sealed"] == 1
