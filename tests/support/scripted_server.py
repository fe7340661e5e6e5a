"""A scripted model server for programs that block: it runs on a thread of its own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from slowcat_memory.testing.server import ScriptedServer


@contextmanager
def serving(reply=None, pages=None, kind=ScriptedServer, **options) -> Iterator[ScriptedServer]:
    """Serve while the block runs."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = kind(reply, **options)
    server.pages |= pages or {}

    def call(work):
        return asyncio.run_coroutine_threadsafe(work, loop).result(30)

    call(server.__aenter__())
    try:
        yield server
    finally:
        call(server.__aexit__(None, None, None))
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
