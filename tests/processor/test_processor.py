"""The processor alone: its keywords, frame by frame, and what the user is called."""

import contextlib
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from pipecat.frames import frames
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameDirection

import slowcat_memory
from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine, strip_memories
from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from slowcat_memory.errors import ConfigError
from slowcat_memory.processor.keywords import load_config
from slowcat_memory.runtime.injection import ContextOptions
from tests.support.memories import ledger, remember, said, turns
from tests.support.processors import MAX, QUESTION, asking, blocks, memory, talking, through, user
from tests.support.stores import configured
from tests.support.voice_pipeline import VoicePipeline

# ------------------------------------------------------------------- the processor alone, frame by frame


def test_processor_that_nothing_is_remembered_is_said_once(config):
    context = LLMContext(messages=[user(QUESTION)])
    through(memory(config), *(frames.LLMContextFrame(context) for _ in range(3)))
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
    through(memory(config), frames.LLMContextFrame(context))
    block, *rest = context.messages[0]["content"]
    assert block["type"] == "text" and block["text"].startswith(OPEN) and rest == parts
    assert said(config)[-1] == ("User", "is this dog called Max")
    assert strip_memories(context.messages) == [user(parts)]


@pytest.mark.parametrize("direction", list(FrameDirection))
def test_processor_every_other_frame_passes_in_both_directions(config, direction):
    sent = [
        frames.TextFrame("a"),
        frames.LLMTextFrame("b"),
        frames.InputAudioRawFrame(b"\0\0" * 160, 16000, 1),
        frames.TranscriptionFrame("c", "anna", "now"),
        frames.BotSpeakingFrame(),
        frames.LLMContextAssistantTurnFrame(text="d", timestamp="now"),
        frames.LLMServiceMetadataFrame(service_name="llm"),
        frames.LLMFullResponseStartFrame(),
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
        frames.LLMContextFrame(spoken),
        frames.LLMContextFrame(typed),
    )
    assert [(turn.text, turn.channel) for turn in turns(config)] == [
        ("spoken", "voice"),
        ("typed", "text"),
    ]


def test_processor_block_that_comes_back_is_never_logged(config):
    remember(config, MAX)
    first = LLMContext(messages=[user(QUESTION)])
    through(memory(config), frames.LLMContextFrame(first))
    restored = LLMContext(messages=[dict(message) for message in first.messages])
    through(memory(config), frames.LLMContextFrame(restored))
    assert restored.messages == first.messages
    assert not any(OPEN in turn.text for turn in turns(config))


# ------------------------------------------------------------------- the processor's keywords: each has an effect, or is an error that says what was


@pytest.mark.parametrize(
    ("name", "meant"),
    [("hot_cache_siz", "hot_cache_size"), ("db_path", "path"), ("userid", "user_id")],
)
def test_an_unknown_argument_is_an_error_with_the_nearest_name(name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"'{name}'; did you mean '{meant}'"):
        HybridContextualMemoryProcessor(**{name: "x"})
    with pytest.raises(TypeError, match="argument 'totally_bogus'$"):
        HybridContextualMemoryProcessor(totally_bogus=3)


@pytest.mark.parametrize(
    "values", [{"max_context_tokens": -1}, {"hot_cache_size": -5}, {"memory_token_budget": -1}]
)
def test_a_value_out_of_range_is_an_error(values: dict) -> None:
    with pytest.raises(ConfigError, match="It is 0 to|It is 1 to|>= "):
        HybridContextualMemoryProcessor(**values)


def test_what_the_sources_constructor_takes_is_taken() -> None:
    made = load_config(
        None,
        {
            "hot_cache_size": 100,
            "embedding_model": "sentence-transformers/all-MiniLM-L6-v2",
            "context_llm_endpoint": "http://localhost:1234/v1",
            "max_context_tokens": 1000,
        },
    )
    assert (made.context.max_tokens, made.memory.hot_cache_size) == (1000, 100)


def test_arguments_beside_an_engine_that_it_would_not_use_are_an_error(config) -> None:
    with contextlib.closing(MemoryEngine(config)) as engine:
        with pytest.raises(ConfigError, match="memory_token_budget cannot be set beside engine="):
            HybridContextualMemoryProcessor(engine=engine, memory_token_budget=33)
        other = replace(config, pack=replace(config.pack, memories=1))
        with pytest.raises(ConfigError, match="differs from the configuration of engine="):
            HybridContextualMemoryProcessor(engine=engine, config=other)
        HybridContextualMemoryProcessor(engine=engine, config=config, user_id="anna")


async def test_the_last_exchanges_alone_reach_the_llm_and_older_ones_are_recalled(config) -> None:
    limited = replace(config, context=ContextOptions(exchanges=2))

    async with VoicePipeline(lambda _: "I see.", memory=memory(limited)) as voice:
        for words in ("My dog is called Max.", "It rains.", "I am tired.", QUESTION):
            await voice.exchange(words)
        said = [one for one in voice.context.messages if one["role"] == "user"]
        read, last = [one["content"] for one in said], said[-1]["content"]
    assert len(read) == 2 and "I am tired." in read[0]
    assert "My dog is called Max." in last, "what left the context is remembered"


def test_a_processor_without_a_memory_passes_everything_on_and_opens_no_store(config) -> None:
    remember(config, MAX)
    processor = memory(config, use_contextual=False)
    messages, down, _ = asking(processor)
    assert messages == [user(QUESTION)] and len(down) == 1
    assert processor.engine is None and processor.tool_call() is None


async def test_without_a_memory_nothing_is_said_of_one(config) -> None:
    remember(config, MAX)

    processor = memory(config, use_contextual=False)
    assert await processor.session_context() == ""
    assert await processor.push_icebreaker("Ask about it.") is None


# ------------------------------------------------------------------- what the user is called where the speech recogniser names nobody


@pytest.fixture
def home(tmp_path):
    return configured(tmp_path / "memory", recall={"floor": 0.0})


def talk(config, *said: str, user_id: str) -> None:
    memory = HybridContextualMemoryProcessor(config=config, user_id=user_id)
    talking(memory, *(("", words) for words in said), reply=lambda _: "Well.")


def speakers(config) -> list[str]:
    return [turn.speaker for turn in turns(config) if turn.role == "user"]


def test_an_odd_user_id_is_refused_by_its_name(home):
    with pytest.raises(ConfigError, match="user_id 'Anna Berg!'"):
        HybridContextualMemoryProcessor(config=home, user_id="Anna Berg!")


def test_a_name_that_the_user_gives_is_used_from_then_on(home):
    talk(home, "My bicycle is kept in the cellar.", "my name is ben", user_id="u_17")
    talk(home, "My car is at the station.", user_id="u_17")  # after a restart too
    assert speakers(home) == ["U 17", "Ben", "Ben"]


def test_a_configured_name_stays(home, tmp_path):
    named = configured(tmp_path / "named", memory={"user_name": "Lena"})
    talk(named, "My name is Ben.", "My bicycle is red.", user_id="x")
    assert speakers(named) == ["Lena", "Lena"]


def test_only_the_engine_makes_readers_so_that_none_is_without_names():
    """A reader without names would show the earlier ones."""
    package = Path(slowcat_memory.__file__).parent
    made = {
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if re.search(r"(?<!\w)Reader\(frozenset", file.read_text("utf-8"))
    }
    assert made == {"engine/wiring.py", "runtime/recall/choosing.py"}


@pytest.mark.parametrize("path", ["~no-such-user-here/memory", "a\0b", " "])
def test_load_config_a_path_that_names_no_folder_is_refused_at_once(config, path):
    with pytest.raises(ConfigError, match="memory.path"):
        HybridContextualMemoryProcessor(config=config, path=path)
