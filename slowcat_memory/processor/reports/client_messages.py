"""Events of the memory as messages to a Pipecat client (RTVI): a light, or a list.

Off by default. The client is outside this machine's trust: texts are sent only when asked for, and
neither local-only nor muted ones, nor those that are being forgotten.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from typing import Any, Literal

from pipecat.frames.frames import Frame

from slowcat_memory.core.disclosure import disclose_found
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import MemoryEvent
from slowcat_memory.runtime.recall.scan import waiting_to_be_erased

Content = Literal["", "ids", "texts"]  # what leaves: nothing, ids and times, or the texts as well
TYPE = "slowcat-memory"


class ClientMessages:
    """Sends the events of some namespaces to the client. Use it on the event loop."""

    def __init__(
        self,
        engine: MemoryEngine,
        scopes: Collection[str],
        content: Content,
        push: Callable[[Frame], Awaitable[None]],
        spawn: Callable[[Coroutine[Any, Any, Any]], None],
    ) -> None:
        """Subscribe; ``content`` is not ""."""
        from pipecat.processors.frameworks.rtvi import RTVIServerMessageFrame  # only when on

        self._frame = RTVIServerMessageFrame
        self._engine, self._scopes, self._texts = engine, scopes, content == "texts"
        self._push, self._spawn, self._ended = push, spawn, False
        self._loop = asyncio.get_running_loop()
        self._unsubscribe = engine.subscribe(on_event=self._on_any_thread)

    def end(self) -> None:
        self._ended = True
        self._unsubscribe()

    def _on_any_thread(self, event: MemoryEvent) -> None:
        if event.scope in self._scopes and not self._ended:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._on_loop, event)

    def _on_loop(self, event: MemoryEvent) -> None:
        if not self._ended:
            self._spawn(self._send(event))

    async def _send(self, event: MemoryEvent) -> None:
        texts = await asyncio.to_thread(self._read, event) if self._texts else None
        if not self._ended:
            await self._push(self._frame(data=message_of(event, texts)))

    def _read(self, event: MemoryEvent) -> dict[str, str]:
        reader = self._engine.reader(event.scope)
        with self._engine.snapshot() as snapshot:
            gone = waiting_to_be_erased(snapshot, event.scope)
            found = (snapshot.read(event.scope, id_) for id_ in event.ids if id_ not in gone)
            shown = (disclose_found(one, reader, snapshot.memory) for one in found if one)
            return {one.id: one.text for one in shown if one}


def message_of(event: MemoryEvent, texts: dict[str, str] | None = None) -> dict[str, Any]:
    """Return an event as the data of a server message; ``texts`` by id, None to leave them out."""
    data: dict[str, Any] = {
        "type": TYPE,
        "event": event.what,
        "user": event.scope,
        "ids": list(event.ids),
        "kind": event.kind,
        "session": event.session,
        "at": event.at.isoformat() if event.at else "",
    }
    return data if texts is None else data | {"texts": texts}
