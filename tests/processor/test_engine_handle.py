"""What idle work changes is told to the application, by ids and kinds."""

import asyncio
import contextlib
import threading

import pytest
from pipecat.tests.utils import run_test

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.errors import ConfigError
from slowcat_memory.records import MemoryEvent


def event(what, scope="anna") -> MemoryEvent:
    return MemoryEvent(what=what, scope=scope, ids=("fact/1",), kind="fact", job="test")


def test_memory_events_reach_the_application_until_cleanup(config):
    with contextlib.closing(MemoryEngine(config)) as engine:
        memory = HybridContextualMemoryProcessor(engine=engine, user_id="anna")
        heard, listeners = [], engine.idle.on_memory
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
