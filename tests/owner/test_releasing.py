"""Releasing a memory at any moment, from any thread: the store is free, and what was said is saved."""

import errno
import threading
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.owner import lifecycle
from slowcat_memory.owner.member import Member
from slowcat_memory.records import MemoryEvent
from slowcat_memory.store.sharing import living
from slowcat_memory.testing import memory_config
from tests.support.held_store import refusing
from tests.support.said import turn_at, until

WAIT_S = 30.0


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return memory_config(tmp_path / "memory")


def opened(config: Config) -> Member:
    memory = Member(config)
    memory.start(WAIT_S)
    return memory


def test_releasing_while_the_store_is_still_being_opened_frees_it_later(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    real = MemoryEngine.acquire

    def slow(*arguments: Any, **options: Any) -> MemoryEngine:
        begun.set()
        assert go_on.wait(WAIT_S)
        return real(*arguments, **options)

    monkeypatch.setattr(MemoryEngine, "acquire", slow)
    monkeypatch.setattr(lifecycle, "CLOSE_S", 0.0)
    memory = Member(config)
    memory.start(0.0)
    assert begun.wait(WAIT_S)
    memory.release()
    go_on.set()
    thread = memory._life._thread
    assert thread is not None
    thread.join(WAIT_S)
    assert not living(config.folder) and memory.engine is None


def test_releasing_and_writing_in_a_callback_waits_for_nobody(config: Config) -> None:
    memory = opened(config)
    noted, done = threading.Event(), threading.Event()

    def on_event(event: MemoryEvent) -> None:
        if event.what == "stored" and not noted.is_set():
            memory.remember("the key is under the pot", "anna")  # waits for the store
            noted.set()
            memory.release()
            memory.release()
            done.set()

    memory.subscribe(on_event=on_event)
    memory.append(turn_at("the boat is blue"))
    assert noted.wait(WAIT_S) and done.wait(WAIT_S)
    assert not living(config.folder)


def test_releasing_in_the_callback_of_a_trouble(config: Config) -> None:
    with refusing(errno.ENOSPC):
        memory = Member(config)
        done = threading.Event()

        def on_trouble(_: object) -> None:
            memory.release()
            done.set()

        memory.availability.subscribe(on_trouble, lambda: None)
        memory.start(WAIT_S)
        assert done.wait(WAIT_S)
    thread = memory._life._thread
    assert thread is not None and until(lambda: not thread.is_alive())
    assert not living(config.folder)


def test_releasing_twice_leaves_the_engine_to_its_other_users(config: Config) -> None:
    memory = opened(config)
    engine = MemoryEngine.acquire(config)
    assert engine is memory.engine
    memory.release()
    memory.release()
    assert not engine.closed
    engine.release()
    assert engine.closed and not living(config.folder)


def test_releasing_keeps_what_was_subscribed_until_it_was_called(config: Config) -> None:
    memory = opened(config)
    heard: list[str] = []
    memory.subscribe(on_event=lambda event: heard.append(event.what))
    memory.append(turn_at("the boat is blue"))
    memory.release()
    assert until(lambda: heard == ["stored"])
