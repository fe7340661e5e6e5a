"""The conversation is read again after idle work has used its LLM server."""

import asyncio
import threading

from msgspec.structs import replace

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.providers import ThinkingOptions
from slowcat_memory.providers.loopback import same_server
from tests.support.processors import ahead
from tests.support.rows import each_row
from tests.support.voice_pipeline import VoicePipeline, run


class Bursts:
    """Idle thinking that works when it is told to."""

    def __init__(self, engine):
        self.listeners, self.metrics = [], engine.metrics
        engine.subscribe = self.subscribe

    def subscribe(self, on_memory=None, on_pause=None):
        if on_pause is None:
            return lambda: None
        self.listeners.append(on_pause)
        return lambda: self.listeners.remove(on_pause)

    async def burst(self, tokens=100):
        """Tell of the end of one, from another thread."""
        self.metrics.count("idle_tokens_in", tokens)
        told = threading.Thread(target=lambda: [tell() for tell in self.listeners])
        told.start()
        await asyncio.to_thread(told.join)
        for _ in range(20):
            await asyncio.sleep(0)


class Where(HybridContextualMemoryProcessor):
    """A memory whose engine's idle LLM is at the conversation's server, once that is known."""

    url = "{server}"

    async def setup(self, setup):
        server = str(self.server.url).replace("127.0.0.1", "localhost")
        thinking = ThinkingOptions(url=self.url.format(server=server))
        self.engine.config = replace(self.engine.config, thinking=thinking)
        await super().setup(setup)


def talking(config, scenario, url="{server}"):
    async def whole():
        engine = MemoryEngine(replace(config, idle=IdleOptions(enabled=False)))
        bursts = Bursts(engine)
        try:
            processor = Where(engine=engine)
            processor.url = url
            voice = VoicePipeline(lambda _: "I see.", memory=processor, speed=50)
            processor.server = voice.server
            async with voice:
                await voice.exchange("hello")
                await voice.until(lambda: not voice.bot_speaks)
                await scenario(voice, bursts)
            assert not bursts.listeners
        finally:
            await asyncio.to_thread(engine.close)

    run(whole())


def test_rewarm_after_idle_each_burst_is_followed_by_one_request_for_one_token(config):
    async def scenario(voice, bursts):
        for count in (1, 2):
            await bursts.burst()
            await voice.server.wait_until(lambda count=count: len(ahead(voice)) == count)
        assert len(ahead(voice)) == 2

    talking(config, scenario)


def test_rewarm_after_idle_upkeep_asks_no_llm_and_so_spoils_nothing(config):
    async def scenario(voice, bursts):
        await bursts.burst(tokens=0)
        assert bursts.listeners and not ahead(voice)

    talking(config, scenario)


def test_rewarm_after_idle_another_server_leaves_the_conversations_alone(config):
    async def scenario(voice, bursts):
        await bursts.burst()
        assert not bursts.listeners and not ahead(voice)

    talking(config, scenario, url="http://127.0.0.1:1/v1")


@each_row(
    ("one", "other", "same"),
    [
        ("http://127.0.0.1:1234/v1", "http://127.0.0.1:1234/v1/", True),
        ("http://localhost:1234/v1", "http://127.0.0.1:1234/v1", True),
        ("http://[::1]:1234/v1", "http://127.0.0.1:1234/v1", True),
        ("http://127.0.0.1:1234/v1", "http://127.0.0.1:1235/v1", False),
        ("http://192.0.2.7:1234/v1", "http://127.0.0.1:1234/v1", False),
        ("http://192.0.2.7:1234/v1", "http://192.0.2.7:1234/v1", True),
        ("", "", False),
        ("http://127.0.0.1:1234/v1", "", False),
    ],
)
def test_rewarm_after_idle_one_server(one, other, same):
    assert same_server(one, other) is same
