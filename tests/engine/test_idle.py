"""Idle thinking in an engine: it begins, pauses, tells, gives way to recalls, and ends."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import AsyncMock, Mock
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.background import BackgroundEngine
from slowcat_memory.engine.idle import IdleWork, job_parts
from slowcat_memory.engine.search import build_query, recall_before
from slowcat_memory.errors import StoreError
from slowcat_memory.idle.job import JobContext, NoOptions, Plan, Trigger
from slowcat_memory.idle.scheduler.task_queue import Forecast
from slowcat_memory.providers import Prompt, ThinkingOptions
from slowcat_memory.providers.llm import model_servers
from slowcat_memory.providers.llm.model_servers import find_loaded
from slowcat_memory.providers.llm.server import KNOWN
from slowcat_memory.records import SessionEdge, Task, WriteBatch
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.testing.server import ScriptedServer
from tests.support.engine_home import GatedEmbedder, Home
from tests.support.memories import Look
from tests.support.parroting_llm import parrot
from tests.support.processors import logged
from tests.support.rows import DATA, cases
from tests.support.said import turn_at, until
from tests.support.scripted_server import serving

Open = Callable[..., MemoryEngine]


@pytest.fixture
def opened(home: Home) -> Open:
    """Opens engines whose idle work begins soon."""

    def open_(readonly: bool = False, **sections: Any) -> MemoryEngine:
        idle = {"enabled": True, "grace_s": 0.05, "rest_s": 0.02} | sections.pop("idle", {})
        return home.open(readonly=readonly, idle=idle, **sections)

    return open_


def say(engine: MemoryEngine, n: int = 1) -> None:
    for i in range(n):
        engine.append(turn_at(f"Number {i}: I live in Lisbon.", engine.clock()))
    engine.flush(indexed=True)


def thinking() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "slowcat-idle"]


def test_idle_it_thinks_by_itself_once_nobody_speaks(opened):
    engine = opened(memory={"hot_cache_size": 5}, tiers={"warm": 5, "block_exchanges": 2})
    paused = threading.Event()
    engine.subscribe(on_pause=paused.set)
    say(engine, 40)
    assert until(lambda: engine.upkeep.stats()["tiers"]["hot"]["memories"] < 40)
    assert paused.wait(30) and thinking()
    engine.idle.stop()
    assert thinking() == []


def test_idle_nothing_is_thought_while_somebody_speaks(opened):
    engine = opened(memory={"hot_cache_size": 5}, tiers={"warm": 5}, idle={"grace_s": 30.0})
    say(engine, 40)
    assert engine.idle.gate.opens_in() > 25, "what is said closes the gate"
    assert Look(engine.store).tasks() == [] and Look(engine.store).runs() == []


@pytest.mark.parametrize("sections", [{"idle": {"enabled": False}}, {"readonly": True}])
def test_idle_who_does_not_think_has_no_thread(opened, sections):
    opened().close()
    engine = opened(**sections)
    assert thinking() == []
    if engine.readonly:
        with pytest.raises(StoreError, match="read-only"):
            engine.idle.until_done()
    else:
        say(engine)
        assert engine.idle.until_done() == 0
        assert thinking() == [], "it thought while it was told to"


def test_idle_without_an_llm_the_log_says_once_how_to_have_one(opened):
    with logged() as lines:
        engine = opened()
        say(engine, 5)
        engine.idle.until_done()
    assert len([line for line in lines if "[idle_llm] url" in line]) == 1
    assert engine.search("Lisbon", "anna").hits


@cases("idle/urls")
def test_idle_a_url_that_cannot_be_used_costs_the_llm_and_no_memory(opened, url, why):
    with logged("WARNING") as lines:
        engine = opened(thinking={"url": url})
        say(engine, 5)
        engine.flush(indexed=True)
    assert engine.search("Lisbon", "anna").hits
    assert sum("without an LLM" in line and why in line for line in lines) == bool(why)


def test_idle_progress_is_told(opened):
    engine = opened(idle={"enabled": False, "grace_s": 1.2})
    told = list[Forecast]()
    say(engine, 3)
    assert engine.idle.until_done(progress=told.append) == 0
    assert told and not told[-1].dead


def test_idle_a_listener_that_fails_ends_nothing(opened):
    engine = opened(memory={"hot_cache_size": 5}, tiers={"warm": 5, "block_exchanges": 2})
    heard = threading.Event()
    engine.subscribe(on_pause=lambda: 1 / 0)
    stop = engine.subscribe(on_pause=heard.set)
    say(engine, 40)
    assert heard.wait(30)
    stop()
    assert thinking()[0].is_alive()


def test_idle_the_connections_of_its_llm_end_with_it(opened, monkeypatch):
    server = Mock(prompt_tokens=1000, ready=AsyncMock(return_value=False), close=AsyncMock())
    monkeypatch.setattr("slowcat_memory.engine.idle.open_llm", lambda options: server)
    opened().close()
    assert server.close.await_count == 1


# ------------------------------------------------------------------- an LLM on this machine

LOADED = "qwen3-4b"
PAGES = json.loads((DATA / "model_pages.json").read_text("utf-8"))


def job_reply(body: dict[str, Any]) -> str:
    """Answer a job with the words of its prompt."""
    job = body["response_format"]["json_schema"]["name"]
    prompt = Prompt(job=job, version=1, system="", user=body["messages"][1]["content"])
    return json.dumps(parrot(prompt))


def end_session(engine: MemoryEngine) -> None:
    say(engine, 3)
    engine.append(SessionEdge(session="s", scope="anna", kind="end", at=engine.clock()))


@pytest.fixture
def server(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[ScriptedServer]:
    """A server of a kind, and the only one that is looked for."""
    with serving(job_reply, pages=PAGES[request.param]) as made:
        port = urlsplit(made.url).port
        known = tuple(replace(kind, port=port) for kind in KNOWN if kind.name == request.param)
        monkeypatch.setattr(find_loaded, "__defaults__", ("", known))
        yield made


@pytest.mark.parametrize(("server", "name"), zip(PAGES, PAGES, strict=True), indirect=["server"])
def test_idle_a_loaded_model_on_this_machine_is_found_and_used(opened, server, name):
    with logged("INFO") as lines:
        engine = opened(thinking={"url": ThinkingOptions().url})
        end_session(engine)

        def done() -> bool:
            made = (memory.made for memory in Look(engine.store).memories("anna"))
            told = any(one and one.job == "facts" and one.model for one in made)
            return told and Look(engine.store).context("anna", "chunk/1") is not None

        assert until(done)
    assert {request["model"] for request in server.requests} == {LOADED}
    [line] = [line for line in lines if "Idle work uses" in line]
    assert f"{LOADED} of {name} at http://127.0.0.1:" in line


@pytest.mark.parametrize("server", ["Ollama"], indirect=True)
def test_idle_an_llm_that_appears_later_is_used(opened, server, monkeypatch):
    monkeypatch.setattr(model_servers, "FIRST_WAIT_S", 0.05)
    ready, server.pages["/api/ps"] = server.pages["/api/ps"], {"models": []}
    with logged("INFO") as lines:
        engine = opened(thinking={"url": ThinkingOptions().url})
        end_session(engine)
        assert until(lambda: any("No LLM for idle work, for now" in line for line in lines))
        server.pages["/api/ps"] = ready
        assert until(lambda: bool(server.requests))
    assert sum("No LLM for idle work" in line for line in lines) == 1


# ---------------------------------------------------------------- idle work gives way to every recall


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
        await asyncio.to_thread(engine.indexer.ahead.submit(lambda: None).result)
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
    closed = list[None]()
    assert gate.opens_in() == 0
    with gate.on_close(lambda: closed.append(None)):
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
        job_parts(engine, engine.upkeep, None), engine.config, engine.metrics,
        engine.indexer.take, [job], callers=engine.callers, sleep=sleep,
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
