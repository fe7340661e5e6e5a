"""How hosts reach the server: standard input and output, or streamable HTTP on this machine.

Over HTTP every request needs the token, if there is one. Without a token only programs of the same
user are answered: the check is made once, when a connection is opened. ``Host`` and ``Origin`` are
checked in any case, so that no web page reaches the memory.
"""

import asyncio
import secrets
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
from loguru import logger
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from slowcat_memory.errors import ConfigError, describe_error
from slowcat_memory.mcp.memory_server import MemoryTools, memory_server
from slowcat_memory.providers import loopback

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
LOOPBACK = "127.0.0.1"
NAMES = (LOOPBACK, "localhost", "host.docker.internal")  # under which hosts know this machine
BACKLOG = 64
CLOSE_S = 3  # seconds for open requests at the end

NOT_OURS = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"Only programs of the same user are answered. Start the server with --token-file.\n"
)

PeerCheck = Callable[[tuple[str, int], tuple[str, int]], bool]
"""Returns whether a connection, by the addresses of its other and this end, is answered."""


async def serve_stdio(tools: MemoryTools) -> None:
    """Serve one host over standard input and output until it closes them.

    What anything prints meanwhile goes to standard error: the output is the protocol's.
    """
    server = memory_server(tools)
    async with stdio_server() as (read, write), anyio.create_task_group() as group:
        group.start_soon(_open_early, tools)
        await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _open_early(tools: MemoryTools) -> None:
    """Open the memory before the first call; what fails is said at that call."""
    try:
        await tools.open()
    except Exception as error:
        logger.warning(f"the memory is not open yet: {describe_error(error)}")


def listen(port: int = 0, host: str = LOOPBACK, *, token: str = "") -> socket.socket:
    """Return a listening socket.

    Args:
        port: 0 for any free one.
        token: Needed for an address that other machines can reach, and where this machine does not
            say whose a connection is.

    Raises:
        ConfigError: It would be open to others, or the address cannot be used.
    """
    if not token and host != LOOPBACK:
        hint = "Add --token-file FILE: the file is made with a new token if there is none"
        raise ConfigError(f"{host} can be reached by others, so a token is needed", hint=hint)
    if not token and not loopback.can_tell():
        hint = "Add --token-file FILE: the file is made with a new token if there is none"
        raise ConfigError("this system does not say whose a connection is", hint=hint)
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        hint = "Choose another --port; 0 takes any free one"
        raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror}", hint=hint) from error
    return made


async def serve_http(
    tools: MemoryTools,
    listening: socket.socket,
    *,
    token: str = "",
    is_answered: PeerCheck = loopback.is_own_user,
    ready: Callable[[str], object] = lambda url: None,
    ended: asyncio.Event | None = None,
) -> None:
    """Serve hosts over streamable HTTP until a signal or an event ends it.

    Args:
        listening: From ``listen``; it is closed at the end.
        token: What a request's ``Authorization: Bearer`` must say; "" for the check of users.
        is_answered: Whether a connection is answered, where there is no token.
        ready: Called with the URL once connections are accepted.
        ended: Ends it when it is set.
    """
    import uvicorn

    host, port = listening.getsockname()
    app = http_app(memory_server(tools), port, token, public=host != LOOPBACK)
    config = uvicorn.Config(
        app,
        http=checked_protocol(lambda *ends: True if token else is_answered(*ends)),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=CLOSE_S,
    )
    server = uvicorn.Server(config)
    async with anyio.create_task_group() as group:
        group.start_soon(_open_early, tools)
        if ended is not None:
            group.start_soon(_end_at, ended, server)
        ready(f"http://{host}:{port}{PATH}")
        await server.serve(sockets=[listening])
        group.cancel_scope.cancel()


async def _end_at(ended: asyncio.Event, server: "uvicorn.Server") -> None:
    await ended.wait()
    server.should_exit = True


def http_app(server: "Server[Any]", port: int, token: str, *, public: bool = False) -> "ASGIApp":
    """Return the ASGI application of a server.

    Args:
        public: Whether other machines can reach it: they know it by names that are not known here.
            A token is needed then, which a web page of another site cannot send.
    """
    hosts = [f"{name}:{port}" for name in NAMES]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=not public,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, transport_security=security
    )
    return TokenCheck(app, token) if token else app


class TokenCheck:
    """Answers 401 to requests without the token.

    It is the bearer token of a request or, for hosts that know nothing but a URL, the last part of
    the path: ``/mcp/TOKEN``.
    """

    def __init__(self, app: "ASGIApp", token: str) -> None:
        self._app = app
        self._bearer, self._path = f"Bearer {token}".encode(), f"{PATH}/{token}".encode()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Pass a request on if it has the token; compares in constant time."""
        if scope["type"] == "http":
            given = next(
                (value for name, value in scope["headers"] if name == b"authorization"), b""
            )
            in_path = secrets.compare_digest(scope["path"].encode(), self._path)
            if not (in_path or secrets.compare_digest(given, self._bearer)):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
            if in_path:
                scope = {**scope, "path": PATH, "raw_path": PATH.encode()}
        await self._app(scope, receive, send)


def checked_protocol(is_answered: PeerCheck) -> "type[asyncio.Protocol]":
    """Return an HTTP protocol that refuses a connection, whatever is sent on it."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Checked(H11Protocol):
        refused = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its parent's
            super().connection_made(transport)
            ends = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
            self.refused = not (all(ends) and is_answered(*(end[:2] for end in ends)))

        def data_received(self, data: bytes) -> None:
            if not self.refused:
                return super().data_received(data)
            if not self.transport.is_closing():
                logger.warning("a program of another user, or in a container, was refused")
                self.transport.write(NOT_OURS)
                self.transport.close()
            return None

    return Checked
