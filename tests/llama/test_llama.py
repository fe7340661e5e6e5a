"""A real llama.cpp server with a tiny model."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import pytest
from msgspec import Meta, Struct

from slowcat_memory.core.extraction.known import NOTHING_KNOWN
from slowcat_memory.core.facts import prompt as fact_prompts
from slowcat_memory.core.facts.prompt import FactReply, FactsReply, build_prompt, check_reply
from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.providers import Prompt, ThinkingOptions, open_llm
from slowcat_memory.providers.llm.openai import OpenAILLM
from slowcat_memory.providers.llm.server import JsonMode
from tests.support import said

# ------------------------------------------------------------------- the client against a real llama.cpp server, whose models write nonsense at best


class Fact(Struct, frozen=True, forbid_unknown_fields=True):
    subject: Annotated[str, Meta(min_length=1, max_length=40)]
    sure: bool


class Facts(Struct, frozen=True, forbid_unknown_fields=True):
    facts: Annotated[list[Fact], Meta(max_length=4)]
    note: Annotated[str, Meta(max_length=200)]


class Saga(Struct, frozen=True, forbid_unknown_fields=True):
    """Takes the model seconds to write."""

    chapters: Annotated[list[Annotated[str, Meta(min_length=900)]], Meta(min_length=20)]


def asking(user: str = "Anna has a dog.", **more: int) -> Prompt:
    return Prompt(job="facts", version=1, system="Extract facts.", user=user, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("calls", [12, pytest.param(500, marks=pytest.mark.slow)])
async def test_llama_answers_are_what_was_asked_for_or_bad(llama, calls: int) -> None:
    outcomes: list[str] = []

    llm = open_llm(ThinkingOptions(url=llama.url))
    assert llm and await llm.ready()
    for n in range(calls):
        try:
            answer = await llm.complete(asking(f"Anna has {n} dogs.", max_tokens=700), Facts)
        except BadAnswerError:
            outcomes.append("bad")
        except EndpointError:  # beside busy processes it may break off
            outcomes.append("away")
        else:
            assert isinstance(answer.value, Facts) and len(answer.value.facts) <= 4
            assert answer.model.startswith("tiny@llama.cpp:") and answer.tokens_out > 0
            outcomes.append("ok")
    assert len(outcomes) == calls
    if llama.letters == "ascii":
        assert outcomes.count("ok") >= calls * 0.9, outcomes


@pytest.mark.parametrize("form", ["json_object", "prompt"])
async def test_llama_without_a_grammar_what_is_nonsense_is_bad(llama, form) -> None:
    llm = OpenAILLM(ThinkingOptions(url=llama.url))
    assert await llm.probe() and llm._server
    llm._modes[llm._server.model(), llm._server.kind] = JsonMode(form)
    outcomes = []
    for n in range(5):
        try:
            await llm.complete(asking(f"Anna has {n} dogs.", max_tokens=100), Facts)
            outcomes.append("ok")
        except BadAnswerError:
            outcomes.append("bad")
        except EndpointError:  # beside busy processes it may break off
            continue
    assert outcomes.count("bad") >= max(1, len(outcomes) - 1), "nonsense passed for facts"


async def test_llama_the_server_tells_how_much_it_reads(llama) -> None:
    llm = OpenAILLM(ThinkingOptions(url=llama.url))
    assert llm.prompt_tokens == int(0.6 * 8192)
    assert await llm.probe()
    assert llm.prompt_tokens == int(0.6 * 4096)


@pytest.mark.parametrize("context_tokens", [0, 1_000_000])
async def test_llama_a_prompt_that_is_too_long(llama, context_tokens: int) -> None:
    """Once refused before it is sent, once by the server."""

    llm = OpenAILLM(ThinkingOptions(url=llama.url, context_tokens=context_tokens))
    with pytest.raises(PromptTooLongError):
        await llm.complete(asking("One more word. " * 1500), Facts)


async def test_llama_a_cancelled_call_frees_the_slot(llama) -> None:
    llm = OpenAILLM(ThinkingOptions(url=llama.url))
    assert await llm.probe()
    call = asyncio.create_task(llm.complete(asking(max_tokens=3500), Saga))
    async with asyncio.timeout(30):
        while not await asyncio.to_thread(llama.busy):
            assert not call.done(), "the model was done before it could be interrupted"
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    began = time.perf_counter()
    async with asyncio.timeout(10):  # to write it takes minutes
        while await asyncio.to_thread(llama.busy):
            pass
    print(f"freed after {(time.perf_counter() - began) * 1000:.0f} ms")


# ------------------------------------------------------------------- what a model that writes nonsense says about people is not believed

CALLS = 12
AT = datetime(2026, 5, 12, 18, tzinfo=UTC)


class Pressed(Struct, frozen=True, forbid_unknown_fields=True):
    """The same answer, in which facts must be: left to itself a tiny model writes none."""

    facts: Annotated[list[FactReply], Meta(min_length=1, max_length=3)]


@pytest.mark.parametrize("form", [FactsReply, pytest.param(Pressed, marks=pytest.mark.slow)])
async def test_nonsense_facts_none_of_it_is_a_fact(llama, form: type[Struct]) -> None:
    kept, answered, written = [], 0, 0
    llm = open_llm(ThinkingOptions(url=llama.url))
    assert llm and await llm.ready()
    for n in range(CALLS):
        words = f"I have {n} dogs and I live in Lisbon, I love it."
        turn = said.turn(words, id=n + 1, scope="a", at=AT)
        user = build_prompt([turn], [turn.id], NOTHING_KNOWN, UTC, 800)
        asked = {"job": "facts", "version": 1, "system": fact_prompts.SYSTEM, "max_tokens": 900}
        try:
            answer = await llm.complete(Prompt(user=user, **asked), form)
        except (BadAnswerError, EndpointError):  # beside busy processes it may break off
            continue
        reply = msgspec.convert(msgspec.to_builtins(answer.value), FactsReply)
        answered, written = answered + 1, written + len(reply.facts)
        done = check_reply(reply, {turn.id: turn}, [turn], UTC)
        kept.extend(one for one in done.kept if not one.why)
    print(f"{llama.letters}: {answered} of {CALLS} answered with {written} facts, {len(kept)} kept")
    assert not kept
