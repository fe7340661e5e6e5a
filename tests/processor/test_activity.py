"""What goes on in a conversation, as the idle gate hears of it."""

import asyncio

import pytest
from msgspec.structs import replace

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.idle.scheduler.options import IdleOptions
from slowcat_memory.processor.activity import ActivityObserver
from tests.support.voice_pipeline import VoicePipeline, run


class RecordingGate:
    """Stands in for the gate: what it was told, and what goes on."""

    def __init__(self):
        self.told: list[tuple[str, str]] = []
        self.going_on: set[str] = set()

    def __call__(self, what, busy):
        if what.endswith("/"):
            self.gone(what)
        elif busy:
            self.busy(what)
        else:
            self.free(what)

    def busy(self, what):
        self.told.append(("busy", what))
        self.going_on.add(what)

    def free(self, what):
        self.told.append(("free", what))
        self.going_on.discard(what)

    def on_close(self, tell):
        return lambda: None

    def gone(self, prefix):
        self.told.append(("gone", prefix))
        self.going_on = {what for what in self.going_on if not what.startswith(prefix)}


@pytest.fixture
def gate():
    return RecordingGate()


# ------------------------------------------------------------------- in a pipeline


def in_pipeline(config, gate, reply, talk, **how):
    """Hold a conversation whose engine has this gate."""

    async def scenario():
        engine = MemoryEngine(replace(config, idle=IdleOptions(enabled=False)))
        engine.idle.gate = gate
        try:
            processor = HybridContextualMemoryProcessor(engine=engine, name="kitchen")
            async with VoicePipeline(reply, memory=processor, speed=50, **how) as voice:
                await talk(voice)
                return f"kitchen:{processor.id}/"
        finally:
            await asyncio.to_thread(engine.close)

    return run(scenario())


async def hello(voice):
    await voice.exchange("hello there my friend")
    await voice.until(lambda: not voice.bot_speaks and voice.spoken)


def spans(gate, prefix):
    """What began, and what ended."""
    own = [(how, what.removeprefix(prefix)) for how, what in gate.told if prefix in what]
    return [{what for way, what in own if way == how} for how in ("busy", "free")]


@pytest.mark.parametrize("observed", [True, False])
def test_activity_turn_is_followed_from_the_first_sound_to_the_last(
    config, gate, observed, monkeypatch
):
    if not observed:
        monkeypatch.setattr(ActivityObserver, "on_push_frame", _sees_nothing)
    prefix = in_pipeline(config, gate, lambda _: "I see.", hello)
    begun, ended = spans(gate, prefix)
    assert {"a turn", "the LLM", "the bot"} <= begun
    assert begun == ended & begun
    own = [(how, what.removeprefix(prefix)) for how, what in gate.told if prefix in what]
    assert own[0] in (("busy", "a voice"), ("busy", "a turn"))
    assert own[-1] == ("gone", "") and not gate.going_on


async def _sees_nothing(self, data):
    pass
