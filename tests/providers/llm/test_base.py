from datetime import UTC

import pytest

from slowcat_memory.idle.job import BudgetGate, CountingLLM, NoLimit
from slowcat_memory.providers import CircuitBreakerLLM, RecordingLLM, is_remote
from slowcat_memory.testing import FixedClock, ScriptedLLM


class Foreign:
    """An LLM of another package that says nothing of where it runs."""

    prompt_tokens = 1000

    async def complete(self, prompt, into):
        raise NotImplementedError


async def probe() -> bool:
    return True


@pytest.mark.parametrize("says", [None, True, False])
def test_is_remote_counts_an_absent_member_as_remote(says, tmp_path) -> None:
    llm = Foreign()
    if says is not None:
        llm.remote = says
    wrapped = (
        CircuitBreakerLLM(llm, probe),
        RecordingLLM(llm, tmp_path / "recorded.jsonl"),
        CountingLLM(llm, BudgetGate(NoLimit(), FixedClock(), UTC)),
    )
    assert is_remote(llm) is (says is not False)
    assert [one.remote for one in wrapped] == [is_remote(llm)] * 3


def test_is_remote_of_a_scripted_llm() -> None:
    assert not is_remote(ScriptedLLM(lambda prompt: {}))
