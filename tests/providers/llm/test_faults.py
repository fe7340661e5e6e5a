import resource
import sys
import time

import pytest
from msgspec.structs import replace

from slowcat_memory.errors import BadAnswerError, EndpointError, PromptTooLongError
from slowcat_memory.providers import ThinkingOptions
from slowcat_memory.providers.llm.openai import OpenAILLM
from tests.support.faulty_llm_server import FAULTS, Fault, FaultServer
from tests.support.llm_prompts import GOOD, PROMPT, Note

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
