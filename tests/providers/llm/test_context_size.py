"""A server that tells no context length is tried, and what it refuses or cuts is learned."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.errors import PromptTooLongError
from slowcat_memory.providers import ThinkingOptions
from slowcat_memory.providers.llm.openai import OpenAILLM
from slowcat_memory.providers.llm.server import (
    ASSUMED,
    SHARE_OF_CONTEXT,
    ServerError,
    classify,
    named_length,
    was_cut,
)
from tests.support.faulty_llm_server import FaultServer, Scene
from tests.support.llm_prompts import GOOD, PROMPT, Note
from tests.support.rows import each_listed, listed

# What servers say of a prompt of some 9,000 tokens, when they have 4,096.
REFUSALS = dict(listed("server_errors", "a prompt that is too long"))


class SmallServer(FaultServer):
    """Tells no context length; has one, and refuses or cuts what is longer.

    Attributes:
        context: Its length in tokens.
        refuses: Its words for a prompt that is too long; "" cuts it.
        counts: Whether it counts the tokens that it read.
    """

    def __init__(self, context: int, refuses: str = "", counts: bool = True) -> None:
        super().__init__(GOOD)
        self.context, self.refuses, self.counts = context, refuses, counts

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        body = await http.json()
        self.requests.append(body)
        size = sum(estimate_tokens(one["content"]) for one in body["messages"])
        if self.refuses and size > self.context:
            return web.Response(text=self.refuses, status=400)
        read = min(size, self.context) if self.counts else 0
        return await Scene(self, http, body).stream(GOOD, tokens_in=read)


@asynccontextmanager
async def client_of(server: SmallServer) -> AsyncIterator[OpenAILLM]:
    async with server:
        llm = OpenAILLM(ThinkingOptions(url=server.url))
        yield llm
        await llm.close()


def words(tokens: int) -> str:
    text = "word " * tokens
    return text[: int(len(text) * tokens / estimate_tokens(text))]


async def test_context_size_a_server_that_tells_nothing_gets_prompts_of_a_usual_size() -> None:
    async with client_of(SmallServer(16_384)) as llm:
        assert llm.prompt_tokens == int(ASSUMED * SHARE_OF_CONTEXT) > 4000
        user = words(llm.prompt_tokens - 100)
        assert (await llm.complete(replace(PROMPT, user=user), Note)).value.note
        assert llm.prompt_tokens == int(ASSUMED * SHARE_OF_CONTEXT), "nothing was wrong with it"


@pytest.mark.parametrize("context", [4096, 2048])
@pytest.mark.parametrize("refusal", [*REFUSALS, "cut", "cut uncounted"])
async def test_context_size_what_a_server_refuses_or_cuts_makes_prompts_shorter(refusal, context):
    """Until one is answered: each is as long as the client says that it may be."""
    text = REFUSALS.get(refusal, "").replace("4096", str(context))
    server, failed = SmallServer(context, text, counts=refusal != "cut uncounted"), 0
    async with client_of(server) as llm:
        while failed < 4:
            prompt = replace(PROMPT, user=words(llm.prompt_tokens - 50))
            try:
                await llm.complete(prompt, Note)
                break
            except PromptTooLongError:
                failed += 1
        assert 1 <= failed <= 2, "a step for each length that servers have, and no more"
        assert 1000 < llm.prompt_tokens <= (context if refusal != "cut uncounted" else 2500)
        asked = len(server.requests)
        with pytest.raises(PromptTooLongError):
            await llm.complete(replace(PROMPT, user=words(6000)), Note)
        assert len(server.requests) == asked, "it is remembered, and not sent again"


@pytest.mark.parametrize("text", REFUSALS.values(), ids=REFUSALS)
def test_context_size_errors_of_every_server_are_known(text: str) -> None:
    assert classify(400, text) is ServerError.TOO_LONG
    assert named_length(text) in (0, 4096)
    assert (named_length(text) == 4096) == ("4096" in text)


@each_listed("providers/context_size.jsonl")
def test_context_size_when_a_prompt_was_cut(estimate, read, known, cut):
    assert was_cut(estimate, read, known=known) is cut
