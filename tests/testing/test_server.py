"""The scripted server, asked by the real OpenAI client over a real socket."""

import math

import pytest
from openai import APIStatusError, AsyncOpenAI

from slowcat_memory.testing import HashEmbedder
from slowcat_memory.testing.server import Failure, ScriptedServer, ToolCall, parrot
from tests.support.rows import each_row


def client(server: ScriptedServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0)


def ask(*texts: str) -> dict:
    return {"model": "m", "messages": [{"role": "user", "content": text} for text in texts]}


WEATHER = [
    "Let me look. ",
    ToolCall("get_weather", {"city": "Oslo"}),
    ToolCall("get_time", {}, id="mine"),
]


async def test_scripted_server_a_streamed_reply_arrives_word_by_word_and_whole():
    async with ScriptedServer(lambda request: "One two  three.\n") as server:
        stream = await client(server).chat.completions.create(**ask("count"), stream=True)
        chunks = [chunk async for chunk in stream]
    words = [c.choices[0].delta.content for c in chunks if c.choices[0].delta.content]
    assert words == ["One", " two", "  three.", "\n"]
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(chunk.usage is None for chunk in chunks)
    assert [r["messages"][0]["content"] for r in server.requests] == ["count"]
    assert len(server.arrived) == 1 and server.completed == 1 and server.cancelled == 0


async def test_scripted_server_a_plain_reply_equals_the_streamed_one():
    async with ScriptedServer(lambda request: WEATHER) as server:
        plain = await client(server).chat.completions.create(**ask("weather"))
        stream = await client(server).chat.completions.create(**ask("weather"), stream=True)
        deltas = [chunk.choices[0].delta async for chunk in stream]
    message = plain.choices[0].message
    assert plain.choices[0].finish_reason == "tool_calls"
    assert message.content == "".join(d.content or "" for d in deltas) == "Let me look. "
    streamed = {}
    for call in (call for delta in deltas for call in delta.tool_calls or []):
        name, arguments = streamed.get(call.index, ("", ""))
        name += call.function.name or ""
        streamed[call.index] = name, arguments + call.function.arguments
    assert [(c.function.name, c.function.arguments) for c in message.tool_calls] == [
        ("get_weather", '{"city": "Oslo"}'),
        ("get_time", "{}"),
    ]
    assert list(streamed.values()) == [
        (c.function.name, c.function.arguments) for c in message.tool_calls
    ]
    assert message.tool_calls[0].id.startswith("call_") and message.tool_calls[1].id == "mine"


async def test_scripted_server_a_scripted_failure_is_an_http_error():
    async with ScriptedServer(lambda request: Failure(429, "too many")) as server:
        with pytest.raises(APIStatusError) as caught:
            await client(server).chat.completions.create(**ask("hello"))
    assert caught.value.status_code == 429 and "too many" in str(caught.value)


async def test_scripted_server_a_mistake_in_the_script_is_a_server_error_with_its_reason():
    async with ScriptedServer(lambda request: request["nothing"]) as server:
        with pytest.raises(APIStatusError) as caught:
            await client(server).chat.completions.create(**ask("hello"))
    assert caught.value.status_code == 500 and "KeyError('nothing')" in str(caught.value)


async def test_scripted_server_models_and_embeddings():
    text = "the cat sleeps"
    async with ScriptedServer(model="tiny") as server:
        models = await client(server).models.list()
        answers = [
            await client(server).embeddings.create(model="e", input=text, dimensions=256, **form)
            for form in ({}, {"encoding_format": "float"})
        ]
    for answer in answers:
        assert math.dist(HashEmbedder(256).encode_query(text), answer.data[0].embedding) < 1e-6
    assert [model.id for model in models.data] == ["tiny"]
    assert [request["input"] for request in server.embedding_requests] == [text, text]


BLOCK = """<memories>
- (12 May) Anna: My dog is called Max.
- (13 May) Ben: I am flying to Lisbon on Friday.
- Anna likes ginger tea: strong, without milk.
</memories>

"""


@each_row(
    ("texts", "answer"),
    [
        ((BLOCK + "What is my dog called?",), "I remember (12 May): Anna said, “My dog is called Max.”"),
        ((BLOCK + "when do I fly to lisbon",), "I remember (13 May): Ben said, “I am flying to Lisbon"),
        ((BLOCK + "Do you know whether I like tea?",), "strong, without milk.”"),
        ((BLOCK + "My dog is called Max.",), "I am listening."),
        (("What is my dog called?",), "I don't know"),
        ((BLOCK + "Hello.", "And what is my dog called?"), "Max"),
        (("My dog is called Max.", "What is my dog called?"), "I don't know"),
    ],
)  # fmt: skip
def test_server_the_parrot_quotes_the_line_that_shares_most_with_the_question(texts, answer):
    assert answer in parrot(ask(*texts))


def test_server_the_parrot_trusts_the_line_next_to_the_question_if_it_is_told_to():
    question = "What does my animal enjoy?"
    assert parrot(ask(BLOCK + question)).startswith("I don't know")
    assert "ginger tea" in parrot(ask(BLOCK + question), trusting=True)
    assert parrot(ask(BLOCK + "Hi.", question), trusting=True).startswith("I don't know")
