import asyncio
import json
import resource
import sys
import time
from typing import Annotated

import openai
import pytest
from msgspec import Meta, Struct

from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.providers import Prompt, ThinkingOptions
from slowcat_memory.providers.llm.openai import OpenAILLM
from tests.support.faulty_llm_server import FAULTS, Fault, FaultServer

GOOD = '{"note": "Anna\'s dog is called Max.", "questions": ["Who is Max?"]}'
SECRET = "marzipan"
PROMPT = Prompt(job="test", version=1, system="Note it.", user=f"She likes {SECRET}. " * 80)
ERRORS = {"endpoint": EndpointError, "bad": BadAnswerError, "long": PromptTooLongError}
QUICK = {"first_token_s": 0.25, "between_tokens_s": 0.25, "total_s": 0.5, "connect_s": 0.5}


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    note: Annotated[str, Meta(max_length=300)]
    questions: Annotated[list[str], Meta(max_length=3)] = []


def patient(server: FaultServer) -> OpenAILLM:
    return OpenAILLM(ThinkingOptions(url=server.url, **QUICK))  # type: ignore[arg-type]


def megabytes() -> float:
    """The most memory that this process ever had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_faults_openai_llm_a_fault_is_one_of_three_errors_or_none(fault: Fault) -> None:
    async def run() -> None:
        async with FaultServer(GOOD) as server:
            llm = patient(server)
            assert await llm.probe()
            server.fault = fault.name
            before, began = megabytes(), time.perf_counter()
            if fault.outcome == "ok":
                assert (await llm.complete(PROMPT, Note)).value.questions == ["Who is Max?"]
            else:
                with pytest.raises(ERRORS[fault.outcome]) as caught:
                    await llm.complete(PROMPT, Note)
                assert type(caught.value) is ERRORS[fault.outcome]
                assert SECRET not in str(caught.value) and "pred" not in str(caught.value)
            assert time.perf_counter() - began < 30.0  # two requests with deadlines; a busy machine
            assert megabytes() - before < 150
            await server.until_closed()
            server.fault = "none"
            assert (await llm.complete(PROMPT, Note)).value.note.startswith("Anna")
            await llm.close()

    asyncio.run(run())


def test_faults_openai_llm_there_are_enough_faults_and_each_has_a_name() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 35


async def trusting(url: str) -> None:
    """What is written first, and does not do."""
    async with openai.AsyncOpenAI(base_url=url, api_key="x", max_retries=0, timeout=30) as client:
        text = ""
        stream = await client.chat.completions.create(
            model="tiny",
            messages=[{"role": "user", "content": PROMPT.user}],
            stream=True,
        )
        async for chunk in stream:
            text += (chunk.choices and chunk.choices[0].delta.content) or ""
            if len(text) > 100_000:
                return
        json.loads(text)


def test_faults_openai_llm_a_trusting_client_is_caught() -> None:
    """The harness sees what it must: answers that are none, and errors that nobody expects."""
    caught: set[str] = set()

    async def run() -> None:
        for name in ("half stream", "whole but cut", "silent truncation", "malformed line", "drip"):
            async with FaultServer(GOOD) as server:
                server.fault = name
                try:
                    async with asyncio.timeout(1 if name == "drip" else 30):
                        await trusting(server.url)
                    caught.add(f"{name}: taken for an answer")
                except TimeoutError:
                    caught.add(f"{name}: no end")
                except openai.OpenAIError:
                    pass
                except ValueError:
                    caught.add(f"{name}: another error")

    asyncio.run(run())
    assert caught == {
        "half stream: taken for an answer",
        "whole but cut: taken for an answer",
        "silent truncation: taken for an answer",
        "malformed line: another error",
        "drip: no end",
    }
