"""Idle thinking in an engine: it begins, pauses, tells, and ends."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import StoreError
from slowcat_memory.idle.forecast import Forecast
from slowcat_memory.records import Turn
from slowcat_memory.testing import FixedClock, memory_config
from tests.support.processors import logged

WAIT_S = 10.0
Open = Callable[..., MemoryEngine]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    engines: list[MemoryEngine] = []

    def open_(readonly: bool = False, **sections: Any) -> MemoryEngine:
        sections["idle"] = {
            "enabled": True,
            "grace_s": 0.05,
            "rest_s": 0.02,
            **sections.get("idle", {}),
        }
        config = memory_config(tmp_path / "memory", **sections)
        engines.append(MemoryEngine(config, readonly=readonly, clock=FixedClock()))
        return engines[-1]

    yield open_
    for engine in engines:
        engine.close()


def say(engine: MemoryEngine, n: int = 1) -> None:
    for i in range(n):
        said = f"Number {i}: I live in Lisbon."
        turn = Turn(
            session="s", scope="anna", speaker="Anna", role="user", text=said, at=engine.clock()
        )
        engine.append(turn)
    engine.drain()
    engine.store.flush(None)


def thinking() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "slowcat-idle"]


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def test_idle_it_thinks_by_itself_once_nobody_speaks(opened: Open) -> None:
    engine = opened(memory={"hot_cache_size": 5}, tiers={"warm": 5, "block_exchanges": 2})
    paused = threading.Event()
    engine.subscribe(on_pause=paused.set)
    say(engine, 40)
    until(lambda: engine.stats()["tiers"]["hot"]["memories"] < 40)
    assert paused.wait(WAIT_S)


def test_idle_nothing_is_thought_while_somebody_speaks(opened: Open) -> None:
    engine = opened(memory={"hot_cache_size": 5}, tiers={"warm": 5}, idle={"grace_s": 30.0})
    say(engine, 40)
    assert engine.idle.gate.opens_in() > 25, "what is said closes the gate"
    with engine.store.snapshot() as snapshot:
        assert snapshot.tasks() == [] and snapshot.runs() == []


def test_idle_it_ends_within_a_second(opened: Open) -> None:
    engine = opened()
    until(lambda: bool(thinking()))
    engine.idle.stop()
    assert thinking() == []


@pytest.mark.parametrize("sections", [{"idle": {"enabled": False}}, {"readonly": True}])
def test_idle_who_does_not_think_has_no_thread(opened: Open, sections: dict[str, Any]) -> None:
    opened().close()
    engine = opened(**sections)
    assert thinking() == []
    if engine.readonly:
        with pytest.raises(StoreError, match="read-only"):
            engine.think()
    else:
        say(engine)
        assert engine.think() == 0
        assert thinking() == [], "it thought while it was told to"


def test_idle_without_an_llm_the_log_says_once_how_to_have_one(opened: Open) -> None:
    lines: list[str] = []
    sink = logger.add(lines.append, level="INFO", format="{message}")
    try:
        engine = opened()
        say(engine, 5)
        engine.think()
    finally:
        logger.remove(sink)
    assert len([line for line in lines if "[idle_llm] url" in line]) == 1
    assert engine.search("Lisbon", "anna").hits


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("not a url", "not an http URL"),
        ("http://203.0.113.7/v1", "is not this machine"),
        ("http://127.0.0.1:notaport/v1", "not a URL"),
        ("http://no-such-host.invalid/v1", ""),
    ],
)
def test_idle_a_url_that_cannot_be_used_costs_the_llm_and_no_memory(
    opened: Open, url: str, why: str
) -> None:
    with logged("WARNING") as lines:
        engine = opened(thinking={"url": url})
        say(engine, 5)
        engine.drain()
    assert engine.search("Lisbon", "anna").hits
    assert sum("without an LLM" in line and why in line for line in lines) == bool(why)


def test_idle_progress_is_told(opened: Open) -> None:
    engine = opened(idle={"enabled": False, "grace_s": 1.2})
    told: list[Forecast] = []
    say(engine, 3)
    assert engine.think(progress=told.append) == 0
    assert told and not told[-1].dead


def test_idle_there_is_no_such_job(opened: Open) -> None:
    engine = opened()
    with pytest.raises(KeyError, match="nonsense"):
        engine.think(["nonsense"])


def test_idle_a_listener_that_fails_ends_nothing(opened: Open) -> None:
    engine = opened(memory={"hot_cache_size": 5}, tiers={"warm": 5, "block_exchanges": 2})
    heard = threading.Event()
    engine.subscribe(on_pause=lambda: 1 / 0)
    stop = engine.subscribe(on_pause=heard.set)
    say(engine, 40)
    assert heard.wait(WAIT_S)
    stop()
    assert thinking()[0].is_alive()


def test_idle_the_connections_of_its_llm_end_with_it(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = threading.Event()

    class Server:
        prompt_tokens = 1000

        async def ready(self) -> bool:
            return False

        async def close(self) -> None:
            closed.set()

    monkeypatch.setattr("slowcat_memory.engine.idle.open_llm", lambda options: Server())
    opened().close()
    assert closed.is_set()
