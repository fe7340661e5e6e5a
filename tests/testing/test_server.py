"""The scripted server, asked by the real OpenAI client over a real socket."""

import math

import pytest
from openai import APIStatusError, AsyncOpenAI

from slowcat_memory.testing import HashEmbedder
from slowcat_memory.testing.server import ScriptedServer, parrot
from tests.support.rows import DATA, each_listed


def client(server: ScriptedServer) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0)


def ask(*texts: str) -> dict:
    return {"model": "m", "messages": [{"role": "user", "content": text} for text in texts]}


async def test_scripted_server_a_mistake_in_the_script_is_a_server_error_with_its_reason():
    async with ScriptedServer(lambda request: request["nothing"]) as server:
        with pytest.raises(APIStatusError) as caught:
            await client(server).chat.completions.create(**ask("hello"))
    assert caught.value.status_code == 500 and "KeyError('nothing')" in str(caught.value)


async def test_scripted_server_models_and_embeddings():
    text = "the cat sleeps"
    async with ScriptedServer(model="tiny") as server:
        models = await client(server).models.list()
        form = {"dimensions": 256, "encoding_format": "float"}
        answer = await client(server).embeddings.create(model="e", input=text, **form)
    assert math.dist(HashEmbedder(256).encode_query(text).vector, answer.data[0].embedding) < 1e-6
    assert [model.id for model in models.data] == ["tiny"]
    assert [request["input"] for request in server.embedding_requests] == [text]


BLOCK = (DATA / "tools/block.txt").read_text("utf-8")


@each_listed("tools/parrot.jsonl")
def test_server_the_parrot_quotes_the_line_that_shares_most_with_the_question(texts, answer):
    assert answer in parrot(ask(*texts))


def test_server_the_parrot_trusts_the_line_next_to_the_question_if_it_is_told_to():
    question = "What does my animal enjoy?"
    assert parrot(ask(BLOCK + question)).startswith("I don't know")
    assert "ginger tea" in parrot(ask(BLOCK + question), trusting=True)
    assert parrot(ask(BLOCK + "Hi.", question), trusting=True).startswith("I don't know")
