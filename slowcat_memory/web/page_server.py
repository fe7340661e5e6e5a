"""The page's server: aiohttp on 127.0.0.1, in a thread of the command that opened it.

And the addresses that it answers: the files of the page, its reads and its changes.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from slowcat_memory.errors import ConfigError
from slowcat_memory.records import MemoryEvent
from slowcat_memory.web import verbs, views
from slowcat_memory.web.context import PageContext, Refusal, body, reply, text
from slowcat_memory.web.safety import ENTER, MOST_BYTES, Guard, add_headers

ADDRESS = "127.0.0.1"
STATIC = Path(__file__).parent / "static"
WAITING = 256  # events that a slow browser may be behind; beyond, it is told to read anew
BEAT_S = 15.0  # between two signs of life

_AGAIN = b"null\n"
_SENT = ("what", "scope", "ids", "kind", "turn")  # of an event: no text


async def _next(queue: "asyncio.Queue[bytes | None]") -> bytes | None:
    try:
        return await asyncio.wait_for(queue.get(), BEAT_S)
    except TimeoutError:
        return b"\n"


def _put(queue: "asyncio.Queue[bytes | None]", line: bytes | None) -> None:
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(_AGAIN)
    queue.put_nowait(line)


# ------------------------------------------------------------------- addresses

Read = Callable[[PageContext, Mapping[str, str]], dict[str, Any]]
Change = Callable[[PageContext, Mapping[str, Any]], dict[str, Any]]

TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


READS: dict[str, Read] = {
    "start": views.start,
    "know/facts": views.facts,
    "know/blocks": views.blocks,
    "know/people": views.people,
    "know/person": views.person,
    "know/memory": views.memory,
    "said/conversations": views.conversations,
    "said/turns": views.turns,
    "said/search": views.search,
    "why/recalls": views.recalls,
    "why/turn": views.one,
    "when": views.as_of,
    "thinking/work": views.work,
    "thinking/rejected": views.rejected,
    "health": views.overview,
    "health/speed": views.speed,
    "health/doctor": views.doctor,
}
CHANGES: dict[str, Change] = {
    "mark": verbs.mark,
    "correct": verbs.correct,
    "forget/preview": verbs.preview,
    "forget": verbs.forget,
    "undo": verbs.undo,
    "wrong": verbs.wrong,
    "think": verbs.think,
    "pause": verbs.pause,
    "retry": verbs.retry,
    "backup": verbs.back_up,
}


def add_routes(app: web.Application, page: PageContext) -> None:
    """Add every address but those of keys and events.

    The page itself holds no memory; it takes the token out of its address.
    """
    app.router.add_get("/", partial(_file, (STATIC / "index.html").read_bytes(), "text/html"))
    for name, read in READS.items():
        app.router.add_get(f"/api/{name}", partial(_read, page, read))
    for name, change in CHANGES.items():
        app.router.add_post(f"/api/{name}", partial(_change, page, change))
    for path, content in static_files().items():
        answer = partial(_file, content, TYPES[Path(path).suffix])
        app.router.add_get(f"/static/{path}", answer)


async def _read(page: PageContext, read: Read, request: web.Request) -> web.StreamResponse:
    return reply(await asyncio.to_thread(read, page, request.query))


async def _change(page: PageContext, change: Change, request: web.Request) -> web.StreamResponse:
    return reply(await asyncio.to_thread(change, page, await body(request, MOST_BYTES)))


async def _file(content: bytes, kind: str, request: web.Request) -> web.StreamResponse:
    return web.Response(body=content, content_type=kind, charset="utf-8")


def static_files() -> dict[str, bytes]:
    """Return the page's files by their path; they are read once, and no other file is served."""
    every = (path for path in STATIC.rglob("*") if path.suffix in TYPES)
    return {path.relative_to(STATIC).as_posix(): path.read_bytes() for path in every}


# ------------------------------------------------------------------- server


class PageServer:
    """One page of one memory. Belongs to the event loop that starts it.

    Attributes:
        app: The aiohttp application, for tests.
        guard: Who may talk to it.
    """

    def __init__(self, page: PageContext) -> None:
        self._page, self.guard = page, Guard()
        self._runner: web.AppRunner | None = None
        self._listeners: set[asyncio.Queue[bytes | None]] = set()
        self._unsubscribe: Callable[[], None] = lambda: None
        self.app = web.Application(
            middlewares=[self.guard.middleware], client_max_size=MOST_BYTES + 1
        )
        self.app.on_response_prepare.append(add_headers)
        self.app.router.add_post(ENTER, self._enter)
        self.app.router.add_get("/api/events", self._events)
        add_routes(self.app, page)

    async def start(self, port: int = 0) -> int:
        """Listen on a port of 127.0.0.1, 0 for a free one; return it.

        Raises:
            ConfigError: The port is taken, or not allowed.
        """
        to_loop = partial(self._from_memory, asyncio.get_running_loop())
        self._unsubscribe = self._page.memory.subscribe(on_event=to_loop)
        self._runner = web.AppRunner(self.app, access_log=None, shutdown_timeout=2.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, ADDRESS, port).start()
        except OSError as error:
            hint = "Give another --port, or none for a free one"
            raise ConfigError(f"the page cannot listen on port {port}", hint=hint) from error
        self.guard.port = self._runner.addresses[0][1]
        return self.guard.port

    async def stop(self) -> None:
        """Stop listening, carry out what was to be forgotten, and end the threads."""
        self._unsubscribe()
        self._publish(None)
        if self._runner is not None:
            await self._runner.cleanup()
        await asyncio.to_thread(self._page.close)

    def url(self) -> str:
        """Return an address that opens the page once."""
        return f"http://{ADDRESS}:{self.guard.port}/?token={self.guard.token()}"

    async def _enter(self, request: web.Request) -> web.StreamResponse:
        """Give the page a key for its token. Fields: ``token``."""
        key = self.guard.redeem(text(await body(request, MOST_BYTES), "token"))
        if key is None:
            raise Refusal(401, "Open the address that `slowcat-memory ui` prints; it works once.")
        return reply({"key": key})

    # ---------------------------------------------------------------- events

    def _from_memory(self, loop: asyncio.AbstractEventLoop, event: MemoryEvent) -> None:
        """Pass an event on to the loop: called on any thread, and must return at once."""
        if not (self._page.everyone or event.scope == self._page.person):
            return
        data = msgspec.json.encode({name: getattr(event, name) for name in _SENT})
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(self._publish, data + b"\n")

    def _publish(self, line: bytes | None) -> None:
        for queue in self._listeners:
            _put(queue, line)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Send events, each a line of JSON, until the browser or the page ends.

        ``null`` says that some were missed; an empty line is a sign of life.
        """
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)
        self._listeners.add(queue)
        try:
            await response.write(b"\n")
            while (line := await _next(queue)) is not None:
                await response.write(line)
        except ConnectionError:
            pass  # the browser left
        finally:
            self._listeners.discard(queue)
        return response
