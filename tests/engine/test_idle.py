"""Idle thinking in an engine: it begins, pauses, tells, and ends."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import AsyncMock, Mock
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import StoreError
from slowcat_memory.idle.scheduler.task_queue import Forecast
from slowcat_memory.providers import CircuitBreaker, Prompt, ThinkingOptions
from slowcat_memory.providers.llm.model_servers import KNOWN, find_loaded
from slowcat_memory.records import SessionEdge
from slowcat_memory.testing.server import ScriptedServer
from tests.support.engine_home import Home
from tests.support.memories import Look
from tests.support.parroting_llm import parrot
from tests.support.processors import logged
from tests.support.rows import DATA, cases
from tests.support.said import turn_at, until
from tests.support.scripted_server import serving

Open = Callable[..., MemoryEngine]
BREAKER = dict(CircuitBreaker.__init__.__kwdefaults__ or {})


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
    told: list[Forecast] = []
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
    monkeypatch.setattr(CircuitBreaker.__init__, "__kwdefaults__", BREAKER | {"first_wait_s": 0.05})
    ready, server.pages["/api/ps"] = server.pages["/api/ps"], {"models": []}
    with logged("INFO") as lines:
        engine = opened(thinking={"url": ThinkingOptions().url})
        end_session(engine)
        assert until(lambda: any("No LLM for idle work, for now" in line for line in lines))
        server.pages["/api/ps"] = ready
        assert until(lambda: bool(server.requests))
    assert sum("No LLM for idle work" in line for line in lines) == 1
