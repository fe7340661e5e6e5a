"""Every recall keeps idle work away while it runs and for the grace after it, whatever the door."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.background import BackgroundEngine
from slowcat_memory.engine.idle import IdleWork, job_parts
from slowcat_memory.engine.search import build_query, recall_before
from slowcat_memory.idle.job import JobContext, NoOptions, Plan, Trigger
from slowcat_memory.records import Task, WriteBatch
from slowcat_memory.runtime.recall.query import Query
from tests.support.engine_home import GatedEmbedder, Home
from tests.support.memories import Look

WAIT_S = 20.0
ASKED = "What is my dog called?"


@pytest.fixture
def embedder() -> GatedEmbedder:
    """It notes whether the idle gate is closed meanwhile."""
    return GatedEmbedder("")


@pytest.fixture
def engine(home: Home, embedder: GatedEmbedder) -> Iterator[MemoryEngine]:
    """An engine whose idle work may begin at once."""
    made = home.open(embedder, idle={"enabled": False, "grace_s": 0.0})
    home.talk(made, "My dog is called Max", "I live in Lisbon", ASKED)
    embedder.note = lambda text: made.idle.gate.opens_in() > 0
    yield made
    embedder.gate.set()


def ahead(engine: MemoryEngine) -> None:
    async def scenario() -> None:
        prefetch = engine.prefetch(lambda text: build_query(engine.clock, text, "anna"))
        prefetch.hear(ASKED, whole=True)
        await asyncio.to_thread(engine.wiring.indexer.ahead.submit(lambda: None).result)
        prefetch.drop()

    asyncio.run(scenario())


def supervised(engine: MemoryEngine) -> None:
    memory = BackgroundEngine(engine.config)
    memory.engine = engine
    asyncio.run(memory.recall(ASKED, "anna"))


def replayed(engine: MemoryEngine) -> None:
    turn = Look(engine).turns("anna")[-1]
    recall_before(engine, turn, Query(text=ASKED, scope="anna", now=engine.clock()))


DOORS: dict[str, Callable[[MemoryEngine], Any]] = {
    "recall": lambda engine: asyncio.run(engine.recall(ASKED, "anna")),
    "recall of a supervised memory": supervised,
    "recall ahead": ahead,
    "search": lambda engine: engine.search(ASKED, "anna"),
    "search with a filter": lambda engine: engine.search(ASKED, "anna", speaker="Anna"),
    "search of a kind": lambda engine: engine.search(ASKED, "anna", kinds=("note",)),
    "prepare": lambda engine: engine.prepare("anna"),
    "a turn recalled again": replayed,
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_idle_gives_way_the_gate_is_closed_while_anything_is_recalled(engine, embedder, door):
    gate = engine.idle.gate
    closed: list[None] = []
    gate.on_close(lambda: closed.append(None))
    assert gate.opens_in() == 0
    engine.upkeep.drop_queries()
    engine.flush(indexed=True)
    embedder.asked.clear()
    door(engine)
    engine.flush(indexed=True)
    assert closed, "idle work was not interrupted"
    assert embedder.asked and all(embedder.asked), "idle work could run beside it"
    assert gate.opens_in() == 0, "it stayed closed"


class Reading:
    """A job whose plan reads the whole log until somebody stops it."""

    name, version, needs, trigger, Options = "reading", 1, "nothing", Trigger(every_s=1), NoOptions

    def __init__(self) -> None:
        self.forever, self.reads = True, 0
        self.reading, self.stopped, self.finished = (threading.Event() for _ in range(3))

    def plan(self, context: JobContext) -> Plan | None:
        try:
            while True:
                with context.snapshot() as snapshot:
                    list(snapshot.turns())
                self.reads += 1
                self.reading.set()
                if not self.forever:
                    self.finished.set()
                    return None
        except asyncio.CancelledError:
            self.stopped.set()
            raise

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        raise AssertionError("it has no task")


async def test_idle_gives_way_nothing_progresses_during_a_recall_and_it_goes_on_after_the_grace(
    engine, embedder
):
    job, waiting = Reading(), threading.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.sleep(0.001)

    idle = IdleWork(
        job_parts(engine.wiring, engine.upkeep, None), engine.config.idle, engine.config.thinking,
        engine.metrics, engine.wiring.indexer.take, [job], gate=engine.wiring.gate, sleep=sleep,
    )  # fmt: skip

    idle.start()
    try:
        assert await asyncio.to_thread(job.reading.wait, WAIT_S)
        embedder.gate.clear()
        embedder.reached.clear()
        turn = asyncio.create_task(engine.recall("Where do I live?", "anna"))
        await asyncio.to_thread(embedder.reached.wait, WAIT_S)
        assert await asyncio.to_thread(job.stopped.wait, WAIT_S), "it went on beside the recall"
        waiting.clear()
        reads = job.reads
        for _ in range(3):  # the idle thread has looked at the gate that often
            assert await asyncio.to_thread(waiting.wait, WAIT_S)
            waiting.clear()
        assert job.reads == reads
        job.forever = False
        embedder.gate.set()
        assert (await turn).hits
        assert await asyncio.to_thread(job.finished.wait, WAIT_S) and job.reads > reads
    finally:
        idle.stop()
