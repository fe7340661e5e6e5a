"""Longer walks: what one conversation hears, another recalls; and laws that hold at every turn."""

import asyncio
from itertools import pairwise

from pipecat.frames.frames import LLMContextFrame, MetricsFrame
from pipecat.metrics.metrics import ProcessingMetricsData
from pipecat.pipeline.worker import PipelineParams
from pipecat.processors.filters.function_filter import FunctionFilter

from slowcat_memory import strip_memories
from slowcat_memory.core.render.memory_block import OPEN
from tests.support.memories import engine_remembering, ledger, remember, said
from tests.support.processors import (
    QUESTION,
    STORY,
    blocks,
    contents,
    events_of,
    last_said,
    logged,
    memory,
    session_turns,
)
from tests.support.rows import listed_texts
from tests.support.voice_pipeline import VoicePipeline

EARLIER = listed_texts("conversation", "said earlier")
QUESTIONS = listed_texts("conversation", "asked")
CANARIES = ("xylophonist", "quokkas", "bandicoot", "zeugma")


async def walk(voice, *lines):
    for line in lines:
        await voice.exchange(line)


engine = engine_remembering({3: EARLIER})


# ---------------------------------------------------------------- sessions


async def test_conversation_what_one_session_heard_the_next_one_recalls(model_config):
    """The first source's own test: three exchanges about a dog called Max.

    The user states nothing, so what the agent told is recalled, and not how it answered questions
    about the user: these answers repeat a memory, or were made up.
    """
    exchanges = {
        "What's my dog's name?": "Your dog's name is Max.",
        "Tell me about Max": "Max is a golden retriever who loves playing fetch.",
        "What does my pet like?": "Max enjoys playing fetch and going on walks.",
    }

    reply = lambda request: exchanges[last_said(request)]  # noqa: E731
    async with VoicePipeline(reply, memory=memory(model_config)) as voice:
        await walk(voice, *exchanges)
    processor = memory(model_config)
    recalled = events_of(processor, "on_memory_recalled")
    async with VoicePipeline(lambda _: "Fetch.", memory=processor) as voice:
        await voice.exchange("What does my animal enjoy?")
        [(found, packed)], asked = recalled, contents(voice.server.requests[0])[-1]
    assert found.stage == "full"
    assert [hit.memory.text for hit in found.hits] == [exchanges["Tell me about Max"]]
    assert asked.startswith(packed.text) and "Max is a golden retriever" in asked
    assert packed.tokens <= 256


# ---------------------------------------------------------------- laws


async def test_conversation_keeps_its_laws_at_every_turn(engine, config):
    processor, timed = memory(config, engine=engine), []
    told = events_of(processor, "on_memory_recalled")

    async def measure(_, frame):
        for data in frame.data if isinstance(frame, MetricsFrame) else ():
            own = isinstance(data, ProcessingMetricsData) and "Memory" in data.processor
            if own and data.value > 0:
                timed.append(data)

    params = PipelineParams(enable_metrics=True)
    async with VoicePipeline(memory=processor, params=params, speed=20) as voice:
        voice.aggregators.assistant().add_event_handler("on_before_process_frame", measure)
        await walk(voice, *QUESTIONS)
    recalled = [packed for _, packed in told]
    requests = [request["messages"] for request in voice.server.requests]
    assert len(requests) == len(recalled) == len(timed) == len(QUESTIONS)
    for earlier, later in pairwise(requests):
        assert later[: len(earlier)] == earlier, "the prefix is never broken"
        assert [message["role"] for message in later[len(earlier) :]] == ["assistant", "user"]

    answers = [m["content"] for m in voice.context.messages if m["role"] == "assistant"]
    users = [m["content"] for m in voice.context.messages if m["role"] == "user"]
    assert not any(map(blocks, answers))
    for content, question, packed in zip(users, QUESTIONS, recalled, strict=True):
        assert blocks(content) <= 1, "one block at most for every message"
        assert content.rpartition("\n\n")[2] == question not in packed.text
        assert content.removesuffix(question).rstrip("\n") == packed.text

    offered = [hit.memory.id for packed in recalled for hit in packed.hits]
    assert len(offered) == len(set(offered)), "nothing visible is said again"
    assert len(offered) >= 8, "it did remember: of ten things, each once"
    assert all(hit.memory.sources[0] <= len(EARLIER) + 1 for p in recalled for hit in p.hits)

    heard = session_turns(engine)
    assert [turn.text for turn in heard if turn.role == "user"] == list(QUESTIONS)
    assert not any(OPEN in turn.text for turn in heard), "nothing injected is logged"
    plain = strip_memories(voice.context.messages)
    assert [m["content"] for m in plain] == [turn.text for turn in heard]

    with engine.store.snapshot() as snapshot:
        entries = sorted(snapshot.ledger_tail(100), key=lambda entry: entry.turn)
        for entry, packed, question in zip(entries, recalled, QUESTIONS, strict=True):
            assert snapshot.turn(entry.turn).text == question
            assert [offer.memory for offer in entry.offers] == [h.memory.id for h in packed.hits]
            assert entry.tokens == packed.tokens and entry.timings


# ---------------------------------------------------------------- events


async def test_conversation_exchange_is_told_of_when_it_is_durable(engine, config):
    told = []

    processor = memory(config, engine=engine)

    async def stored(_, asked, answered):
        with engine.store.snapshot() as snapshot:
            told.append((snapshot.turn(asked.id), snapshot.turn(answered.id)))

    processor.add_event_handler("on_exchange_stored", stored)
    async with VoicePipeline(memory=processor) as voice:
        await walk(voice, "good morning", QUESTION)
    assert [(asked.text, bool(answered)) for asked, answered in told] == [
        ("good morning", True),
        (QUESTION, True),
    ]
    assert all(answered.reply_to == asked.id for asked, answered in told)


async def test_conversation_last_exchange_is_told_of_though_the_pipeline_is_cancelled(config):
    told = []

    processor = memory(config)

    async def stored(_, asked, answered):
        await asyncio.sleep(0.2)  # an application takes its time
        told.append((asked.text, answered.interrupted))

    processor.add_event_handler("on_exchange_stored", stored)
    async with VoicePipeline(lambda _: STORY, memory=processor) as voice:
        await voice.speak("tell me a story")
        await voice.until_spoken(1)
        await voice.cancel()
    assert told == [("tell me a story", True)]


async def test_conversation_handler_that_fails_or_dawdles_costs_the_conversation_nothing(
    engine, config
):
    processor, release = memory(config, engine=engine), asyncio.Event()

    async def recalled(*_):
        raise RuntimeError("the application's own mistake")

    async def stored(*_):
        await release.wait()

    processor.add_event_handler("on_memory_recalled", recalled)
    processor.add_event_handler("on_exchange_stored", stored)
    async with VoicePipeline(memory=processor) as voice:
        await walk(voice, QUESTION, "thank you")
        release.set()
    assert len(voice.server.requests) == 2 and voice.errors == []


async def test_conversation_turn_whose_frame_is_lost_is_logged_all_the_same(engine, config):
    """An interruption drops frames that wait in front of a processor."""

    lost = []

    async def lose_first(frame):
        if isinstance(frame, LLMContextFrame) and not lost:
            lost.append(frame)
            return False
        return True

    voice = VoicePipeline()
    voice._memory = [FunctionFilter(lose_first), memory(config, engine=engine)]
    async with voice:
        await voice.speak("nobody will answer this")
        await voice.until(lambda: bool(lost))
        await voice.exchange(QUESTION)
    (request,) = voice.server.requests
    assert contents(request)[1] == "nobody will answer this" and last_said(request) == QUESTION
    users = [(t.text, t.channel) for t in session_turns(engine) if t.role == "user"]
    assert users == [("nobody will answer this", "voice"), (QUESTION, "voice")]


# ---------------------------------------------------------------- privacy


async def test_conversation_no_word_of_the_conversation_is_in_the_logs(config):
    remember(config, f"Anna: My neighbour is a {CANARIES[0]}.")
    answer = f"They keep {CANARIES[1]}. And nothing else."
    with logged("INFO") as lines:
        async with VoicePipeline(lambda _: answer, memory=memory(config)) as voice:
            await walk(voice, "who is my neighbour", f"my cat is a {CANARIES[2]}")
            await voice.speak(f"what is a {CANARIES[3]}")
            await voice.until_spoken(5)
            await voice.cancel()
    assert any(CANARIES[0] in str(turn) for turn in said(config))
    assert len(ledger(config)) == 3
    assert any("slowcat" in line for line in lines)
    assert not [line for line in lines if any(canary in line for canary in CANARIES)]
