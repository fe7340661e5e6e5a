"""What idle work changes is told to the application, by ids and kinds."""

import asyncio
import contextlib
import threading

import pytest
from pipecat.tests.utils import run_test

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.errors import ConfigError
from slowcat_memory.processor.engine_handle import forward_memory_events
from slowcat_memory.records import MemoryEvent


def event(what, scope="anna") -> MemoryEvent:
    return MemoryEvent(what=what, scope=scope, ids=("fact/1",), kind="fact", job="test")


class Told:
    """An engine whose idle thread tells what it is told to."""

    def __init__(self) -> None:
        self.listeners = []

    def subscribe(self, on_memory):
        self.listeners.append(on_memory)
        return lambda: self.listeners.remove(on_memory)

    def tell(self, *events: MemoryEvent) -> None:
        def on_idle_thread() -> None:
            for one in events:
                for tell in tuple(self.listeners):
                    tell(one)

        thread = threading.Thread(target=on_idle_thread)
        thread.start()
        thread.join()


def test_memory_events_come_on_the_loop_in_order_and_end_with_the_conversation():
    async def scenario():
        engine, heard, loop_thread = Told(), [], threading.get_ident()
        end = forward_memory_events(
            engine, ("anna",), lambda told: heard.append((told.what, threading.get_ident()))
        )
        engine.tell(event("created"), event("updated"), event("created", "berta"))
        assert heard == []  # handed over, not run on the idle thread
        await asyncio.sleep(0)
        assert [what for what, _ in heard] == ["created", "updated"]
        assert all(thread == loop_thread for *_, thread in heard)
        engine.tell(event("retired"))
        end()
        await asyncio.sleep(0)
        assert len(heard) == 2 and not engine.listeners

    asyncio.run(scenario())


def test_memory_events_reach_the_application_until_cleanup(config):
    with contextlib.closing(MemoryEngine(config)) as engine:
        memory = HybridContextualMemoryProcessor(engine=engine, user_id="anna")
        heard, listeners = [], engine.idle._on_memory
        begin = memory._begin

        async def begin_and_tell():
            talk = await begin()
            assert len(listeners) == 2  # the application and the head
            thread = threading.Thread(target=lambda: listeners[0](event("retired")))
            thread.start()
            await asyncio.to_thread(thread.join)
            return talk

        memory._begin = begin_and_tell

        @memory.event_handler("on_memory_retired")
        async def on_memory_retired(processor, told):
            heard.append(told)

        asyncio.run(run_test(memory, frames_to_send=[], start_timeout=30.0))
        assert heard == [event("retired")]
        assert listeners == []


@pytest.mark.parametrize("path", ["~no-such-user-here/memory", "a\0b", " "])
def test_load_config_a_path_that_names_no_folder_is_refused_at_once(config, path):
    with pytest.raises(ConfigError, match="memory.path"):
        HybridContextualMemoryProcessor(config=config, path=path)
