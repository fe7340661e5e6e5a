"""The processor alone, frame by frame."""

import asyncio

import pytest
from pipecat.frames import frames
from pipecat.frames.frames import (
    BotSpeakingFrame,
    InputAudioRawFrame,
    LLMContextAssistantTurnFrame,
    LLMContextFrame,
    LLMFullResponseStartFrame,
    LLMServiceMetadataFrame,
    LLMTextFrame,
    TextFrame,
    TranscriptionFrame,
)
from pipecat.processors.aggregators.llm_context import LLMContext, LLMSpecificMessage
from pipecat.processors.frame_processor import FrameDirection
from pipecat.tests.utils import run_test

from slowcat_memory import strip_memories
from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from slowcat_memory.engine import engine
from tests.support.memories import edges, ledger, remember, said, turns
from tests.support.processors import (
    MAX,
    QUESTION,
    blocks,
    memory,
    through,
    user,
)
from tests.support.stores import configured


def test_processor_context_frame_is_given_one_block_and_reruns_are_not(config):
    remember(config, MAX)
    context = LLMContext(messages=[user(QUESTION)])
    down, up = through(memory(config), *(LLMContextFrame(context) for _ in range(3)))
    content = context.messages[0]["content"]
    assert content.startswith(f"{OPEN}\n") and content.endswith(f"\n{CLOSE}\n\n{QUESTION}")
    assert "User: My dog is called Max." in content and blocks(content) == 1
    assert [frame.context for frame in down] == [context] * 3 and not up
    assert said(config)[1:] == [("User", QUESTION)]
    assert edges(config)[2:] == ["start", "end disconnect"]
    (entry,) = ledger(config)
    assert entry.turn == turns(config)[-1].id and len(entry.offers) == 1


def test_processor_patterns_are_compiled_as_it_begins_and_not_by_a_turn(config, monkeypatch):
    prepared = []
    monkeypatch.setattr(engine, "compile_patterns", lambda *given: prepared.append(given))
    through(memory(config))  # no turn
    assert [language for language, _ in prepared] == ["english"]


def test_processor_memory_with_nothing_in_it_prefixes_nothing_but_that(config):
    context = LLMContext(messages=[user("My dog is called Max.")])
    through(memory(config), LLMContextFrame(context))
    assert context.messages == [user("My dog is called Max.")]
    (entry,) = ledger(config)
    assert (entry.offers, entry.tokens) == ((), 0)


def test_processor_that_nothing_is_remembered_is_said_once(config):
    context = LLMContext(messages=[user(QUESTION)])
    through(memory(config), *(LLMContextFrame(context) for _ in range(3)))
    content = context.messages[0]["content"]
    assert blocks(content) == 1 and content.endswith(f"\n{CLOSE}\n\n{QUESTION}")
    assert content.count("nothing about this is remembered") == 1
    (entry,) = ledger(config)
    assert entry.offers == () and 0 < entry.tokens < 40


def test_processor_multimodal_message_gets_a_part_of_its_own(config):
    remember(config, MAX)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [image, {"type": "text", "text": "is this dog"}, {"type": "text", "text": "called Max"}]
    context = LLMContext(messages=[user(list(parts))])
    through(memory(config), LLMContextFrame(context))
    block, *rest = context.messages[0]["content"]
    assert block["type"] == "text" and block["text"].startswith(OPEN) and rest == parts
    assert said(config)[-1] == ("User", "is this dog called Max")
    assert strip_memories(context.messages) == [user(parts)]


@pytest.mark.parametrize("content", ["   \n ", "\u202e", None, [{"type": "text"}]])
def test_processor_message_that_says_nothing_leaves_no_trace(config, content):
    remember(config, MAX)
    context = LLMContext(messages=[user(content)])
    down, up = through(memory(config), LLMContextFrame(context), LLMContextFrame(context))
    assert len(down) == 2 and not up
    assert context.messages == [user(content)]
    assert len(turns(config)) == 1 and len(edges(config)) == 2


def test_processor_messages_that_are_not_plain_are_passed_over(config):
    remember(config, MAX)
    special = LLMSpecificMessage(llm="anthropic", message={"role": "user", "content": "raw"})
    context = LLMContext(messages=[special, user(QUESTION), special])
    down, up = through(memory(config), LLMContextFrame(context))
    assert len(down) == 1 and not up
    assert context.messages[0] is special and context.messages[2] is special
    assert blocks(context.messages[1]["content"]) == 1


def test_processor_context_frame_going_up_is_not_ours(config):
    remember(config, MAX)
    context = LLMContext(messages=[user(QUESTION)])
    down, up = through(
        memory(config),
        LLMContextFrame(context),
        frames_to_send_direction=FrameDirection.UPSTREAM,
    )
    assert [frame.context for frame in up] == [context]
    assert context.messages == [user(QUESTION)] and len(turns(config)) == 1


@pytest.mark.parametrize("direction", list(FrameDirection))
def test_processor_every_other_frame_passes_in_both_directions(config, direction):
    sent = [
        TextFrame("a"),
        LLMTextFrame("b"),
        InputAudioRawFrame(b"\0\0" * 160, 16000, 1),
        TranscriptionFrame("c", "anna", "now"),
        BotSpeakingFrame(),
        LLMContextAssistantTurnFrame(text="d", timestamp="now"),
        LLMServiceMetadataFrame(service_name="llm"),
        LLMFullResponseStartFrame(),
    ]
    down, up = through(memory(config), *sent, frames_to_send_direction=direction)
    out = down if direction is FrameDirection.DOWNSTREAM else up
    assert {frame.id for frame in out} >= {frame.id for frame in sent}


async def test_processor_without_aggregators_the_upward_frame_brings_the_agents_words(config):
    context = LLMContext(messages=[user("hello")])

    processor = memory(config)

    async def answer(_, frame):
        if isinstance(frame, LLMContextFrame):
            reply = LLMContextAssistantTurnFrame(text="Hello, you.", timestamp="now")
            await processor.queue_frame(reply, FrameDirection.UPSTREAM)

    processor.add_event_handler("on_after_push_frame", answer)
    await run_test(processor, frames_to_send=[LLMContextFrame(context)], start_timeout=30.0)
    hello, reply = turns(config)
    assert (reply.speaker, reply.text, reply.reply_to) == ("Assistant", "Hello, you.", hello.id)
    assert not reply.interrupted


def test_processor_turn_frame_of_newer_pipecat_says_that_it_was_spoken(config):
    user_turn = getattr(frames, "LLMContextUserTurnFrame", None)
    if user_turn is None:
        pytest.skip("LLMContextUserTurnFrame is newer than this Pipecat (1.13)")
    spoken, typed = LLMContext(messages=[user("spoken")]), LLMContext(messages=[user("typed")])
    through(
        memory(config),
        user_turn(text="spoken", timestamp="now"),
        LLMContextFrame(spoken),
        LLMContextFrame(typed),
    )
    assert [(turn.text, turn.channel) for turn in turns(config)] == [
        ("spoken", "voice"),
        ("typed", "text"),
    ]


def test_processor_users_own_tag_is_theirs(tmp_path):
    config = configured(tmp_path / "memory", recall={"floor": 0.0})
    remember(config, MAX)
    words = f"is my dog called {OPEN} or {CLOSE}"
    context = LLMContext(messages=[user(words)])
    through(memory(config), LLMContextFrame(context))
    assert said(config)[-1] == ("User", words)
    assert context.messages[0]["content"].endswith(f"{CLOSE}\n\n{words}")
    assert strip_memories(context.messages) == [user(words)]


def test_processor_block_that_comes_back_is_never_logged(config):
    remember(config, MAX)
    first = LLMContext(messages=[user(QUESTION)])
    through(memory(config), LLMContextFrame(first))
    restored = LLMContext(messages=[dict(message) for message in first.messages])
    through(memory(config), LLMContextFrame(restored))
    assert restored.messages == first.messages
    assert not any(OPEN in turn.text for turn in turns(config))


def test_processor_what_is_given_overrides_the_configuration(config, tmp_path):
    processor = memory(config, path=tmp_path / "other", memory_token_budget=0, hot_cache_size=7)
    remember(config, MAX)
    context = LLMContext(messages=[user(QUESTION)])
    through(processor, LLMContextFrame(context))
    assert context.messages == [user(QUESTION)] and len(turns(config)) == 1
    assert (tmp_path / "other").is_dir()


def test_processor_session_context_is_there_before_the_pipeline(config):
    remember(config, MAX)
    processor = memory(config)
    text = asyncio.run(processor.session_context())
    assert text.splitlines()[2].startswith("You have talked")
    through(processor, LLMContextFrame(LLMContext(messages=[user("hi")])))
    assert said(config)[-1] == ("User", "hi")  # the same engine, released by the pipeline
