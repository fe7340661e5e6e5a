"""The processor's keywords: each has an effect, or is an error that says what was meant."""

import contextlib

import pytest
from msgspec.structs import replace
from pipecat.frames.frames import LLMContextFrame
from pipecat.processors.aggregators.llm_context import LLMContext

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.errors import ConfigError
from slowcat_memory.processor.engine_handle import load_config
from slowcat_memory.runtime.injection import ContextOptions
from tests.support.memories import remember
from tests.support.processors import MAX, QUESTION, memory, through, user
from tests.support.voice_pipeline import VoicePipeline


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
    context = LLMContext(messages=[user(QUESTION)])
    processor = memory(config, use_contextual=False)
    down, _ = through(processor, LLMContextFrame(context))
    assert context.messages == [user(QUESTION)] and len(down) == 1
    assert processor.engine is None and processor.tool_call() is None


async def test_without_a_memory_nothing_is_said_of_one(config) -> None:
    remember(config, MAX)

    processor = memory(config, use_contextual=False)
    result = await processor.session_context(), await processor.push_icebreaker("Ask about it.")
    assert result == ("", None)
