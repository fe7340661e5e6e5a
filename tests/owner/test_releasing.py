"""Releasing a memory at any moment, from any thread: the store is free, and what was said is saved."""

import errno
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.owner import lifecycle, open_memory, who_owns
from slowcat_memory.owner.member import Member
from slowcat_memory.records import MemoryEvent
from slowcat_memory.store.disk.locks import WriterLock
from slowcat_memory.store.options import utc_now
from slowcat_memory.testing import memory_config
from tests.owner.test_giving_up import until
from tests.support.held_store import logged_texts, refusing
from tests.support.owner_process import OwnerProcess
from tests.support.said import turn_at

WAIT_S = 30.0


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return memory_config(tmp_path / "memory")


def opened(config: Config) -> Member:
    memory = Member(config, name="test")
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
    memory = Member(config, name="test")
    memory.start(0.0)
    assert begun.wait(WAIT_S)
    memory.release()
    go_on.set()
    thread = memory._life._thread
    assert thread is not None
    thread.join(WAIT_S)
    assert who_owns(config.folder) is None and memory.engine is not None and memory.engine.closed


@pytest.mark.parametrize("as_client", [False, True], ids=["owner", "client"])
def test_releasing_and_writing_in_a_callback_waits_for_nobody(
    config: Config, as_client: bool
) -> None:
    def talk(say: Callable[[str], object]) -> None:
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
        memory.stats()  # the subscription has arrived
        say("the boat is blue") if as_client else memory.append(turn_at("the boat is blue"))
        assert noted.wait(WAIT_S) and done.wait(WAIT_S)

    if as_client:
        with OwnerProcess(config.folder) as other:
            talk(lambda text: other.call("say", text))
            assert other.call("search", "key", "anna") == ["the key is under the pot"]
    else:
        talk(lambda text: None)
    assert who_owns(config.folder) is None


def test_releasing_in_the_callback_of_a_trouble(config: Config) -> None:
    with refusing(errno.ENOSPC):
        memory = Member(config, name="test")
        done = threading.Event()

        def on_trouble(_: object) -> None:
            memory.release()
            done.set()

        memory.availability.subscribe(on_trouble, lambda: None)
        memory.start(WAIT_S)
        assert done.wait(WAIT_S)
    thread = memory._life._thread
    assert thread is not None and until(lambda: not thread.is_alive())
    assert who_owns(config.folder) is None


def test_releasing_saves_the_last_words_while_another_process_takes_the_store_over(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(config).release()
    lock = WriterLock(config.folder, utc_now())
    memory = Member(config, name="test")
    ack = memory.append(turn_at("the boat is blue"))
    sleeps = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: lock.release())
    monkeypatch.setattr(lifecycle, "time", sleeps)
    memory.release()
    ack.wait(WAIT_S)
    assert [text for _, text, _ in logged_texts(config.folder)] == ["the boat is blue"]


def test_releasing_twice_leaves_the_engine_to_its_other_users(config: Config) -> None:
    memory = opened(config)
    engine = MemoryEngine.acquire(config)
    assert engine is memory.engine
    memory.release()
    memory.release()
    assert not engine.closed
    engine.release()
    assert engine.closed and who_owns(config.folder) is None


def test_releasing_a_memory_whose_start_is_interrupted(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, made = Member.start, []

    def interrupted(self: Member, wait_s: float) -> None:
        real(self, wait_s)
        made.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(Member, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_memory(config, client="test")
    assert who_owns(config.folder) is None
    monkeypatch.undo()
    memory = open_memory(config, client="test")
    assert memory is not made[0]
    memory.release()


def test_releasing_keeps_what_was_subscribed_until_it_was_called(config: Config) -> None:
    memory = opened(config)
    heard: list[str] = []
    memory.subscribe(on_event=lambda event: heard.append(event.what))
    memory.append(turn_at("the boat is blue"))
    memory.release()
    assert until(lambda: heard == ["stored"])
