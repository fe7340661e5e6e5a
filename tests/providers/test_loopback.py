"""Servers of this machine alone, and requests that one always refuses."""

import json
import socket

import pytest
from aiohttp import web

from slowcat_memory.errors import BadAnswerError, ConfigError, EndpointError, EndpointRefusedError
from slowcat_memory.providers import Prompt, ThinkingOptions
from slowcat_memory.providers.llm.openai import OpenAILLM
from slowcat_memory.providers.loopback import check_loopback, host_and_port
from tests.support import faulty_llm_server as llm_faults
from tests.support.faulty_llm_server import Fault, FaultServer, Scene
from tests.support.llm_prompts import GOOD, PROMPT, Note
from tests.support.rows import each_listed

# ------------------------------------------------------------------- loopback


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def answer(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, 0)) for a in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


@each_listed("rules/loopback")
def test_check_loopback_this_machine_is_allowed(url: str) -> None:
    check_loopback(url)


@each_listed("rules/loopback")
def test_check_loopback_other_machines_are_refused_by_name(url: str, host: str) -> None:
    with pytest.raises(EndpointRefusedError, match=host) as caught:
        check_loopback(url)
    assert "allow_remote" in caught.value.hint
    check_loopback(url, allow_remote=True)


def test_check_loopback_every_address_of_a_name_must_be_ours(monkeypatch):
    resolving(monkeypatch, "127.0.0.1")
    check_loopback("http://llm.test/v1")
    resolving(monkeypatch, "127.0.0.1", "192.0.2.7")
    with pytest.raises(EndpointRefusedError, match=r"llm\.test"):
        check_loopback("http://llm.test/v1")


@pytest.mark.parametrize("url", ["", "localhost:1234", "ftp://127.0.0.1", "http://", "http://a:b"])
def test_check_loopback_what_is_no_url_is_a_config_error(url: str) -> None:
    with pytest.raises(ConfigError):
        check_loopback(url)


def test_check_loopback_secrets_in_a_url_are_not_repeated() -> None:
    assert host_and_port("http://me:secret@127.0.0.1:99/v1?key=secret") == "127.0.0.1:99"
    assert host_and_port("https://[::1]/v1") == "[::1]:443"
    with pytest.raises(EndpointRefusedError) as caught:
        check_loopback("http://me:secret@192.0.2.7/v1")
    assert "secret" not in str(caught.value)


def test_check_loopback_an_unknown_name_is_an_endpoint_error(monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(EndpointError, match=r"llm\.test"):
        check_loopback("http://llm.test/v1")


# ------------------------------------------------------------------- A request that the server always refuses, beside others that it answers

POISON = "the words that this server cannot bear"


@pytest.mark.parametrize(
    ("words", "refused", "raised", "requests"),
    [
        (
            POISON,
            POISON,
            BadAnswerError,
            12,
        ),  # down the ladder, one harmless one, and the same again
        (PROMPT.user, "", EndpointError, 99),  # it is away
        (PROMPT.user, POISON, None, 1),
    ],
)
async def test_refused_a_request_that_alone_is_refused_is_a_bad_answer(
    monkeypatch, words, refused, raised, requests
):
    """It costs the task an attempt, so that it is dead one day, and the breaker stays closed."""

    async def play(scene: Scene) -> web.StreamResponse:
        if refused in json.dumps(scene.body["messages"]):
            return web.json_response({"error": {"message": "no", "code": 400}}, status=400)
        return await scene.stream(scene.good)

    monkeypatch.setitem(llm_faults.BY_NAME, "poison", Fault("poison", "bad", play))
    async with FaultServer(GOOD) as server:
        server.fault = "poison"
        llm = OpenAILLM(ThinkingOptions(url=server.url, total_s=5.0))
        asked = llm.complete(Prompt(job="n", version=1, system="Note.", user=words), Note)
        if raised is None:
            await asked
        else:
            with pytest.raises(raised) as error:
                await asked
            assert POISON not in str(error.value)
        await llm.close()
        assert 1 <= len(server.requests) <= requests
