"""What is local-only in a conversation: spoken answers, replies made from it, the LLM's context."""

import asyncio
from typing import Any

import pytest

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.testing.server import ToolCall
from tests.support.memories import engine_of, remember, turns
from tests.support.voice_pipeline import VoicePipeline, run

PIN = "Zqx4711"


def talk(config: Any, *said: str, reply: Any = None, tools: bool = False, **how: Any) -> list[str]:
    """Hold a conversation; return the LLM's requests, and what the agent said."""

    async def scenario() -> list[str]:
        memory = HybridContextualMemoryProcessor(config=config, **how)
        offered = memory.tools() if tools else None
        async with VoicePipeline(reply, memory=memory, tools=offered) as voice:
            for text in said:
                await voice.exchange(text)
                await asyncio.to_thread(memory.engine.flush, 2.0, indexed=True)
            requests = [str(request) for request in voice.server.requests]
            return [*requests, *(turn.content for turn in voice.turns)]

    return run(scenario())


@pytest.mark.parametrize(("local", "there"), [(True, True), (False, False), (None, True)])
def test_local_only_what_is_known_is_answered_without_it_for_a_remote_llm(config, local, there):
    with engine_of(config) as engine:
        engine.remember(f"My bank pin is {PIN}.", "user", local_only=True)
        engine.remember("My dog is called Max.", "user")
    heard = talk(config, "what do you know about me?", "thank you very much", llm_is_local=local)
    assert (PIN in str(heard), "Max" in str(heard)) == (there, True)


def replying(text: str) -> Any:
    return lambda body: text


def stored(config: Any, text: str) -> bool:
    """Return whether the turn with a text is local-only."""
    (turn,) = [turn for turn in turns(config, "user") if turn.text == text]
    with engine_of(config) as engine, engine.snapshot() as snapshot:
        memory = snapshot.read("user", chunk_id(turn.id))
        found = engine.search("bank pin", "user", 20).hits
        assert memory is not None
        assert not (memory.local_only and any(hit.memory.id == memory.id for hit in found))
        return memory.local_only


@pytest.mark.parametrize("private", [True, False])
def test_local_only_a_reply_to_its_block_is_local_only(config, private):
    with engine_of(config) as engine:
        note = engine.remember(f"My bank pin is {PIN}.", "user", local_only=private)
    answer = f"Your bank pin is {PIN}."
    heard = talk(config, "what is my bank pin", reply=replying(answer), llm_is_local=True)
    assert PIN in heard[0]
    assert stored(config, answer) is private
    with engine_of(config) as engine:  # and it follows the note
        engine.edit("user", note.id, local_only=not private)
    if private:
        assert stored(config, answer) is False


def test_local_only_a_reply_made_from_a_tools_answer_is_local_only(config):
    with engine_of(config) as engine:
        engine.remember(f"My bank pin is {PIN}.", "user", local_only=True)
    answer = f"It is {PIN}, as you said."
    script = [[ToolCall("search_memory", {"query": "bank pin"})], answer]
    talk(config, "please look it up", reply=lambda body: script.pop(0), tools=True,
         llm_is_local=True)  # fmt: skip
    assert stored(config, answer) is True


def test_local_only_what_the_llm_notes_of_it_is_local_only(config):
    with engine_of(config) as engine:
        engine.remember(f"My bank pin is {PIN}.", "user", local_only=True)
    noted = [ToolCall("remember", {"text": f"The user's pin is {PIN}."})]
    script = [[ToolCall("search_memory", {"query": "bank pin"})], noted, "Done."]
    talk(config, "please look it up", reply=lambda body: script.pop(0), tools=True,
         llm_is_local=True)  # fmt: skip
    with engine_of(config) as engine:
        assert PIN not in str(engine.search("the pin of the user", "user", 20).hits)


def test_local_only_an_exchange_kept_here_leaves_a_remote_llms_context(config):
    remember(config, "Anna: My dog is called Max.")
    said = (f"my bank pin is {PIN} so you know", "keep that between us", "what a nice day it is")
    heard = talk(config, *said, reply=replying(f"I see, {PIN}."), llm_is_local=False)
    first, last = heard[0], heard[1]
    assert PIN in first and PIN not in last
    with engine_of(config) as engine:
        assert PIN not in str(engine.search("bank pin", "user", 20).hits)


def test_local_only_an_exchange_kept_here_stays_in_a_local_llms_context(config):
    said = (f"my bank pin is {PIN} so you know", "keep that between us", "what a nice day it is")
    heard = talk(config, *said, llm_is_local=True)
    assert PIN in heard[1]
