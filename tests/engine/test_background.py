"""A store that cannot be opened costs no word: what is said waits, in order, and is saved once."""

import errno
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from unittest.mock import Mock, patch

import pytest

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine, background
from slowcat_memory.engine.background import BackgroundEngine
from slowcat_memory.engine.upkeep import Upkeep
from slowcat_memory.errors import StoreClosedError, StoreError, StoreFullError
from slowcat_memory.records import Forget, Turn
from slowcat_memory.store import writer
from slowcat_memory.store.sharing import living
from slowcat_memory.testing import FixedClock, memory_config
from tests.support.engine_home import Gate, first, texts
from tests.support.held_store import logged_texts, refusing
from tests.support.processors import logged
from tests.support.said import turn_at, until

CLOCK = FixedClock()
Open = Callable[[], BackgroundEngine]


def turn(text: str, role: str = "user", reply_to: int = 0) -> Turn:
    CLOCK.advance(1)
    more = {"speaker": role, "role": role, "reply_to": reply_to}
    return turn_at(text, CLOCK(), **more)


@pytest.fixture
def opened(config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens memories that try to open their store only when a test says so."""
    made = list[BackgroundEngine]()
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 3600.0)

    def open_() -> BackgroundEngine:
        memory = BackgroundEngine.acquire(config)
        memory.prepare("anna")
        memory.start(30)
        made.append(memory)
        return memory

    yield open_
    for memory in made:
        memory.close()


def talk(memory: BackgroundEngine, *said: str) -> None:
    """Log exchanges; the agent repeats what was said."""
    for text in said:
        memory.append(turn(f"you said {text}", "assistant", memory.append(turn(text)).id))


def remember(config: Config, *said: str) -> None:
    engine = MemoryEngine(config)
    for text in said:
        engine.append(turn(text))
    engine.close()


def answered(*said: str) -> list[tuple[str, str, str]]:
    pairs = ((("user", text, ""), ("assistant", f"you said {text}", text)) for text in said)
    return [row for pair in pairs for row in pair]


def spoken(memory: BackgroundEngine) -> list[str]:
    return [text for _, text, _ in logged_texts(memory)]


# ------------------------------------------------------------------- waiting


@pytest.mark.parametrize(
    "error", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES, errno.ENOLCK]
)
@pytest.mark.parametrize("new", [False, True])
def test_background_what_is_said_on_a_disk_that_refuses_is_saved_once_it_accepts(
    config, opened, error, new
):
    said = ("the violin is in the attic", "the boat is blue")
    if not new:
        remember(config, "My dog is called Max")
    with refusing(error):
        memory = opened()
        heard = list[object]()
        memory.availability.subscribe(heard.append, lambda: heard.append("back"))
        talk(memory, *said)
        assert new or first(memory, "dog") == "My dog is called Max"
        assert not memory.attempt() and memory.engine is None
        (trouble,) = heard
        assert isinstance(trouble, StoreError) and trouble.hint
        assert str(config.folder) in str(trouble)
    assert memory.attempt() and memory.engine is not None
    assert heard[1:] == ["back"]
    assert memory.flush(30, indexed=True)
    assert logged_texts(memory)[0 if new else 1 :] == answered(*said)
    assert said[0] in texts(memory.search("violin", "anna"))


def test_background_a_folder_whose_disk_is_mounted_later(config, opened):
    disk = config.folder.parent / "disk" / "memory"
    remember(memory_config(disk), "My dog is called Max")
    unmounted = disk.parent.rename(config.folder.parent / "unmounted")
    config.folder.symlink_to(disk)
    memory = opened()
    talk(memory, "the boat is blue")
    assert not memory.attempt()
    unmounted.rename(disk.parent)
    assert memory.attempt() and memory.flush(30, indexed=True)
    assert spoken(memory)[:2] == ["My dog is called Max", "the boat is blue"]


def test_background_a_reply_that_comes_after_the_store_answers_what_waited(config, opened):
    with refusing(errno.ENOSPC):
        memory = opened()
        asked = memory.append(turn("where is the violin"))
    memory.attempt()
    ack = memory.append(turn("in the attic", "assistant", asked.id))
    ack.wait(30)
    asked.wait(30)
    assert logged_texts(memory)[-1] == ("assistant", "in the attic", "where is the violin")
    assert isinstance(ack.event, Turn) and ack.event.reply_to == asked.id > 0


def test_background_processors_of_one_process_share_what_waits(config, opened):
    with refusing(errno.ENOSPC):
        one, other = opened(), opened()
        assert one is other
        talk(one, "the boat is blue")
        talk(other, "the car is red")
        one.close()
        assert not one.attempt()
    assert other.attempt() and other.flush(30)
    assert logged_texts(other) == answered("the boat is blue", "the car is red")
    BackgroundEngine.acquire(config)  # the fixture releases both


def test_background_a_full_queue_drops_the_oldest_and_counts_them(tmp_path, monkeypatch):
    config = memory_config(tmp_path / "memory", store={"queue_limit": 4})
    monkeypatch.setattr(background, "FIRST_PAUSE_S", 3600.0)
    with refusing(errno.ENOSPC):
        memory = started(config)
        acks = [memory.append(turn(f"number {n}")) for n in range(7)]
        assert [ack.done() for ack in acks] == [True] * 3 + [False] * 4
        with pytest.raises(StoreFullError):
            acks[0].wait(0)
    assert memory.attempt() and memory.flush(30)
    assert spoken(memory) == [f"number {n}" for n in range(3, 7)]
    with logged("ERROR") as lines:
        memory.close()
    assert len(lines) == 1 and "3 events were not saved" in lines[0]


def test_background_closing_saves_what_waits_if_the_cause_is_gone(config, opened):
    with refusing(errno.ENOSPC):
        memory = started(config)
        talk(memory, "the boat is blue")
    memory.close()
    assert logged_texts(config.folder) == answered("the boat is blue")


def test_background_closing_says_in_one_line_how_many_are_lost(config):
    with refusing(errno.ENOSPC), logged("ERROR") as lines:
        memory = started(config)
        acks = [memory.append(turn("the boat is blue")), memory.append(turn("it leaks"))]
        memory.close()
    assert len(lines) == 1 and "2 events were not saved" in lines[0] and "full" in lines[0]
    assert all(isinstance(ack.future.exception(0), StoreClosedError) for ack in acks)
    with pytest.raises(StoreClosedError):
        memory.append(turn("too late"))


def test_background_what_needs_the_store_says_why_there_is_none(opened):
    with refusing(errno.ENOSPC):
        memory = opened()
        for call in (
            lambda: memory.remember("x", "anna"),
            lambda: memory.forget(Forget(everything=True)),
            lambda: memory.search("x", "anna"),
            lambda: memory.snapshot(),
            lambda: memory.upkeep,
        ):
            with pytest.raises(StoreError, match="not available: the disk is full at"):
                call()
        assert memory.session_context("anna") == ""


def test_background_a_file_that_cannot_be_recovered_is_not_tried_until_it_changes(
    config, opened, monkeypatch
):
    damaged = Mock(side_effect=background.StoreDamagedError("beyond repair"))
    remember(config, "My dog is called Max")
    monkeypatch.setattr("slowcat_memory.store.disk.folder.mark_running", damaged)
    memory = opened()
    assert not memory.attempt() and not memory.attempt() and damaged.call_count == 1
    os.utime(config.folder / "data.mdb", (1, 1))
    assert not memory.attempt() and damaged.call_count == 2


def test_background_an_engine_that_fails_half_open_lets_go_of_its_store(config):
    with patch.object(Upkeep, "erase_soon", lambda _: 1 / 0), pytest.raises(ZeroDivisionError):
        MemoryEngine(config)
    MemoryEngine(config).close()


def test_background_a_process_that_cannot_say_who_it_is_lets_go(config):
    full = OSError(errno.ENOSPC, "No space left on device")
    with patch("slowcat_memory.store.sharing.Presence.confirm", side_effect=full):
        with pytest.raises(StoreFullError, match="No space"):
            MemoryEngine(config)
    MemoryEngine(config).close()


def test_background_an_error_that_is_raised_again_keeps_no_frames_of_those_who_met_it(opened):
    with refusing(errno.ENOSPC):
        memory = opened()
        memory.close()
    for call in (lambda: memory.append(turn("late")), lambda: memory.snapshot()):
        assert len({frames_of(call) for _ in range(50)}) == 1
    assert memory.availability.trouble and not memory.availability.trouble.__traceback__


def frames_of(call: Callable[[], object]) -> int:
    with pytest.raises(StoreError) as refused:
        call()
    return len(refused.traceback)


# ------------------------------------------------------------------- the end


def started(config: Config) -> BackgroundEngine:
    memory = BackgroundEngine(config)
    memory.start(30)
    return memory


def test_background_releasing_while_the_store_is_still_being_opened_frees_it_later(
    config, monkeypatch
):
    gate = Gate(background.MemoryEngine)
    monkeypatch.setattr(background, "MemoryEngine", gate)
    monkeypatch.setattr(background, "CLOSE_S", 0.0)
    memory = BackgroundEngine(config)
    memory.start(0.0)
    assert gate.reached.wait(30)
    memory.close()
    gate.open.set()
    thread = memory._thread
    assert thread is not None
    thread.join(30)
    assert not living(config.folder) and memory.engine is None


def test_background_releasing_in_the_callback_of_a_trouble(config):
    with refusing(errno.ENOSPC):
        memory = BackgroundEngine(config)
        done = threading.Event()

        def on_trouble(_: object) -> None:
            memory.close()
            done.set()

        memory.availability.subscribe(on_trouble, lambda: None)
        memory.start(30)
        assert done.wait(30)
    thread = memory._thread
    assert thread is not None and until(lambda: not thread.is_alive())
    assert not living(config.folder)


def test_background_activities_and_callbacks_outlive_the_engine_and_are_called_on_release(config):
    memory = BackgroundEngine(config)
    heard = []
    memory.set_activity("kitchen/user speaks", True)
    memory.subscribe(on_event=lambda event: heard.append(event.what))
    memory.start(30)
    assert memory.engine.idle.gate.is_active("kitchen")
    memory.append(turn("the boat is blue"))
    memory.close()
    assert until(lambda: heard == ["stored"])


# ------------------------------------------------------------------- while it runs


def test_background_a_full_queue_of_an_open_store_drops_the_oldest_said_live():
    numbers = itertools.count(1)
    queue = writer.WriteQueue(3, lambda _: next(numbers))
    changes = [queue.add_events([turn(f"{n}")], lambda _: bool, quiet=True)[0] for n in range(5)]
    assert [ack.done() for ack in changes] == [True, True, False, False, False]
    assert queue.dropped == 2 and queue.unsaved == 3
    with pytest.raises(StoreFullError):
        queue.add_events([turn("bulk")], lambda _: bool)
