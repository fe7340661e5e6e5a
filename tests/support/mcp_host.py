"""A host of the MCP server: the SDK's own client, and what it was answered."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from mcp import Client
from mcp.types import Implementation

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.mcp.arguments import TOOLS
from slowcat_memory.mcp.memory_server import MemoryTools, memory_server

PATIENCE_S = 30.0


class Host:
    """One program that calls tools."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> str:
        """Call a tool that works; return the text of its answer."""
        failed, text = await self.ask(tool, **arguments)
        assert not failed, text
        return text

    async def ask(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Call a tool; return whether it failed, and the text of its answer."""
        result = await self.client.call_tool(tool, arguments)
        assert len(result.content) == 1 and result.content[0].type == "text"
        return result.is_error, result.content[0].text


def named(name: str) -> Implementation:
    return Implementation(name=name, version="1")


def asking(
    memory: MemoryEngine,
    scenario: Callable[[Host], Coroutine[Any, Any, Any]],
    scope: str = "user",
    *,
    name: str = "a host",
    mode: str = "auto",
    local: bool = False,
    every: bool = False,
) -> Any:
    """Let a host talk to the tools of a memory, in this process; to ``every`` one, if so."""
    tools = MemoryTools(lambda: memory, scope, local=local)
    if every:
        tools.tools = TOOLS
    server = memory_server(tools)

    async def run() -> Any:
        client = Client(server, client_info=named(name), mode=mode, read_timeout_seconds=PATIENCE_S)
        async with client:
            return await scenario(Host(client))

    return asyncio.run(run())
