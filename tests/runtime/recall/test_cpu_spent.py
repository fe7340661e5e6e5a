"""A recall spends the processor time that it waits for, and no other thread spins meanwhile."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config
from tests.support.said import turn_at

MOST = 1.3  # processor time of all threads over that of the thread that recalls
WORDS = "dog tea train Lisbon garden beer May concert yellow scooter violin soup".split()
RECALLS = 40


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryEngine]:
    """Memories enough that products of matrices would be shared among threads."""
    recall = {"floor": 0.0, "keep_share": 0.0}
    config = memory_config(tmp_path_factory.mktemp("cpu") / "memory", recall=recall)
    made = MemoryEngine(config, clock=FixedClock(), embedder=HashEmbedder(384, token_dim=96))
    made.prepare("anna")
    made.append(*(turn_at(said(n), made.clock()) for n in range(250)))
    made.flush(indexed=True)
    yield made
    made.close()


def said(n: int) -> str:
    words = [WORDS[(n * step + step) % len(WORDS)] for step in (1, 2, 3, 5, 7, 11)]
    return f"Number {n} is about the {' and the '.join(words)}"


def recalls(engine: MemoryEngine) -> None:
    for n in range(RECALLS):
        query = Query(text=said(n), scope="anna", now=engine.clock())
        assert engine.retrieval.answer(query).stage == "full"


def spent(engine: MemoryEngine) -> float:
    """Return the processor time of all threads during recalls, over that of who recalls."""
    every, own = time.process_time(), time.thread_time()
    recalls(engine)
    return (time.process_time() - every) / (time.thread_time() - own)


def test_cpu_spent_no_other_thread_works_while_one_recalls(engine):
    recalls(engine)  # what is compiled or loaded once
    assert spent(engine) <= MOST


def test_cpu_spent_a_spinning_thread_is_caught(engine):
    """The control of the test above."""
    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            sum(range(1000))

    spinning = threading.Thread(target=spin)
    spinning.start()
    try:
        assert spent(engine) > MOST
    finally:
        stop.set()
        spinning.join()


def test_cpu_spent_the_applications_thread_settings_stay(home):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    before = {pool["filepath"]: pool["num_threads"] for pool in threadpoolctl.threadpool_info()}
    engine = home.open(HashEmbedder(384))
    home.talk(engine, said(1))
    asyncio.run(engine.recall(said(1), "anna"))
    engine.search(said(1), "anna")
    engine.close()
    after = {pool["filepath"]: pool["num_threads"] for pool in threadpoolctl.threadpool_info()}
    assert {path: after[path] for path in before} == before
