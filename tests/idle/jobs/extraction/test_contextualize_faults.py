"""Whatever a model server does, a chunk is described as a good answer would, or not at all."""

import asyncio
import json
from pathlib import Path

import pytest

from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.providers import Prompt, ThinkingOptions
from slowcat_memory.providers.llm.openai import OpenAILLM
from tests.support.described_chunks import GARDEN, JOB, House, reply
from tests.support.faulty_llm_server import FAULTS, Fault, FaultServer

ERRORS = {"endpoint": EndpointError, "bad": BadAnswerError, "long": PromptTooLongError}
QUICK = {"first_token_s": 0.2, "between_tokens_s": 0.2, "total_s": 0.5, "connect_s": 0.5}


def good(body: dict) -> str:
    prompt = Prompt(job="x", version=1, system="", user=body["messages"][-1]["content"])
    return json.dumps(reply(prompt))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_contextualize_faults_contextualize_a_fault_writes_nothing_or_what_is_true(
    fault: Fault, tmp_path: Path
) -> None:
    house = House(tmp_path / "store")
    ids = house.say("s", *GARDEN[:8])
    [task] = house.plan()

    async def run() -> None:
        async with FaultServer(good) as server:
            server.fault = fault.name
            patience = {} if fault.outcome == "ok" else QUICK
            house.llm = llm = OpenAILLM(ThinkingOptions(url=server.url, **patience))  # type: ignore[arg-type]
            house.open()
            try:
                batch = await JOB.step(task, house.contexts(JOB))
            except tuple(ERRORS.values()) as error:
                assert fault.outcome != "ok" and type(error) is ERRORS[fault.outcome]
                assert not any(text in str(error) for text in GARDEN)
            else:
                assert fault.outcome == "ok"
                told = {context.memory: context.text for context in batch.contexts}
                assert told == {
                    f"chunk/{id}": f"Somebody says: Ada: {text}"
                    for id, text in zip(ids, GARDEN, strict=False)
                }
            await llm.close()

    asyncio.run(run())
    house.store.close()
