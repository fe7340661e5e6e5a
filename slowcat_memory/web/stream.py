"""Events for the browser as they happen (server-sent events): ids and kinds, never a text."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from aiohttp import web

from slowcat_memory.records import MemoryEvent
from slowcat_memory.web.context import PageContext

WAITING = 256  # events that a slow browser may be behind; beyond, it is told to read anew
BEAT_S = 15.0  # between two signs of life

_AGAIN = b"event: again\ndata: {}\n\n"


class Stream:
    """Hands the memory's events to every open page. Belongs to one event loop."""

    def __init__(self, page: PageContext) -> None:
        self._page = page
        self._listeners: set[asyncio.Queue[bytes | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Subscribe to the memory's events, on the running loop. Blocks for a moment."""
        self._loop = asyncio.get_running_loop()
        self._end = self._page.memory.subscribe(on_event=self._from_memory)

    def stop(self) -> None:
        """End the subscription and every open answer."""
        self._end()
        for queue in self._listeners:
            _put(queue, None)

    def _from_memory(self, event: MemoryEvent) -> None:
        """Pass an event on to the loop: called on any thread, and must return at once."""
        if self._loop is None or not self._shown(event):
            return
        data = msgspec.json.encode(_ids(event))
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._publish, b"data: " + data + b"\n\n")

    def _shown(self, event: MemoryEvent) -> bool:
        return self._page.everyone or event.scope == self._page.person

    def _publish(self, line: bytes) -> None:
        for queue in self._listeners:
            _put(queue, line)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Send events until the browser or the page ends."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING)
        self._listeners.add(queue)
        try:
            await response.write(b": open\n\n")
            while (line := await _next(queue)) is not None:
                await response.write(line)
        except ConnectionError:
            pass  # the browser left
        finally:
            self._listeners.discard(queue)
        return response


async def _next(queue: "asyncio.Queue[bytes | None]") -> bytes | None:
    try:
        return await asyncio.wait_for(queue.get(), BEAT_S)
    except TimeoutError:
        return b": beat\n\n"


def _put(queue: "asyncio.Queue[bytes | None]", line: bytes | None) -> None:
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(_AGAIN)
    queue.put_nowait(line)


def _ids(event: MemoryEvent) -> dict[str, Any]:
    return {
        "what": event.what,
        "scope": event.scope,
        "ids": event.ids,
        "kind": event.kind,
        "turn": event.turn,
    }
