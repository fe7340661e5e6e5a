"""A request that the server always refuses, beside others that it answers."""

import asyncio
import json

import pytest
from aiohttp import web

from slowcat_memory.errors import BadAnswerError, EndpointError
from slowcat_memory.providers import Prompt, ThinkingOptions
from slowcat_memory.providers.llm.openai import OpenAILLM
from tests.support import faulty_llm_server as llm_faults
from tests.support.faulty_llm_server import Fault, FaultServer, Scene
from tests.support.llm_prompts import GOOD, PROMPT, Note

POISON = "the words that this server cannot bear"


def refuses(server: FaultServer, monkeypatch: pytest.MonkeyPatch, *, all_of_it: bool) -> None:
    async def play(scene: Scene) -> web.StreamResponse:
        if all_of_it or POISON in json.dumps(scene.body["messages"]):
            return web.json_response({"error": {"message": "no", "code": 400}}, status=400)
        return await scene.stream(scene.good)

    monkeypatch.setitem(llm_faults.BY_NAME, "poison", Fault("poison", "bad", play))
    server.fault = "poison"


def ask(
    monkeypatch: pytest.MonkeyPatch, words: str, *, all_of_it: bool
) -> tuple[BaseException | None, int]:
    """Ask once; return what was raised, and how many requests there were."""

    async def run() -> tuple[BaseException | None, int]:
        async with FaultServer(GOOD) as server:
            refuses(server, monkeypatch, all_of_it=all_of_it)
            llm = OpenAILLM(ThinkingOptions(url=server.url, total_s=5.0))
            try:
                await llm.complete(Prompt(job="n", version=1, system="Note.", user=words), Note)
            except (BadAnswerError, EndpointError) as error:
                return error, len(server.requests)
            finally:
                await llm.close()
            return None, len(server.requests)

    return asyncio.run(run())


def test_refused_a_request_that_alone_is_refused_is_a_bad_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It costs the task an attempt, so that it is dead one day, and the breaker stays closed."""
    error, requests = ask(monkeypatch, POISON, all_of_it=False)
    assert isinstance(error, BadAnswerError) and POISON not in str(error)
    assert requests <= 12  # down the ladder, one harmless one, and the same for the repair


def test_refused_a_server_that_refuses_everything_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    error, _ = ask(monkeypatch, PROMPT.user, all_of_it=True)
    assert isinstance(error, EndpointError)


def test_refused_a_server_that_answers_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(monkeypatch, PROMPT.user, all_of_it=False) == (None, 1)
