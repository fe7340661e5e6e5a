"""``slowcat-memory mcp``: the memory for programs that speak the Model Context Protocol."""

import os
import secrets
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slowcat_memory.cli.shared.output import err
from slowcat_memory.cli.shared.settings import Scope, settings
from slowcat_memory.errors import ConfigError, how_to_install

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slowcat_memory.engine.memory import Memory
    from slowcat_memory.mcp.memory_server import MemoryTools

DEFAULT_PORT = 8766
TOKEN_BYTES = 24
LEAST_TOKEN = 16  # characters; a shorter one can be guessed


class Tools(StrEnum):
    """Which tools are offered."""

    basic = "basic"
    all = "all"


def mcp(
    ctx: typer.Context,
    scope: Scope = None,
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP instead of standard input and output.")
    ] = False,
    port: Annotated[
        int, typer.Option(help="With --http: the port; 0 for any free one.", min=0, max=65535)
    ] = DEFAULT_PORT,
    host: Annotated[
        str, typer.Option(help="With --http and a token: the address to listen on.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            envvar="SLOWCAT_MCP_TOKEN",
            help="With --http: what hosts must send. Others can see a command line: prefer --token-file.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="With --http: a file with the token; made with a new one if there is none.",
        ),
    ] = None,
    local_llm: Annotated[
        bool,
        typer.Option(
            "--local-llm",
            help="The host's LLM is on this machine: it may read local-only memories.",
        ),
    ] = False,
    tools: Annotated[Tools, typer.Option(help="Which tools to offer.")] = Tools.basic,
) -> None:
    """Offer the memory to a chat application, by the Model Context Protocol (MCP).

    The application starts this command itself and talks to it over standard input and output; with
    --http it connects to the address that is printed. It can search one person's memory, keep a
    statement, and forget after a preview. Local-only memories are withheld, unless its LLM is on
    this machine. [bold]slowcat-memory calls[/] shows what was asked. Works while an agent is running.

    Examples: [bold]slowcat-memory mcp --user anna[/],
    [bold]slowcat-memory mcp --http --token-file ~/.slowcat/mcp-token[/]
    """
    known = settings(ctx)
    whose = known.scope(scope)
    check_installed()
    import anyio

    from slowcat_memory.mcp.memory_server import MemoryTools
    from slowcat_memory.mcp.transports import serve_stdio
    from slowcat_memory.owner import open_memory

    offered = MemoryTools(
        lambda: open_memory(known.existing().config, client="mcp"),
        whose,
        local=local_llm,
        every=tools is Tools.all,
    )
    try:
        if http:
            _serve_http(offered, host, port, _token(token, token_file))
        elif token or token_file:
            raise typer.BadParameter("needs --http", param_hint="--token")
        else:
            anyio.run(serve_stdio, offered)
    finally:
        offered.close()


@contextmanager
def mcp_beside(memory: "Memory", scope: str, port: int, token_file: Path | None) -> "Iterator[str]":
    """Offer a memory that is open already over HTTP while the block runs; yields the URL.

    Raises:
        ConfigError: The extra is missing, or it would be open to others.
    """
    check_installed()
    from slowcat_memory.mcp.memory_server import MemoryTools
    from slowcat_memory.mcp.transports import listen, served_beside

    token = _token(None, token_file)
    with served_beside(
        MemoryTools(lambda: memory, scope), listen(port, token=token), token=token
    ) as url:
        yield url


def _serve_http(tools: "MemoryTools", host: str, port: int, token: str) -> None:
    import anyio

    from slowcat_memory.mcp.transports import listen, serve_http

    listening = listen(port, host, token=token)

    async def serve() -> None:
        await serve_http(tools, listening, token=token, ready=_print_ready(bool(token)))

    anyio.run(serve)


def _print_ready(has_token: bool) -> Any:
    whose = "that send the token" if has_token else "of this user"
    return lambda url: err().print(f"MCP for programs {whose}: {url}", markup=False)


def check_installed() -> None:
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise ConfigError("the mcp extra is not installed", hint=how_to_install("mcp"))


def _token(given: str | None, file: Path | None) -> str:
    """Return the token of the options, "" without one; makes the file if there is none.

    Raises:
        ConfigError: The token is too short to be safe, or both are given.
    """
    if given is not None and file is not None:
        raise ConfigError("give --token or --token-file, not both")
    if file is None and given is None:
        return ""
    found = given.strip() if given is not None else _from_file(file.expanduser())  # type: ignore[union-attr]  # one is given
    if len(found) < LEAST_TOKEN:
        hint = f"Use {LEAST_TOKEN} characters or more, or --token-file FILE, which makes one"
        raise ConfigError("the token is too short", hint=hint)
    return found


def _from_file(file: Path) -> str:
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text().strip()
    with os.fdopen(handle, "w") as new:
        made = secrets.token_urlsafe(TOKEN_BYTES)
        new.write(made + "\n")
    err().print(f"A new token is in {file}", markup=False)
    return made
