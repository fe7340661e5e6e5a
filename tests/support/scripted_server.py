"""A scripted model server for programs that block: it runs on a thread of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from anyio.from_thread import start_blocking_portal

from slowcat_memory.testing.server import ScriptedServer


@contextmanager
def serving(reply=None, pages=None, kind=ScriptedServer, **options) -> Iterator[ScriptedServer]:
    """Serve while the block runs."""
    server = kind(reply, **options)
    server.pages |= pages or {}
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(server):
        yield server
