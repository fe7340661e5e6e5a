"""What is local-only, and where the LLM is."""

import asyncio
import contextlib
import re
from typing import Any

import pytest
from pipecat.pipeline.llm_switcher import LLMSwitcher
from pipecat.pipeline.parallel_pipeline import ParallelPipeline
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.service_switcher import ServiceSwitcher, ServiceSwitcherStrategyManual
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMAssistantAggregatorParams,
    LLMContextAggregatorPair,
)
from pipecat.services.llm_service import LLMService
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.utils.context.llm_context_summarization import (
    LLMAutoContextSummarizationConfig,
    LLMContextSummaryConfig,
)

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.processor.neighbours import are_local, find_neighbours
from slowcat_memory.testing.server import ToolCall
from tests.support.memories import engine_of, remember, turns
from tests.support.processors import talking

# ------------------------------------------------------------------- what is local-only, and where the LLM is

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in (*PROXIES, "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def llm(url: str) -> OpenAILLMService:
    return OpenAILLMService(
        api_key="none", base_url=url, settings=OpenAILLMService.Settings(model="x")
    )


# ------------------------------------------------------------------- where it is


class Opaque:
    """A service that tells nothing about its server."""


class Odd:
    class _client:  # as services name it
        base_url = "not a url"


@pytest.mark.parametrize(("service", "host"), [(Opaque(), "Opaque"), (Odd(), "Odd")])
def test_locality_what_cannot_be_read_is_elsewhere(lines, service, host):
    assert not are_local([service])
    assert lines == [f"WARNING memories leave this machine to {host}"]


HERE, THERE = "http://127.0.0.1:1234/v1", "http://192.0.2.7:1234/v1"


class Quiet(LLMService):
    """A third party's service that does not say where it sends the conversation."""


class Wrapping(LLMService):
    """A third party's service that passes the conversation to another one."""

    def __init__(self, inner):
        super().__init__()
        self._inner = inner


async def neighbours(*after, aggregators=None, beside=()):
    """Find the LLMs of a pipeline: memory and ``after``, parallel to ``beside``."""
    memory = HybridContextualMemoryProcessor(path="unused")
    branch = [memory, *after]
    pipeline = Pipeline([ParallelPipeline(branch, list(beside))] if beside else branch)
    return find_neighbours(memory, aggregators, pipeline)


PIPELINES = {
    "one here": (lambda: [llm(HERE)], True),
    "one there": (lambda: [llm(THERE)], False),
    "none": (lambda: [], False),
    "a third party's": (lambda: [Quiet()], False),
    "a third party's, behind one here": (lambda: [llm(HERE), Quiet()], False),
    "one that wraps one there": (lambda: [Wrapping(llm(THERE))], False),
    "one that wraps one here": (lambda: [Wrapping(llm(HERE))], False),
    "a switch between two here": (lambda: [LLMSwitcher([llm(HERE), llm(HERE)])], True),
    "a switch that may go there": (lambda: [LLMSwitcher([llm(HERE), llm(THERE)])], False),
    "a service switch": (
        lambda: [ServiceSwitcher([llm(HERE), llm(THERE)], ServiceSwitcherStrategyManual)],
        False,
    ),
    "two branches here": (lambda: [ParallelPipeline([llm(HERE)], [llm(HERE)])], True),
    "one branch there": (lambda: [ParallelPipeline([llm(HERE)], [llm(THERE)])], False),
    "nested": (lambda: [Pipeline([Pipeline([llm(HERE)]), llm(THERE)])], False),
}


@pytest.mark.parametrize(("make", "local"), PIPELINES.values(), ids=PIPELINES)
async def test_locality_of_all_llms_of_a_pipeline(make, local):
    assert are_local((await neighbours(*make())).llms) is local


async def test_locality_an_llm_in_a_branch_beside_the_memory_counts():
    """It reads the same context, into which the blocks are written."""

    assert are_local((await neighbours(llm(HERE), beside=[llm(HERE)])).llms)
    assert not are_local((await neighbours(llm(HERE), beside=[llm(THERE)])).llms)


@pytest.mark.parametrize(("url", "local"), [(HERE, True), (THERE, False)])
async def test_locality_an_llm_for_summaries_counts(url, local):
    summary = LLMContextSummaryConfig(llm=llm(url))
    config = LLMAutoContextSummarizationConfig(summary_config=summary)
    params = LLMAssistantAggregatorParams(auto_context_summarization_config=config)
    pair = LLMContextAggregatorPair(LLMContext(), assistant_params=params)
    assert are_local((await neighbours(llm(HERE), aggregators=pair)).llms) is local


@pytest.mark.parametrize("name", PROXIES[::2])
def test_locality_what_goes_through_a_proxy_is_elsewhere(monkeypatch, name):
    monkeypatch.setenv(name, "http://192.0.2.7:3128")
    assert not are_local([llm("http://127.0.0.1:1234/v1")])
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    assert are_local([llm("http://127.0.0.1:1234/v1")])


def test_locality_warning_names_the_hosts(lines):
    assert not are_local([llm(HERE), llm(THERE)])
    assert lines == ["WARNING memories leave this machine to 192.0.2.7:1234"]
    assert are_local([llm(HERE)]) and not are_local([])  # without an LLM nothing leaves
    assert len(lines) == 1


# ------------------------------------------------------------------- what stays


DOG = "Anna: My dog is called Max."
PIN = "Anna: The alarm of my dog house has the code 4711."


def asks(config, question: str, **how) -> str:
    """Ask one question and return what the LLM was sent."""
    return str(talking(HybridContextualMemoryProcessor(config=config, **how), question).requests)


@pytest.fixture
def stays(config):
    remember(config, DOG, PIN)
    with contextlib.closing(MemoryEngine(config)) as engine:
        (hit,) = engine.search("what code has the alarm", "user", 1).hits
        assert engine.edit("user", hit.memory.id, local_only=True).local_only
        engine.remember("My dog house is insured.", "user", pinned=True, local_only=True)
    return config


@pytest.mark.parametrize(("how", "there"), [({}, True), ({"llm_is_local": False}, False)])
def test_locality_what_is_local_only_goes_to_no_other_machine(stays, how, there):
    sent = asks(stays, "tell me about my dog house", **how)
    assert ("4711" in sent, "insured" in sent) == (there, there)
    assert "Max" in sent  # the others fill the places


async def test_locality_system_instruction_keeps_it_too(stays):
    for local in (None, True):  # None: nobody knows yet where the LLM is
        memory = HybridContextualMemoryProcessor(config=stays, llm_is_local=local)
        assert ("insured" in await memory.session_context()) is bool(local)
        await memory.cleanup()


def test_locality_it_stays_so_through_pins_seals_and_openings(stays):
    for seal in (True, False):
        with contextlib.closing(MemoryEngine(stays)) as engine:
            found = engine.search("the alarm of my dog house", "user", 9).hits
            assert not re.search("code 4711|insured", str(found))
            found = engine.search("the alarm of my dog house", "user", 9, local=True).hits
            (pin,) = [hit.memory for hit in found if "4711" in hit.memory.text]
            assert engine.edit("user", pin.id, pinned=True).local_only
            assert engine.remember("My dog house is insured.", "user").local_only  # said again
            if seal:
                engine.upkeep.seal("user")
    with contextlib.closing(MemoryEngine(stays)) as engine:
        assert not engine.edit("user", pin.id, local_only=False).local_only
        assert "4711" in str(engine.search("the alarm of my dog house", "user", 9).hits)
        assert engine.edit("user", "note/none", local_only=True) is None


# ------------------------------------------------------------------- what is local-only in a conversation: spoken answers, replies made from it, the

CODE = "Zqx4711"


def talk(config: Any, *said: str, reply: Any = None, tools: bool = False, **how: Any) -> list[str]:
    """Hold a conversation; return the LLM's requests, and what the agent said."""
    memory = HybridContextualMemoryProcessor(config=config, **how)

    async def indexed(voice):
        await asyncio.to_thread(memory.engine.flush, 2.0, indexed=True)

    voice = talking(memory, *said, reply=reply, tools=tools, then=indexed).voice
    return [*map(str, voice.server.requests), *(turn.content for turn in voice.turns)]


def replying(text: str) -> Any:
    return lambda body: text


def stored(config: Any, text: str) -> bool:
    """Return whether the turn with a text is local-only."""
    (turn,) = [turn for turn in turns(config, "user") if turn.text == text]
    with engine_of(config) as engine, engine.snapshot() as snapshot:
        memory = snapshot.read("user", chunk_id(turn.id))
        found = engine.search("bank pin", "user", 20).hits
        assert not (memory.local_only and any(hit.memory.id == memory.id for hit in found))
        return memory.local_only


@pytest.mark.parametrize("private", [True, False])
def test_local_only_a_reply_to_its_block_is_local_only(config, private):
    with engine_of(config) as engine:
        note = engine.remember(f"My bank pin is {CODE}.", "user", local_only=private)
    answer = f"Your bank pin is {CODE}."
    heard = talk(config, "what is my bank pin", reply=replying(answer), llm_is_local=True)
    assert CODE in heard[0]
    assert stored(config, answer) is private
    with engine_of(config) as engine:  # and it follows the note
        engine.edit("user", note.id, local_only=not private)
    if private:
        assert stored(config, answer) is False


@pytest.mark.parametrize("notes", [False, True])
def test_local_only_what_the_llm_says_or_notes_of_a_tools_answer_is_local_only(config, notes):
    with engine_of(config) as engine:
        engine.remember(f"My bank pin is {CODE}.", "user", local_only=True)
    answer = f"It is {CODE}, as you said."
    script = [[ToolCall("search_memory", {"query": "bank pin"})], answer]
    if notes:
        script[1:] = [[ToolCall("remember", {"text": f"The user's pin is {CODE}."})], "Done."]
    talk(config, "please look it up", reply=lambda body: script.pop(0), tools=True,
         llm_is_local=True)  # fmt: skip
    assert notes or stored(config, answer) is True
    with engine_of(config) as engine:
        assert CODE not in str(engine.search("the pin of the user", "user", 20).hits)


def test_local_only_an_exchange_kept_here_leaves_a_remote_llms_context(config):
    remember(config, "Anna: My dog is called Max.")
    said = (f"my bank pin is {CODE} so you know", "keep that between us", "what a nice day it is")
    heard = talk(config, *said, reply=replying(f"I see, {CODE}."), llm_is_local=False)
    first, last = heard[0], heard[1]
    assert CODE in first and CODE not in last
    with engine_of(config) as engine:
        assert CODE not in str(engine.search("bank pin", "user", 20).hits)


def test_local_only_an_exchange_kept_here_stays_in_a_local_llms_context(config):
    said = (f"my bank pin is {CODE} so you know", "keep that between us", "what a nice day it is")
    assert CODE in talk(config, *said, llm_is_local=True)[1]
