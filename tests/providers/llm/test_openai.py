"""The client of an OpenAI-compatible server: what is sent, what is too long, and every fault."""

import asyncio
import json
import random
import resource
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from aiohttp import web
from msgspec import Meta, Struct
from msgspec.structs import replace

from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.providers import CircuitBreakerLLM, ThinkingOptions, is_remote
from slowcat_memory.providers.llm.openai import OpenAILLM
from slowcat_memory.providers.llm.server import (
    ASSUMED,
    SHARE_OF_CONTEXT,
    ServerError,
    classify,
    label,
    schema_of,
    was_cut,
)
from tests.support.faulty_llm_server import FAULTS, Fault, FaultServer, Scene
from tests.support.idle_doubles import job_llm
from tests.support.llm_prompts import GOOD, PROMPT, Note
from tests.support.rows import cases, each_listed, listed


@asynccontextmanager
async def talk(
    good: Any = GOOD, clock: Callable[[], float] = lambda: 0.0, **options: Any
) -> AsyncIterator[tuple[FaultServer, OpenAILLM]]:
    """Let a client talk to a server."""
    async with FaultServer(good) as server:
        values = {"url": server.url, "total_s": 5.0, **options}
        llm = OpenAILLM(ThinkingOptions(**values), clock=clock)
        yield server, llm
        await llm.close()


async def test_openai_llm_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://example.org")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    async with talk() as (server, llm):
        answer = await llm.complete(PROMPT, Note)
        (request,) = server.requests
        assert request["stream"] and request["max_tokens"] == 512 and request["model"] == "tiny"
        assert [m["role"] for m in request["messages"]] == ["system", "user"]
        schema = request["response_format"]["json_schema"]["schema"]
        assert schema["required"] == ["note"] and schema["additionalProperties"] is False
        assert "sk-secret" not in json.dumps(request)
        assert answer.model == "tiny@server:b1" and answer.tokens_in > 0 and answer.tokens_out == 9


async def test_openai_llm_an_answer_is_repaired_once() -> None:
    replies = iter(["{}", GOOD])

    async with talk(lambda body: next(replies)) as (server, llm):
        answer = await llm.complete(PROMPT, Note)
        assert answer.value.note == "Max is a dog." and len(server.requests) == 2
        again = server.requests[1]["messages"][1]["content"]
        assert again.startswith(PROMPT.user) and "required field `note`" in again
        assert answer.tokens_out == 18, "both requests were paid for"


async def test_openai_llm_the_way_of_asking_is_remembered() -> None:
    async with talk() as (server, llm):
        server.fault = "string error"
        await llm.complete(PROMPT, Note)
        await llm.complete(PROMPT, Note)
        forms = [body.get("response_format", {}).get("type") for body in server.requests]
        assert forms == ["json_schema", "json_object", None, None]
        assert '"required": ["note"]' in server.requests[-1]["messages"][0]["content"]
        assert server.requests[0]["messages"][0]["content"] == PROMPT.system


async def test_openai_llm_a_busy_server_says_how_long() -> None:
    async with talk() as (server, llm):
        server.fault = "429"
        with pytest.raises(EndpointError) as caught:
            await llm.complete(PROMPT, Note)
        assert caught.value.retry_after == 100 and len(server.requests) == 1


async def test_openai_llm_whenever_it_is_interrupted_the_server_is_left_alone_at_once() -> None:
    """Beyond the margin of a busy machine, no interruption may cost what it is to save."""
    rng, took = random.Random(3), list[float]()

    async with talk() as (server, llm):
        server.fault = "drip"
        for _ in range(50):
            call = asyncio.create_task(llm.complete(PROMPT, Note))
            await asyncio.wait([call], timeout=rng.random() * 0.02)
            call.cancel()
            began = time.perf_counter()
            with pytest.raises(asyncio.CancelledError):
                await call
            await server.until_closed()
            took.append(time.perf_counter() - began)
        server.fault = "none"
        assert (await llm.complete(PROMPT, Note)).value.note

    median = sorted(took)[25]
    assert median < 0.25, f"{median * 1000:.0f} ms"


async def test_openai_llm_the_first_model_or_the_one_that_is_named() -> None:
    async with talk(model="b") as (server, llm):
        models = [{"id": "a"}, {"id": "b", "max_model_len": 9000}]
        server.pages["/v1/models"] = {"data": models}
        assert await llm.probe() and llm.prompt_tokens == 5400
        assert (await llm.complete(PROMPT, Note)).model == "b@server:b1"


@pytest.mark.parametrize("models", [None, [], ["x"], [{"id": None}], [{"object": "model"}]])
async def test_openai_llm_a_server_without_a_model_is_away(models: Any) -> None:
    async with talk() as (server, llm):
        server.pages = {"/v1/models": {"data": models}} if models is not None else {}
        assert not await llm.probe()
        with pytest.raises(EndpointError):
            await llm.complete(PROMPT, Note)
        assert not server.requests


@pytest.mark.parametrize(
    ("configured", "job", "sent"), [(-1.0, None, 0.1), (0.5, None, 0.5), (0.5, 0.0, 0.0)]
)
async def test_openai_llm_a_temperature_of_the_job_comes_first(configured, job, sent) -> None:
    async with talk(temperature=configured) as (server, llm):
        await llm.complete(replace(PROMPT, temperature=0.1, job_temperature=job), Note)
        assert server.requests[-1]["temperature"] == sent


async def test_openai_llm_another_model_is_noticed(lines: list[str]) -> None:
    async with talk() as (server, llm):
        before = await llm.complete(PROMPT, Note)
        server.fault = "wrong model"
        after = await llm.complete(PROMPT, Note)
        assert (before.model, after.model) == ("tiny@server:b1", "another-model@server:b1")

    assert any(
        "The LLM changed from tiny@server:b1 to another-model@server:b1" in line for line in lines
    )


def test_openai_llm_a_remote_server_is_warned_of_once_a_day(lines: list[str]) -> None:
    now = [0.0]
    options = ThinkingOptions(
        url="http://192.0.2.7/v1", allow_remote=True, connect_s=0.01, first_token_s=0.01
    )
    llm = OpenAILLM(options, clock=lambda: now[0])
    for hours in (0, 1, 23, 25):
        now[0] = hours * 3600.0
        asyncio.run(llm.probe())
    warned = [line for line in lines if "Memories leave this machine" in line]
    assert len(warned) == 2 and "192.0.2.7:80" in warned[0]


async def test_openai_llm_nothing_of_a_memory_is_logged(lines: list[str]) -> None:
    async with talk() as (server, llm):
        for fault in ("none", "schema violation", "500", "overflow 400", "half stream"):
            server.fault = fault
            try:
                await llm.complete(PROMPT, Note)
            except (BadAnswerError, EndpointError, PromptTooLongError) as error:
                assert "Max" not in repr(error)

    assert lines and not any("Max" in line or "Anna" in line for line in lines)


@each_listed("server_errors", "an error")
def test_openai_llm_what_an_error_means(status: str, text: str, meaning: str) -> None:
    assert classify(int(status), text) == meaning


class Fact(Struct, frozen=True, forbid_unknown_fields=True):
    subject: Annotated[str, Meta(max_length=20)]
    weight: float
    count: int = 0


def test_json_modes_a_schema_has_neither_references_nor_limits_that_no_grammar_counts() -> None:
    class Long(Struct, forbid_unknown_fields=True):
        text: Annotated[str, Meta(max_length=50_000, description="a text")]
        facts: list[Fact]
        maxLength: str = "a field of that name"

    schema = schema_of(Long)
    assert schema["properties"]["text"] == {"type": "string"}
    assert schema["properties"]["maxLength"] == {"type": "string"}
    item = schema["properties"]["facts"]["items"]
    assert item["properties"]["subject"] == {"type": "string", "maxLength": 20}
    assert item["additionalProperties"] is False and item["required"] == ["subject", "weight"]
    assert "$" not in json.dumps(schema)


@cases("providers/openai.jsonl")
def test_server_info_a_models_name_is_one_printable_line(sent, shown) -> None:
    assert label(sent) == shown


class Foreign:
    """An LLM of another package that says nothing of where it runs."""

    prompt_tokens = 1000


@pytest.mark.parametrize("says", [None, True, False])
def test_is_remote_counts_an_absent_member_as_remote(says) -> None:
    llm = Foreign()
    if says is not None:
        llm.remote = says
    assert is_remote(llm) is (says is not False)
    assert CircuitBreakerLLM(llm, None).remote == job_llm(llm).remote == is_remote(llm)


# ---------------------------------------------------------------- how long a prompt may be


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


@each_listed("providers/context_size.jsonl")
def test_context_size_when_a_prompt_was_cut(estimate, read, known, cut):
    assert was_cut(estimate, read, known=known) is cut


# ---------------------------------------------------------------- every fault of a server


SECRET = "marzipan"
ASKED = replace(PROMPT, user=f"She likes {SECRET}. " * 80)
ERRORS = {"endpoint": EndpointError, "bad": BadAnswerError, "long": PromptTooLongError}
QUICK = {"first_token_s": 1.0, "between_tokens_s": 1.0, "total_s": 3.0, "connect_s": 10.0}


def megabytes() -> float:
    """The most memory that this process ever had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_faults_openai_llm_a_fault_is_one_of_three_errors_or_none(fault: Fault) -> None:
    async with FaultServer(GOOD) as server:
        llm = OpenAILLM(ThinkingOptions(url=server.url, **QUICK))  # type: ignore[arg-type]
        assert await llm.probe()
        server.fault = fault.name
        before, began = megabytes(), time.perf_counter()
        if fault.outcome == "ok":
            assert (await llm.complete(ASKED, Note)).value.note == "Max is a dog."
        else:
            with pytest.raises(ERRORS[fault.outcome]) as caught:
                await llm.complete(ASKED, Note)
            assert type(caught.value) is ERRORS[fault.outcome]
            assert SECRET not in str(caught.value) and "pred" not in str(caught.value)
        assert time.perf_counter() - began < 30.0  # two requests with deadlines; a busy machine
        assert megabytes() - before < 150
        await server.until_closed()
        server.fault = "none"
        assert (await llm.complete(ASKED, Note)).value.note == "Max is a dog."
        await llm.close()
