"""The processor alone, frame by frame."""

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
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameDirection

from slowcat_memory import strip_memories
from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from tests.support.memories import ledger, remember, said, turns
from tests.support.processors import (
    MAX,
    QUESTION,
    blocks,
    memory,
    through,
    user,
)
from tests.support.stores import configured


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
