"""Another person speaks: what the LLM is sent holds nothing of the one before, in a pipeline."""

import pytest
from pipecat.frames.frames import LLMSummarizeContextFrame

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.testing.server import ToolCall
from tests.support.memories import engine_of, remember
from tests.support.stores import household
from tests.support.voice_pipeline import VoicePipeline, run

SPEAKERS = {"s1": "anna", "s2": "ben"}
SECRET = "Zqxdoctor"


@pytest.fixture
def home(tmp_path):
    config = household(tmp_path / "memory")
    remember(config, f"Anna: My therapist is called {SECRET}.", scope="anna", days=3)
    with engine_of(config) as engine:
        engine.remember(f"Anna sees {SECRET} on Mondays.", "anna", pinned=True)
    return config


def sent(body) -> str:
    return str(body["messages"])


def talk(config, *said, reply=lambda _: "Well.", tools=False, head=False, then=None):
    """Let people speak in turn; return the requests that answered each of them."""

    async def scenario():
        processor = HybridContextualMemoryProcessor(config=config, speakers=SPEAKERS)
        instruction = "You are a cat."
        if head:
            instruction += "\n\n" + await processor.session_context("anna")
        voice = VoicePipeline(
            reply, memory=processor, tools=processor.tools() if tools else None,
            system_instruction=instruction,
        )  # fmt: skip
        requests = []
        async with voice:
            for who, words in said:
                before = len(voice.server.requests)
                await voice.exchange(words, user_id=who)
                requests.append([*voice.server.requests[before:]])
                if then:
                    await then(voice)
        if processor.engine and head:
            processor.engine.close()
        return requests

    return run(scenario())


@pytest.mark.parametrize("who", ["s2", "eve"])
def test_speaker_change_tools_answer_is_not_sent_for_another(home, who):
    def reply(request):
        last = request["messages"][-1]
        if last["role"] == "user" and "therapist" in str(last):
            return ToolCall("search_memory", {"query": "therapist called"})
        return "Well."

    anna, other, again = talk(
        home, ("s1", "please look up my therapist"), (who, "hello there"), ("s1", "and me"),
        reply=reply, tools=True,
    )  # fmt: skip
    assert SECRET in sent(anna[-1]), "the answer of the tool"
    assert all(SECRET not in sent(body) for body in other)
    calls = [m for m in other[0]["messages"] if m.get("tool_calls")]
    results = [m for m in other[0]["messages"] if m["role"] == "tool"]
    assert len(calls) == len(results) == 1 and again


def test_speaker_change_answer_of_a_command_is_not_sent_for_another(home):
    hello, command, other = talk(
        home, ("s2", "hello"), ("s1", "what do you know about me"), ("s2", "hello again")
    )
    assert hello and command == [] and SECRET not in sent(other[0])


@pytest.mark.parametrize("first", ["s2", "eve"])
def test_speaker_change_head_of_one_is_not_sent_for_another_and_comes_back(home, first):
    other, anna, again = talk(
        home, (first, "hello"), ("s1", "good day"), (first, "me again"), head=True
    )
    assert SECRET not in sent(other[0]) and SECRET not in sent(again[0])
    assert SECRET in anna[0]["messages"][0]["content"]
    assert "You are a cat." in other[0]["messages"][0]["content"]


def test_speaker_change_summary_of_the_context_is_made_of_what_was_said(home):
    async def summarise(voice):
        before = len(voice.server.requests)
        await voice.worker.queue_frame(LLMSummarizeContextFrame())
        await voice.server.wait_for_requests(before + 1)

    def reply(request):
        return "Well." if request.get("stream") else "A summary."

    bodies = []

    async def then(voice):
        if len(voice.turns) == 3:
            await summarise(voice)
            bodies.extend(body for body in voice.server.requests if not body.get("stream"))

    one, *_ = talk(
        home, ("s1", "where is my therapist called"), ("s1", "two"), ("s1", "three"),
        reply=reply, then=then,
    )  # fmt: skip
    assert SECRET in sent(one[0]), "a block"
    assert bodies and "my therapist called" in sent(bodies[-1])
    assert f"called {SECRET}" not in sent(bodies[-1])
