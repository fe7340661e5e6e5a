"""A recall is one hop away from the event loop, and none when it is short and nothing can hold it."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Turn
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.runtime.recall.waiting import RECENT_S, WINDOW, Pace, ended_within
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config

STUCK_S = 20.0
AT = datetime(2026, 5, 12, 12, tzinfo=UTC)
ASKED = "what is my dog called"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    made = Pace(clock)
    for _ in range(WINDOW):
        made.add(["anna"], 0.5, 0.6)
    return made


# ---------------------------------------------------------------- how long recalls took


def test_waiting_pace_a_few_quick_recalls_let_the_next_one_run_on_the_loop(pace: Pace) -> None:
    assert pace.is_quick(["anna"])


@pytest.mark.parametrize("slow", [(1.1, 1.2), (0.2, 5.0)], ids=["computed", "waited"])
def test_waiting_pace_a_slow_recall_sends_the_next_ones_to_the_worker(
    pace: Pace, slow: tuple[float, float]
) -> None:
    pace.add(["anna"], *slow)
    assert not pace.is_quick(["anna"])
    for _ in range(WINDOW - 1):
        pace.add(["anna"], 0.5, 0.6)
    assert not pace.is_quick(["anna"])
    pace.add(["anna"], 0.5, 0.6)
    assert pace.is_quick(["anna"])


def test_waiting_pace_after_a_pause_the_first_recall_runs_on_the_worker(
    pace: Pace, clock: Clock
) -> None:
    clock.now += RECENT_S + 0.1
    assert not pace.is_quick(["anna"])


def test_waiting_pace_other_scopes_have_a_pace_of_their_own(pace: Pace) -> None:
    assert not pace.is_quick(["anna", "home"]) and not pace.is_quick(["ben"])


# ---------------------------------------------------------------- the wait


def test_waiting_ended_within_what_ends_in_time_is_known_at_once() -> None:
    async def scenario() -> bool:
        future: Future[int] = Future()
        threading.Thread(target=future.set_result, args=(1,)).start()
        return await ended_within(future, STUCK_S * 1e3)

    assert asyncio.run(asyncio.wait_for(scenario(), STUCK_S / 2))


def test_waiting_ended_within_what_does_not_end_is_left_alone() -> None:
    future: Future[int] = Future()
    assert not asyncio.run(ended_within(future, 1.0))
    assert not future.cancelled()
    future.set_result(1)  # the loop it was to wake is closed: nothing is raised


def test_waiting_ended_within_an_exception_is_an_end() -> None:
    future: Future[int] = Future()
    future.set_exception(ValueError())
    assert asyncio.run(ended_within(future, 0.0))


# ---------------------------------------------------------------- in an engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[MemoryEngine]:
    """An engine whose recalls are always quick, however busy this machine is."""
    config = memory_config(tmp_path / "memory", recall={"floor": 0.0, "keep_share": 0.0})
    made = MemoryEngine(config, clock=FixedClock(), embedder=HashEmbedder(512))
    made.prepare("anna")
    for text in ("My dog is called Max", "We flew to Lisbon in May"):
        at = made.clock()
        made.append(Turn(session="s", scope="anna", speaker="Anna", role="user", text=text, at=at))
        made.drain()
    made.wiring.retrieval._pace.is_quick = lambda scopes: True  # type: ignore[method-assign]
    yield made
    made.close()


async def recall(engine: MemoryEngine, **how: object) -> Recollection:
    vector = HashEmbedder(512).encode_query(ASKED)
    return await engine.recall(ASKED, "anna", **{"vector": vector, **how})  # type: ignore[arg-type]


def hops(engine: MemoryEngine, **how: object) -> int:
    """Return how many pieces of work a recall hands to the workers; one more if it waits."""
    submitted: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("talk", "late", "ahead", "back"):
            pool = getattr(engine.wiring.indexer, name)
            submit = pool.submit

            def counted(*work: object, submit=submit, name=name) -> object:
                submitted.append(name)
                return submit(*work)

            patch.setattr(pool, "submit", counted)
        found = asyncio.run(recall(engine, **how))
    assert found.stage == "full" and found.hits[0].memory.text == "My dog is called Max"
    return len(submitted)


def test_waiting_recall_with_the_vector_at_hand_needs_no_other_thread(engine: MemoryEngine) -> None:
    assert hops(engine) == 0
    assert engine.metrics.counts()["recall_on_loop"] == 1


def test_waiting_recall_with_the_vector_at_hand_does_not_suspend(engine: MemoryEngine) -> None:
    with pytest.raises(StopIteration):
        recall(engine).send(None)


@pytest.mark.parametrize(
    "how",
    [{"vector": None}, {"dialogue": [DialogueTurn(text="My dog barks", at=AT)]}],
    ids=["the query", "a turn before it"],
)
def test_waiting_recall_what_is_to_be_embedded_is_one_hop(engine: MemoryEngine, how: dict) -> None:
    assert hops(engine, **how) == 1


@contextmanager
def held(lock: AbstractContextManager) -> Iterator[None]:
    """Hold a lock on another thread."""
    holds, release = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            holds.set()
            release.wait(STUCK_S)

    thread = threading.Thread(target=hold)
    thread.start()
    assert holds.wait(STUCK_S)
    try:
        yield
    finally:
        release.set()
        thread.join()


HELD = {
    "its index": lambda engine: engine.wiring.namespaces.get("anna").searcher.lock,
    "its namespace": lambda engine: engine.wiring.namespaces.get("anna")._lock,
    "the store": lambda engine: engine.store._env._gate.closed(STUCK_S),
}


@pytest.mark.parametrize("what", HELD.values(), ids=HELD)
def test_waiting_recall_the_event_loop_goes_on_while_another_thread_holds_what_it_needs(
    engine: MemoryEngine, what
) -> None:
    async def scenario() -> Recollection:
        turn = asyncio.create_task(recall(engine))
        with held(what(engine)):
            for _ in range(5):
                await asyncio.sleep(0)
            assert "recall_on_loop" not in engine.metrics.counts()
        return await turn

    assert asyncio.run(scenario()).hits


def test_waiting_recall_what_is_to_be_indexed_before_it_is_waited_for(engine: MemoryEngine) -> None:
    async def scenario() -> Recollection:
        gate = threading.Event()
        engine.wiring.indexer.talk.submit(gate.wait, STUCK_S)
        turn = asyncio.create_task(recall(engine))
        await asyncio.sleep(0)
        assert not turn.done()
        gate.set()
        return await turn

    assert asyncio.run(scenario()).hits
    assert "recall_on_loop" not in engine.metrics.counts()
