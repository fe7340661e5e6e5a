"""The headless conversation and the tests' voice pipeline, on real HTTP in front of a script."""

import asyncio

import pytest

from slowcat_memory.errors import EndpointError
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer, ToolCall
from tests.support.faulty_llm_server import FaultServer
from tests.support.voice_pipeline import FunctionSchema

STORY = "There was a cat. It lived in a house. It liked fish. It slept all day. It was old. " * 2


def said(request: dict) -> str:
    return request["messages"][-1]["content"]


def echo(request: dict) -> str:
    return f"You said {said(request)}"


def weather_tool(sky: str | None = "rain") -> FunctionSchema:
    async def get_weather(params):
        if sky is None:
            raise OSError("no window")
        await params.result_callback({"sky": sky})

    return FunctionSchema("get_weather", "The weather.", {}, [], handler=get_weather)


def call_weather_then_tell(request: dict):
    if request["messages"][-1]["role"] == "tool":
        return "It rains."
    return ["One moment. ", ToolCall("get_weather", {"city": "Oslo"})]


async def test_headless_conversation_a_tool_call_goes_round_and_is_one_reply():
    async with (
        ScriptedServer(call_weather_then_tell) as server,
        HeadlessConversation(llm_url=server.url, tools=[weather_tool()]) as talk,
    ):
        reply = await talk.say("how is the weather")
        assert (await talk.say("and now")).tools == ("get_weather",)
    assert reply.text == "One moment. It rains." and reply.tools == ("get_weather",)
    assert server.requests[0]["tools"][0]["function"]["name"] == "get_weather"
    assert server.requests[1]["messages"][-1]["content"] == '{"sky": "rain"}'


async def test_headless_conversation_a_tool_that_fails_does_not_fail_the_turn():
    async with (
        ScriptedServer(call_weather_then_tell) as server,
        HeadlessConversation(llm_url=server.url, tools=[weather_tool(sky=None)]) as talk,
    ):
        assert (await talk.say("how is the weather")).text == "One moment. It rains."
        assert "no window" in talk.errors[0]


async def test_headless_conversation_a_second_turn_interrupts_the_first():
    async with (
        ScriptedServer(
            lambda r: STORY if "story" in said(r) else "Yes?", token_delay_s=0.01
        ) as server,
        HeadlessConversation(llm_url=server.url) as talk,
    ):
        begun = asyncio.Event()
        story = asyncio.create_task(talk.say("a story", on_token=lambda _: begun.set()))
        await begun.wait()
        second = await talk.say("stop")
        first = await story
        await server.wait_until(lambda: server.cancelled == 1)
    assert first.interrupted and first.text and STORY.startswith(first.text)
    assert (second.text, second.interrupted) == ("Yes?", False)


async def test_headless_conversation_a_server_that_is_down_is_a_clear_error():
    async with ScriptedServer() as server:
        url = server.url
    async with HeadlessConversation(llm_url=url) as talk:
        with pytest.raises(EndpointError, match="Connection error.*running at http://127"):
            await talk.say("anybody there", timeout_s=10)
        assert len(talk.errors) == 1


async def test_headless_conversation_a_redirect_is_not_followed():
    async with FaultServer("elsewhere") as server:
        server.fault = "redirect"
        async with HeadlessConversation(llm_url=server.url) as talk:
            with pytest.raises(EndpointError, match="307"):
                await talk.say("my memories stay here")


async def test_headless_conversation_an_answer_that_does_not_come_is_an_error_in_time():
    async with (
        ScriptedServer(echo, first_token_delay_s=5) as server,
        HeadlessConversation(llm_url=server.url) as talk,
    ):
        with pytest.raises(EndpointError, match="not within 0.1 s"):
            await talk.say("hello", timeout_s=0.1)
        await talk.cancel()
        with pytest.raises(EndpointError, match="the pipeline has ended"):
            await talk.say("hello again")
