"""What a model that writes nonsense says about people is not believed."""

import asyncio
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import pytest
from msgspec import Meta, Struct

from slowcat_memory.core.extraction.known import NOTHING_KNOWN
from slowcat_memory.core.facts import prompt as fact_prompts
from slowcat_memory.core.facts.prompt import FactReply, FactsReply, build_prompt, check_reply
from slowcat_memory.errors import BadAnswerError, EndpointError
from slowcat_memory.providers import Prompt, ThinkingOptions, open_llm
from slowcat_memory.records import Turn

CALLS = 12
AT = datetime(2026, 5, 12, 18, tzinfo=UTC)


class Pressed(Struct, frozen=True, forbid_unknown_fields=True):
    """The same answer, in which facts must be: left to itself a tiny model writes none."""

    facts: Annotated[list[FactReply], Meta(min_length=1, max_length=3)]


@pytest.mark.parametrize("form", [FactsReply, pytest.param(Pressed, marks=pytest.mark.slow)])
def test_nonsense_facts_none_of_it_is_a_fact(llama, form: type[Struct]) -> None:
    kept, answered, written = [], 0, 0

    async def run() -> None:
        nonlocal answered, written
        llm = open_llm(ThinkingOptions(url=llama.url))
        assert llm and await llm.ready()
        for n in range(CALLS):
            turn = Turn(id=n + 1, session="s", scope="a", speaker="Anna", role="user", at=AT,
                        text=f"I have {n} dogs and I live in Lisbon, I love it.")  # fmt: skip
            prompt = Prompt(job="facts", version=1, system=fact_prompts.SYSTEM,
                            user=build_prompt([turn], [turn.id], NOTHING_KNOWN, UTC, 800), max_tokens=900)  # fmt: skip
            try:
                answer = await llm.complete(prompt, form)
            except (BadAnswerError, EndpointError):  # beside busy processes it may break off
                continue
            said = msgspec.convert(msgspec.to_builtins(answer.value), FactsReply)
            answered, written = answered + 1, written + len(said.facts)
            done = check_reply(said, {turn.id: turn}, [turn], UTC)
            kept.extend(one for one in done.kept if not one.why)

    asyncio.run(run())
    print(f"{llama.letters}: {answered} of {CALLS} answered with {written} facts, {len(kept)} kept")
    assert not kept
