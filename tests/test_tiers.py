"""The engine ages what was said: after a silence, when asked, and never while somebody speaks."""

import asyncio

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget, Turn
from slowcat_memory.store import blocks
from slowcat_memory.testing import FixedClock, HashEmbedder
from slowcat_memory.transfer.formats.rows import export
from tests.support.engine_home import Home
from tests.support.said import turn_at

UNPACK = blocks.unpack
SMALL = {"warm": 30, "block_exchanges": 4}
THINGS = ("cello", "kayak", "tent", "piano", "lamp", "sofa", "fence", "camera", "radio", "oven")


def opened(home: Home) -> MemoryEngine:
    return home.open(HashEmbedder(), memory={"hot_cache_size": 20}, tiers=SMALL)


def said(n: int, scope: str = "anna") -> Turn:
    text = f"The {THINGS[n % 10]} number {n} broke and it cost {n * 7} euros."
    clock = FixedClock()
    clock.advance(60 * n)
    return turn_at(text, clock(), session=f"{scope}{n // 25}", scope=scope)


def talk(engine: MemoryEngine, count: int = 260, scope: str = "anna") -> None:
    engine.append(*(said(n, scope) for n in range(count))).wait()
    engine.flush(indexed=True)


def found(engine: MemoryEngine, n: int, scope: str = "anna") -> str:
    hits = engine.search(f"what did the {THINGS[n % 10]} number {n} cost", scope, 1).hits
    return hits[0].memory.text if hits else ""


def tiers(engine: MemoryEngine) -> dict[str, int]:
    return {name: held["memories"] for name, held in engine.upkeep.stats()["tiers"].items()}


def test_tiers_a_memory_is_found_in_every_tier(home):
    engine = opened(home)
    talk(engine)
    before = {n: found(engine, n) for n in range(0, 260, 13)}
    assert all(before[n] == said(n).text for n in before)
    assert engine.upkeep.age("anna")
    assert tiers(engine)["cold"] > 180 and tiers(engine)["hot"] <= 30
    assert {n: found(engine, n) for n in before} == before
    engine.close()
    again = opened(home)
    assert {n: found(again, n) for n in before} == before, "an index made anew from blocks"
    with again.store.snapshot() as snapshot:
        assert [t.text for t in snapshot.turns("anna")] == [said(n).text for n in range(260)]


def test_tiers_a_turn_is_answered_in_full_from_cold_memories(home, monkeypatch):
    engine, unpacked = opened(home), list[bytes]()
    talk(engine)
    engine.upkeep.age("anna")
    engine.namespaces.get("anna").reseal()  # so that opening reads none of them
    engine.close()
    monkeypatch.setattr(
        blocks, "unpack", lambda head, packed: unpacked.append(packed) or UNPACK(head, packed)
    )
    again = opened(home)
    again.prepare("anna")
    for n in range(0, 130, 13):
        asked = f"what did the {THINGS[n % 10]} number {n} cost"
        recalled = asyncio.run(again.recall(asked, "anna"))
        assert recalled.stage == "full" and said(n).text in [h.memory.text for h in recalled.hits]
    assert unpacked and len(set(unpacked)) == len(unpacked), "a block was unpacked twice"


def exported(engine: MemoryEngine) -> list[dict]:
    return list(export(engine.store.snapshot, "anna"))


def test_tiers_export_and_forget_reach_into_blocks(home):
    engine = opened(home)
    talk(engine)
    engine.upkeep.age("anna")
    lines = exported(engine)
    assert len(lines) == 260
    ids = [hit.memory.sources[0] for hit in engine.search("kayak number 41", "anna", 1).hits]
    assert engine.forget(Forget(turns=tuple(ids))).erased
    assert found(engine, 41) != said(41).text
    assert found(engine, 51) == said(51).text
    assert exported(engine) == [line for line in lines if "number 41 " not in line["text"]]
