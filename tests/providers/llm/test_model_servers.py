"""Finding model servers on loopback, and refusing what is elsewhere."""

import asyncio
import json
import socket

import pytest
from aiohttp import web
from msgspec.structs import replace

from slowcat_memory.errors import ConfigError, EndpointError, EndpointRefusedError
from slowcat_memory.providers import ThinkingOptions
from slowcat_memory.providers.llm.model_servers import choose_server, find_loaded
from slowcat_memory.providers.llm.server import KNOWN, Server, ServerKind, read_server
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer
from tests.support.rows import DATA
from tests.support.scripted_server import serving


def port(url: str) -> int:
    return int(url.split(":")[2].split("/")[0])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


async def serve(handler) -> tuple[web.AppRunner, int]:
    server = web.Application()
    server.router.add_get("/v1/models", handler)
    runner = web.AppRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, runner.addresses[0][1]


async def test_server_servers_are_found_with_their_models_in_the_order_of_the_list():
    async with ScriptedServer(model="one") as first, ScriptedServer(model="two") as second:
        known = (
            ServerKind("A", port(first.url), ()),
            ServerKind("nobody", free_port(), ()),
            ServerKind("B", port(second.url), ()),
        )
        for row, server in (
            (known, Server("A", first.url, {"one": 0})),
            (known[1:], Server("B", second.url, {"two": 0})),
        ):
            assert await asyncio.to_thread(choose_server, known=row) == server


@pytest.mark.parametrize("proxy", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
async def test_model_servers_no_proxy_is_asked(monkeypatch, proxy):
    async with ScriptedServer(model="here") as server:
        monkeypatch.setenv(proxy, f"http://127.0.0.1:{free_port()}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert "here" in (await asyncio.to_thread(read_server, server.url, 1.0)).models
        async with HeadlessConversation(llm_url=server.url) as talk:
            assert (await talk.say("hello")).text


async def test_model_servers_a_redirect_is_not_followed():
    async with ScriptedServer() as target:

        async def away(_):
            raise web.HTTPFound(f"{target.url}/models")

        runner, there = await serve(away)
        with pytest.raises(EndpointError, match="status 302"):
            await asyncio.to_thread(read_server, f"http://127.0.0.1:{there}/v1", 1.0)
        await runner.cleanup()


@pytest.mark.parametrize("answer", ["", "<html>", "[]", '{"data": 3}', '{"data": [{}]}'])
async def test_model_servers_nonsense_is_no_model_server(answer):
    runner, there = await serve(lambda _: asyncio.sleep(0, web.Response(text=answer)))
    assert not await asyncio.to_thread(choose_server, known=(ServerKind("x", there, ()),))
    await runner.cleanup()


def test_server_the_first_model_that_talks_and_runs_here_is_taken():
    names = ("gpt-oss:120b-cloud", "text-embedding-nomic", "qwen3-4b", "gemma")
    with serving(pages={"/v1/models": {"data": [{"id": name} for name in names]}}) as scripted:
        server = read_server(scripted.url, 1.0)
    assert server.model() == "qwen3-4b" and server.model("gemma") == "gemma"


def test_model_servers_only_this_machine_is_talked_to():
    with pytest.raises(EndpointRefusedError, match="not this machine"):
        choose_server("http://192.0.2.1:1234/v1")
    with pytest.raises(ConfigError):
        choose_server("nonsense")
    with pytest.raises(EndpointError, match="no model server answers"):
        choose_server(f"http://127.0.0.1:{free_port()}/v1")


# ------------------------------------------------------------------- for idle work

UNUSABLE = json.loads((DATA / "providers/unusable_servers.json").read_text("utf-8"))


def at(server, name):
    return tuple(replace(kind, port=port(server.url)) for kind in KNOWN if kind.name == name)


@pytest.mark.parametrize("name", UNUSABLE)
def test_find_loaded_takes_no_model_that_is_elsewhere_or_not_loaded(name):
    with serving(pages=UNUSABLE[name]) as server:
        known = at(server, name)
        with pytest.raises(EndpointError, match="no LLM is loaded on this machine"):
            find_loaded(ThinkingOptions(), known=known)
        own = ThinkingOptions(first_url=server.url)
        if name != "llama.cpp":  # a server of any kind that the conversation uses is good enough
            with pytest.raises(EndpointError, match="no LLM is loaded on this machine"):
                find_loaded(own, known=known)
        else:
            assert find_loaded(own, known=known)[1] == "scripted"


def test_find_loaded_leaves_the_server_of_another_user_alone(monkeypatch):
    pages = {"/v1/models": {"data": [{"id": "qwen3-4b", "owned_by": "llamacpp"}]}}
    with serving(pages=pages) as server:
        known = at(server, "llama.cpp")
        mine = Server("llama.cpp", server.url, {"qwen3-4b": 0}), "qwen3-4b"
        assert find_loaded(ThinkingOptions(), known=known) == mine
        monkeypatch.setattr("os.getuid", lambda: 4242)
        with pytest.raises(EndpointError, match="another user's"):
            find_loaded(ThinkingOptions(), known=known)
        assert find_loaded(ThinkingOptions(first_url=server.url), known=known) == mine
        away = ThinkingOptions(first_url="http://192.0.2.1/v1", allow_remote=True)
        with pytest.raises(EndpointError, match="another user's"):
            find_loaded(away, known=known)
