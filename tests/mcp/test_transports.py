"""Standard input and output, and streamable HTTP: who is answered, and by what."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from slowcat_memory import MemoryEngine
from slowcat_memory.errors import ConfigError
from slowcat_memory.mcp.memory_server import MemoryTools, listen, serve_http
from slowcat_memory.providers import loopback
from tests.support.mcp_host import PATIENCE_S, Host, named
from tests.support.memories import Look, engine_remembering, remember
from tests.support.processors import PETS
from tests.support.rows import DATA

TOKEN = "a-token-that-is-long-enough"
ROOT = Path(__file__).parents[2]
SETTINGS = '[memory]\ntime_zone = "UTC"\n[embedding]\nkind = "none"\n'


engine = engine_remembering({3: PETS})


# ------------------------------------------------------------------- standard input and output


@pytest.fixture
def command(config, tmp_path: Path) -> list[str]:
    """The command line that a host starts, on a store of the test's own."""
    remember(config, *PETS)
    file = tmp_path / "config.toml"
    file.write_text(SETTINGS)
    store = str(config.folder)
    return ["-m", "slowcat_memory", "--config", str(file), "--path", store, "--debug", "mcp"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


async def test_stdio_a_host_starts_the_command_beside_a_bot(
    command, config, tmp_path: Path
) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=command, env=environment(), cwd=tmp_path
    )

    client = Client(server, client_info=named("a desktop"), read_timeout_seconds=2 * PATIENCE_S)
    with contextlib.closing(MemoryEngine(config)) as bot:
        async with client:
            host = Host(client)
            assert "Max" in await host("search_memory", query="what is the dog called")
            assert "kitchen" in await host("remember", text="The dog sleeps in the kitchen.")
        hits = bot.search("where does the dog sleep", "user").hits
        assert "kitchen" in hits[0].memory.text, "the bot knows it at once"
        assert {call.client for call in Look(bot).calls()} == {"a desktop"}


def test_stdio_the_output_has_nothing_but_messages_of_the_protocol(command, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment(), cwd=tmp_path, text=True,
    )  # fmt: skip
    try:
        process.stdin.write((DATA / "mcp/hello.jsonl").read_text("utf-8"))
        process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(2)]
        rest, logs = process.communicate(timeout=4 * PATIENCE_S)  # closes its input
    finally:
        process.kill()
        process.wait()
    answers = [json.loads(line) for line in (*lines, *rest.splitlines())]
    assert [answer["id"] for answer in answers] == [1, 2]
    assert "Max" in answers[1]["result"]["content"][0]["text"]
    assert logs, "logs are on standard error"
    assert process.returncode == 0


# ------------------------------------------------------------------- HTTP


def served(engine: MemoryEngine, scenario: Callable[[str], Awaitable[Any]], token="") -> Any:
    """Run a scenario with the URL of a server on a free port."""

    async def run() -> Any:
        ready = asyncio.get_running_loop().create_future()
        tools = MemoryTools(lambda: engine, "user")
        listening = listen(token=token)
        serving = serve_http(tools, listening, token=token, ready=ready.set_result)
        server = asyncio.create_task(serving)
        try:
            return await asyncio.wait_for(scenario(await ready), 2 * PATIENCE_S)
        finally:
            server.cancel()
            await asyncio.wait([server], timeout=PATIENCE_S)

    return asyncio.run(run())


async def search(url: str, mode: str = "auto", **headers: str) -> str:
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
        over = streamable_http_client(url, http_client=http)
        async with Client(over, client_info=named("over HTTP"), mode=mode) as client:
            return await Host(client)("search_memory", query="what is the dog called")


async def status(url: str, **headers: str) -> int:
    """Return the status of a bare request; 0 if the connection was closed on it."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    sent = {"Accept": "application/json, text/event-stream", **headers}
    async with aiohttp.ClientSession() as session:
        try:
            async with session.post(url, json=message, headers=sent) as response:
                assert "Max" not in await response.text()
                return response.status
        except aiohttp.ClientError:
            return 0


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_http_a_program_of_the_same_user_is_answered(engine, mode: str) -> None:
    assert "Max" in served(engine, lambda url: search(url, mode))
    assert [call.client for call in Look(engine).calls()] == ["over HTTP"]


def test_http_a_program_of_another_user_is_refused(engine, monkeypatch) -> None:
    monkeypatch.setattr(loopback, "is_own_user", lambda *ends: False)
    assert served(engine, status) in (403, 0)  # or it sees the connection close first
    assert not Look(engine).calls()


def test_http_a_token_is_needed_where_there_is_one(engine, monkeypatch) -> None:
    async def scenario(url: str) -> None:
        wrong = ("", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN, "Bearer \xe9")
        refused = [await status(url, Authorization=one) for one in wrong]
        refused += [await status(f"{url}/{one}") for one in ("x", TOKEN[:-1], f"{TOKEN}/x")]
        assert set(refused) == {401}
        assert "Max" in await search(url, Authorization=f"Bearer {TOKEN}")
        assert "Max" in await search(f"{url}/{TOKEN}")

    monkeypatch.setattr(loopback, "is_own_user", lambda *ends: False)
    served(engine, scenario, token=TOKEN)


def test_http_no_web_page_reaches_the_memory(engine) -> None:
    async def scenario(url: str) -> None:
        for host in ("evil.example", "evil.example:80"):
            assert await status(url, Host=host) == 421
        for origin in ("http://evil.example", "http://localhost:3000", "null"):
            assert await status(url, Origin=origin) == 403

    served(engine, scenario)


def test_http_is_not_open_to_others_without_a_token(monkeypatch) -> None:
    with pytest.raises(ConfigError, match="token"):
        listen(host="0.0.0.0")
    monkeypatch.setattr(loopback, "can_tell", lambda: False)
    with pytest.raises(ConfigError, match="whose a connection is"):
        listen()
    listen(token=TOKEN).close()


# ------------------------------------------------------------------- whose a connection is


def test_peers_the_user_of_a_connection_is_found_and_nobody_elses(tmp_path, monkeypatch) -> None:
    with listen() as listening, socket.create_connection(listening.getsockname()) as client:
        ends = client.getsockname(), client.getpeername()
        assert loopback.user_of(*ends) == os.getuid() and loopback.is_own_user(*ends)
        assert loopback.user_of((ends[0][0], 1), ends[1]) is None
        table = tmp_path / "tcp"
        own = loopback.TABLE.read_text().splitlines()
        peer = loopback._in_table(*ends[0])
        rows = [line.split() for line in own if f" {peer} " in line]
        of_other = [[*row[:7], "4242", *row[8:]] for row in rows if row[1] == peer]
        table.write_text("\n".join(["heading", *map(" ".join, of_other)]))
        monkeypatch.setattr(loopback, "TABLE", table)
        assert loopback.user_of(*ends) == 4242
        gone = [[*row[:3], "06", *row[4:]] for row in of_other]  # TIME_WAIT, which has user 0
        table.write_text("\n".join(["heading", *map(" ".join, gone)]))
        assert loopback.user_of(*ends) is None
        table.unlink()
        assert loopback.user_of(*ends) is None
