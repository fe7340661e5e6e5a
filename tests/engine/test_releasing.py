"""Releasing a memory at any moment, from any thread: the store is free, and what was said is saved."""

import errno
import threading
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine, background
from slowcat_memory.engine.background import BackgroundEngine
from slowcat_memory.store.sharing import living
from slowcat_memory.testing import memory_config
from tests.support.held_store import refusing
from tests.support.said import turn_at, until

WAIT_S = 30.0


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return memory_config(tmp_path / "memory")


def opened(config: Config) -> BackgroundEngine:
    memory = BackgroundEngine(config)
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
    monkeypatch.setattr(background, "CLOSE_S", 0.0)
    memory = BackgroundEngine(config)
    memory.start(0.0)
    assert begun.wait(WAIT_S)
    memory.release()
    go_on.set()
    thread = memory._thread
    assert thread is not None
    thread.join(WAIT_S)
    assert not living(config.folder) and memory.engine is None


def test_releasing_in_the_callback_of_a_trouble(config: Config) -> None:
    with refusing(errno.ENOSPC):
        memory = BackgroundEngine(config)
        done = threading.Event()

        def on_trouble(_: object) -> None:
            memory.release()
            done.set()

        memory.availability.subscribe(on_trouble, lambda: None)
        memory.start(WAIT_S)
        assert done.wait(WAIT_S)
    thread = memory._thread
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
