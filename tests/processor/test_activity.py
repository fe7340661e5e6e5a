"""What goes on in a conversation, as the idle gate hears of it."""

import asyncio
from unittest.mock import AsyncMock

import pytest
from msgspec.structs import replace
from pipecat.frames import frames
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameDirection

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.processor.activity import Activity
from slowcat_memory.testing.server import ToolCall
from tests.support.rows import cases
from tests.support.voice_pipeline import FunctionSchema, VoicePipeline

DOWN, UP = FrameDirection.DOWNSTREAM, FrameDirection.UPSTREAM


class RecordingGate:
    """Stands in for the gate: what it was told, and what goes on."""

    def __init__(self):
        self.told = list[tuple[str, str]]()
        self.going_on = set[str]()

    def __call__(self, what, busy):
        change = self.busy if busy else self.gone if what.endswith("/") else self.free
        change(what)

    def busy(self, what):
        self.told.append(("busy", what))
        self.going_on.add(what)

    def free(self, what):
        self.told.append(("free", what))
        self.going_on.discard(what)

    def gone(self, prefix):
        self.told.append(("gone", prefix))
        self.going_on = {what for what in self.going_on if not what.startswith(prefix)}


@pytest.fixture
def gate():
    return RecordingGate()


CONTEXT = LLMContext()


def frame(name, **fields):
    """Make a frame by its name; the LLM's context and a tool's properties are no JSON."""
    if name == "LLMContextFrame":
        fields["context"] = CONTEXT
    if "properties" in fields:
        fields["properties"] = frames.FunctionCallResultProperties(**fields["properties"])
    return getattr(frames, name)(**fields)


@cases("processor/activity.jsonl", "")
def test_activity_what_goes_on(gate, name, seen, expected):
    following = Activity(gate, "kitchen")
    for kind, *fields in seen:
        following.see(frame(kind, **fields[0] if fields else {}), DOWN)
    assert gate.going_on == {f"kitchen/{what}" for what in expected}


def test_activity_subclass_means_the_same(gate):
    class Mine(frames.TranscriptionFrame):
        pass

    Activity(gate, "kitchen").see(Mine("a cat", "anna", "now"), DOWN)
    assert gate.going_on == {"kitchen/a turn"}


def test_activity_frame_counts_once_however_often_it_is_pushed(gate):
    following = Activity(gate, "kitchen")
    begin, end = frames.BotStartedSpeakingFrame(), frames.BotStoppedSpeakingFrame()
    for pushed in (begin, begin, end, begin, end):  # a later processor pushes it later
        following.see(pushed, DOWN)
    assert [how for how, _ in gate.told] == ["busy", "free"]


@pytest.mark.parametrize(
    ("who", "way", "asks"),
    [("assistant", DOWN, False), ("assistant", UP, True), ("user", DOWN, True)],
)
async def test_activity_context_after_an_answer_asks_nobody(gate, who, way, asks):
    pair = LLMContextAggregatorPair(CONTEXT)
    following, asked = Activity(gate, "kitchen"), frames.LLMContextFrame(CONTEXT)
    following.see(asked, way, getattr(pair, who)())
    following.see(asked, way)  # pushed on by the next processor
    assert bool(gate.going_on) is asks


def test_activity_conversation_that_is_over_counts_no_more(gate):
    following, other = Activity(gate, "kitchen"), Activity(gate, "kitchen2")
    for each in (following, other):
        each.see(frames.BotStartedSpeakingFrame(), DOWN)
    following.end()
    assert gate.going_on == {"kitchen2/the bot"}
    following.see(frames.UserStartedSpeakingFrame(), DOWN)
    assert gate.going_on == {"kitchen2/the bot"}


async def test_activity_reading_ahead_keeps_others_away(gate):
    assert await Activity(gate, "kitchen").warm(AsyncMock(), CONTEXT)
    reading = "kitchen/reading ahead"
    assert gate.told == [("busy", reading), ("free", reading)]


# ------------------------------------------------------------------- in a pipeline


async def in_pipeline(config, gate, reply, **how):
    """Have one exchange with an engine that has this gate; return what it was told, name aside."""
    engine = MemoryEngine(replace(config, idle=IdleOptions(enabled=False)))
    engine.set_activity = gate  # type: ignore[method-assign]
    processor = HybridContextualMemoryProcessor(engine=engine, name="kitchen")
    async with VoicePipeline(reply, memory=processor, speed=50, **how) as voice:
        await voice.exchange("hello there my friend")
        await voice.until(lambda: not voice.bot_speaks and voice.spoken)
    await asyncio.to_thread(engine.close)
    prefix = f"kitchen:{processor.id}/"
    return [(how, what.removeprefix(prefix)) for how, what in gate.told if prefix in what]


async def test_activity_turn_is_followed_from_the_first_sound_to_the_last(config, gate):
    own = await in_pipeline(config, gate, lambda _: "I see.")
    begun, ended = ({what for way, what in own if way == how} for how in ("busy", "free"))
    assert {"a turn", "the LLM", "the bot"} <= begun <= ended
    assert own[0] in (("busy", "a voice"), ("busy", "a turn"))
    assert own[-1] == ("gone", "") and not gate.going_on


async def test_activity_tool_keeps_the_gate_closed_until_its_answer_is_answered(config, gate):
    async def look_up(params):
        while not any("tool " in what for what in gate.going_on):  # heard of a moment later
            await asyncio.sleep(0)
        await params.result_callback({"found": "it"})

    tool = FunctionSchema("look_up", "Looks something up.", {}, [], handler=look_up)
    replies = iter([ToolCall("look_up", {}), "It is here."])

    told = await in_pipeline(config, gate, lambda _: next(replies), tools=[tool])
    returned = max(i for i, (how, what) in enumerate(told) if (how, what[:4]) == ("free", "tool"))
    assert ("busy", "the LLM") in told[returned:]  # the context that goes upstream
