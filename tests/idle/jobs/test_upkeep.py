"""The jobs that keep house, in an engine whose clock only the tests move."""

from collections.abc import Callable

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.idle.jobs.session_log import cursor_of, touched
from slowcat_memory.records import SessionEdge, WriteBatch
from slowcat_memory.testing import HashEmbedder
from tests.support.memories import Look, ids, residue
from tests.support.said import turn

PLACES = ("Lisbon", "Oslo", "Porto", "Turin", "Ghent", "Malmo", "Graz", "Bergen")
Open = Callable[..., MemoryEngine]


def talk(engine: MemoryEngine, n: int, scope: str = "anna") -> None:
    for i in range(n):
        text = f"Number {i}: I once lived in {PLACES[i % len(PLACES)]}."
        engine.append(turn(text, id=0, session=f"{scope}/s", scope=scope, at=engine.clock()))
    engine.flush(indexed=True)


def cosines(engine: MemoryEngine) -> list[float | None]:
    return [hit.cosine for hit in engine.search("Who lived in Oslo?", "anna", 5).hits]


# ------------------------------------------------------------------- seal


def test_upkeep_an_index_is_built_once_enough_was_said(opened: Open) -> None:
    engine = opened(index={"seal_at": 20, "seal_share": 0.0})
    talk(engine, 10)
    assert engine.idle.until_done(["seal"]) == 0
    assert engine.namespaces.get("anna").searcher.sealed_count == 0
    talk(engine, 30)
    assert engine.idle.until_done(["seal"]) == 0
    assert engine.namespaces.get("anna").searcher.sealed_count == 40
    assert engine.search("Oslo", "anna").hits


def test_upkeep_an_index_that_nobody_has_loaded_is_built_too(opened: Open) -> None:
    sections = {"index": {"seal_at": 20, "seal_share": 0.0}}
    talk(opened(**sections), 30)
    engine = opened(**sections)
    assert engine.upkeep.seal_due("anna") and engine.upkeep.stats()["index"] == {}
    engine.idle.until_done(["seal"])
    assert not engine.upkeep.seal_due("anna")
    assert engine.namespaces.get("anna").searcher.sealed_count == 30


def test_upkeep_guests_have_no_index(opened: Open) -> None:
    engine = opened(index={"seal_at": 5, "seal_share": 0.0}, people={"scopes": "each"})
    talk(engine, 20, "guest")
    engine.idle.until_done()
    assert Look(engine.store).manifest("guest") is None and not engine.upkeep.seal_due("guest")


# ------------------------------------------------------------------- ageing


# ------------------------------------------------------------------- another model


def vectors(engine: MemoryEngine, key: str) -> set[str]:
    return {vector.memory for vector in Look(engine.store).vectors(key, "anna")}


def test_upkeep_an_index_is_built_anew_for_another_model(opened: Open) -> None:
    engine = opened(embedder=HashEmbedder(name="a"))
    talk(engine, 40)
    engine.upkeep.seal("anna")
    assert all(cosines(engine))

    engine = opened(embedder=HashEmbedder(name="b"))
    assert cosines(engine) and not any(cosines(engine)), "words answer, old vectors do not"
    engine.prepare("anna")
    engine.flush(indexed=True)
    assert len(vectors(engine, "b/64")) == 40 and all(cosines(engine))
    engine.idle.until_done(["seal"])
    manifest = Look(engine.store).manifest("anna")
    assert manifest is not None and manifest.embedder == "b/64"
    assert not engine.upkeep.seal_due("anna")


# ------------------------------------------------------------------- erase, retention


def test_upkeep_what_was_ordered_away_is_erased_once_it_cannot_be_undone(opened, clock):
    engine = opened()
    talk(engine, 3)
    said = Look(engine).turns("anna")[0]
    engine.undo_log.hide("anna", "forget", (f"chunk/{said.id}",), (said.id,), 0, 300.0)
    engine.idle.until_done(["erase"])
    assert len(_said(engine)) == 3, "it can be undone still"
    clock.advance(301)
    engine.idle.until_done(["erase"])
    assert len(_said(engine)) == 2
    assert residue(engine.config.folder, said.text) == []


def test_upkeep_old_turns_go_when_that_is_wished_but_for_what_a_person_kept(opened, clock):
    engine = opened(retention={"raw_days": 90})
    talk(engine, 3)
    kept = Look(engine).turns("anna")[0].id
    engine.edit("anna", f"chunk/{kept}", pinned=True)
    engine.remember("Anna likes tea.", "anna")
    clock.advance(3600 * 24 * 89)
    talk(engine, 1)
    engine.idle.until_done(["erase"])
    assert len(_said(engine)) == 4
    clock.advance(3600 * 24 * 2)
    engine.idle.until_done(["erase"])
    left = ids(Look(engine.store).turns("anna"))
    assert len(left) == 2 and left[0] == kept
    assert engine.search("tea", "anna").hits and not engine.upkeep.expired()


def test_upkeep_where_nothing_is_thought_the_end_of_a_session_erases(opened, clock):
    engine = opened(people={"scopes": "each"})
    talk(engine, 2, "guest")
    clock.advance(3600 * 25)
    engine.append(SessionEdge(session="anna/s", scope="anna", kind="end", at=clock()))
    engine.flush(indexed=True)
    assert _said(engine, "guest") == []


def _said(engine: MemoryEngine, scope: str = "anna") -> list[str]:
    return [turn.text for turn in Look(engine.store).turns(scope)]


# ------------------------------------------------------------------- what is at rest is not read


def test_upkeep_only_what_changed_is_looked_at(opened: Open) -> None:
    engine, both = opened(embedder=HashEmbedder()), ["anna", "ben"]

    def found(by: str = "") -> list[str]:
        with engine.store.snapshot() as snapshot:
            return touched(snapshot, "j", by, both, ignoring=())

    talk(engine, 2)
    talk(engine, 2, "ben")
    assert found() == both
    with engine.store.snapshot() as snapshot:
        cursor = cursor_of("j", snapshot)
    engine.store.apply("j", WriteBatch(cursor=cursor)).wait(None)
    assert found() == [] and found("another") == both
    engine.remember("Ben likes tea.", "ben")
    assert found() == ["ben"]
    engine.upkeep.seal("ben")  # which prunes what changed before
    assert found() == ["ben"]
    talk(engine, 1)
    assert found() == both
