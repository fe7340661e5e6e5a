import pytest

from slowcat_memory.errors import BadAnswerError, EndpointError
from slowcat_memory.providers import CircuitBreakerLLM
from slowcat_memory.testing import ScriptedLLM
from tests.support.llm_prompts import PROMPT, Note


class Server:
    """Is there or not, and knows how often it was asked."""

    def __init__(self) -> None:
        self.now, self.there, self.probes = 0.0, True, 0
        self.error: Exception = EndpointError("away")
        self.inner = ScriptedLLM(lambda prompt: {"note": "x"} if self.there else self.error)
        self.llm = CircuitBreakerLLM(self.inner, self.probe, lambda: self.now)

    async def probe(self) -> bool:
        self.probes += 1
        return self.there

    async def ask(self) -> str:
        try:
            return (await self.llm.complete(PROMPT, Note)).value.note
        except EndpointError:
            return "away"


async def test_circuit_breaker_llm_one_probe_before_the_first_question() -> None:
    server = Server()
    assert await server.llm.ready() and await server.llm.ready()
    assert await server.ask() == "x" and server.probes == 1


async def test_circuit_breaker_llm_a_server_that_is_away_at_start_and_comes_back() -> None:
    server, waits = Server(), []
    server.there = False
    for _ in range(9):
        assert not await server.llm.ready()
        assert not await server.llm.ready(), "and nothing is sent meanwhile"
        waits.append(server.llm.seconds_until_probe)
        server.now += waits[-1]
    assert waits == [5, 10, 20, 40, 80, 160, 300, 300, 300] and server.probes == 9
    server.there = True
    assert await server.llm.ready() and not server.llm.seconds_until_probe
    assert await server.ask() == "x"


async def test_circuit_breaker_llm_it_opens_after_failures_in_a_row() -> None:
    server = Server()
    for there in (True, False, False, True, False, False, False):
        server.there = there
        await server.ask()
    asked = len(server.inner.prompts)
    assert await server.ask() == "away" and len(server.inner.prompts) == asked
    assert server.llm.seconds_until_probe == 5


async def test_circuit_breaker_llm_a_server_that_names_a_time_is_left_alone_until_then() -> None:
    server = Server()
    await server.ask()
    server.there, server.error = False, EndpointError("busy", retry_after=100)
    await server.ask()
    assert server.llm.seconds_until_probe == 100


async def test_circuit_breaker_llm_bad_answers_are_no_absence() -> None:
    server = Server()
    server.inner = ScriptedLLM(lambda prompt: "no")
    llm = CircuitBreakerLLM(server.inner, server.probe)
    for _ in range(5):
        with pytest.raises(BadAnswerError):
            await llm.complete(PROMPT, Note)
    assert await llm.ready()


async def test_circuit_breaker_llm_probes_when_the_clock_was_put_back() -> None:
    server = Server()
    server.now, server.there = 3600.0, False
    assert not await server.llm.ready() and server.llm.seconds_until_probe == 5
    server.now, server.there = 0.0, True
    assert await server.llm.ready()
