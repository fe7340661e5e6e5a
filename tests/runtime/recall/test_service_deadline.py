"""Never in the way: whatever is slow or stuck, a turn goes on with the best that is there."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import StoreError
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config
from tests.support.engine_home import Gate, GatedEmbedder, busy, held
from tests.support.processors import logged
from tests.support.said import turn_at

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)
OLD, LATE = "My dog Max likes the sea", "My dog Max likes the snow"
ASKED = "what does my dog like"
STUCK_S = 20.0  # far beyond any deadline here: who waits for it fails


@pytest.fixture
def embedder() -> GatedEmbedder:
    return GatedEmbedder("slowcat-recall")


def opened(path: Path, embedder: HashEmbedder) -> MemoryEngine:
    config = memory_config(
        path,
        memory={"hot_cache_size": 1},
        # What is not stuck has time enough on any machine; what is stuck never ends.
        recall={"deadline_ms": 300.0, "settle_ms": 300.0, "floor": 0.0, "keep_share": 0.0},
    )
    made = MemoryEngine(config, clock=FixedClock(NOW), embedder=embedder)
    made.prepare("anna")
    return made


def say(engine: MemoryEngine, days: int, text: str) -> None:
    engine.append(turn_at(text, NOW - timedelta(days=days), session=f"s{days}"))
    engine.flush(indexed=True)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one memory in its sealed index, which takes a child process to make."""
    path = tmp_path_factory.mktemp("deadline") / "memory"
    made = opened(path, HashEmbedder(512))
    say(made, 9, OLD)
    made.upkeep.seal("anna")
    made.close()
    return path


@pytest.fixture
def engine(tmp_path: Path, sealed: Path, embedder: GatedEmbedder) -> Iterator[MemoryEngine]:
    """One old memory in the sealed index, one in the tail whose text is at hand."""
    shutil.copytree(sealed, tmp_path / "memory")
    made = opened(tmp_path / "memory", embedder)
    say(made, 1, LATE)
    made.store.flush(None)
    yield made
    embedder.gate.set()
    made.close()


def stuck_index(engine: MemoryEngine) -> AbstractContextManager[None]:
    """Somebody holds the index's lock."""

    def hold(gate: Gate) -> None:
        with engine.namespaces.get("anna").searcher._lock:
            gate()

    return held(hold)


@contextmanager
def stuck_store(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever reads the store waits."""
    gate = Gate(engine.store.snapshot)
    with monkeypatch.context() as patch:
        patch.setattr(engine.store, "snapshot", gate)
        try:
            yield
        finally:
            gate.open.set()
            for pool in (engine.indexer.talk, engine.indexer.late):
                pool.submit(lambda: None).result(STUCK_S)


def recall(engine: MemoryEngine) -> tuple[str, set[str]]:
    found: Recollection = asyncio.run(engine.recall(ASKED, "anna"))
    assert engine.metrics.counts()[f"recall_{found.stage}"] == 1
    return found.stage, {hit.memory.text for hit in found.hits}


def test_service_deadline_deadline_a_slow_embedder_costs_the_vectors(engine, embedder):
    embedder.gate.clear()
    assert recall(engine) == ("lexical", {OLD, LATE})


def test_service_deadline_deadline_a_worker_that_is_stuck_costs_what_is_sealed(engine):
    with busy(engine):
        assert recall(engine) == ("tail", {LATE})


def test_service_deadline_deadline_a_slow_store_costs_what_is_not_at_hand(
    engine, embedder, monkeypatch
):
    with stuck_store(engine, monkeypatch):
        assert recall(engine) == ("tail", {LATE})


def test_service_deadline_deadline_a_stuck_index_costs_the_memories_and_never_the_turn(engine):
    with stuck_index(engine):
        assert recall(engine) == ("none", set())


async def test_service_deadline_deadline_the_event_loop_goes_on_while_a_turn_is_out_of_time(engine):
    with stuck_index(engine):
        ticks, turn = 0, asyncio.create_task(engine.recall(ASKED, "anna"))
        while not turn.done():
            await asyncio.sleep(0.01)
            ticks += 1
    assert ticks > 5


def test_service_deadline_deadline_one_turn_out_of_time_does_not_cost_the_next_its_memories(engine):
    with stuck_index(engine):
        assert recall(engine) == ("none", set())
    engine.flush(indexed=True)
    assert recall(engine) == ("full", {OLD, LATE})


def test_service_deadline_a_scope_that_cannot_be_loaded_is_reported(engine, monkeypatch):
    monkeypatch.setattr(engine.namespaces, "_load", Mock(side_effect=StoreError("no disk")))
    with logged("WARNING") as lines:
        asyncio.run(engine.recall(ASKED, "ben"))
        engine.indexer.catch_up()
    assert "no disk" in str(lines)
