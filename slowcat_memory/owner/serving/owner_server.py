"""The owner's socket: an event loop on a thread of its own, with a session for each client."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from loguru import logger

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import describe_error
from slowcat_memory.owner.address import announce, socket_path
from slowcat_memory.owner.forking import not_inherited
from slowcat_memory.owner.protocol import messages
from slowcat_memory.owner.serving.client_session import ClientSession
from slowcat_memory.owner.serving.intake import Intake
from slowcat_memory.records import MemoryEvent

GRACE_S = 2.0  # how long a lost client's activities count: it may be back
WAITING = 1024  # connections that are not accepted yet; the system may allow fewer
THREADS = 16  # for calls that block
INTAKES = 256  # clients whose appends are remembered
STOP_S = 5.0


class OwnerServer:
    """Serves the clients of an engine. Whoever starts one holds the lock of its store.

    Attributes:
        engine: What it serves.
        where: The path of its socket.
    """

    def __init__(
        self,
        engine: MemoryEngine,
        folder: Path,
        *,
        on_server: Callable[[], object] = lambda: None,
        on_pause: Callable[[], object] = lambda: None,
    ) -> None:
        """Bind the socket; clients are served after ``start``.

        Args:
            folder: The store's.
            on_server: Called, on the loop, when a server has connected.
            on_pause: Called, on the loop, when a client wants the memory closed; see ``pausing``.

        Raises:
            OSError: No socket can be made.
            StoreUnsafeError: There is no safe place for one.
        """
        self.engine, self.uid, self.pid = engine, os.getuid(), os.getpid()
        self.where = socket_path(folder)
        self._on_server, self._on_pause = on_server, on_pause
        self.connections: set[ClientSession] = set()  # greeted or not; of the loop alone
        self._sessions: set[ClientSession] = set()
        self._intakes: dict[str, Intake] = {}
        self._pool = ThreadPoolExecutor(THREADS, "slowcat-serve")
        self._socket = _listen(self.where)
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name="slowcat-owner", daemon=True)
        self._unsubscribe: Callable[[], None] = lambda: None
        announce(folder, self.where)

    def start(self) -> None:
        """Serve, on a thread of its own; it may be stopped from now on."""
        self._thread.start()
        self._listening.wait(STOP_S)

    def stop(self, to: str = "") -> None:
        """Say goodbye to all clients and close the socket.

        Args:
            to: As in ``Goodbye``.
        """
        if self._thread is threading.current_thread():  # in a callback
            self._end(to)
        elif self._thread.is_alive():
            self.soon(self._end, to)
            self._thread.join(STOP_S)
        not_inherited.discard(self._socket)
        self._socket.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def clients(self) -> list[tuple[str, int]]:
        """What is connected: names and process ids."""
        return [(one.name, one.pid) for one in tuple(self._sessions) if one.client]

    # ------------------------------------------------------------------- for sessions

    def intake_of(self, client: str) -> Intake:
        """Return what is known of a client's appends, also over its earlier connections."""
        intake = self._intakes.pop(client, None) or Intake(self.engine, client)
        self._intakes[client] = intake
        if len(self._intakes) > INTAKES:
            connected = {session.client for session in self._sessions}
            oldest = next((name for name in self._intakes if name not in connected), None)
            if oldest is not None:
                del self._intakes[oldest]
        return intake

    def came(self, session: ClientSession, *, serves: bool) -> None:
        if not self._sessions:  # events cost something
            self._unsubscribe = self.engine.subscribe(on_event=self._changed)
        self._sessions.add(session)
        self.engine.metrics.count("clients_came")
        if serves:
            self._on_server()

    def left(self, session: ClientSession) -> None:
        if session in self._sessions:
            self._sessions.remove(session)
            if not self._sessions:
                self._unsubscribe()
        if session.client:
            self._loop.call_later(GRACE_S, self._free, session)

    def _free(self, session: ClientSession) -> None:
        if all(other.client != session.client for other in self._sessions):
            self.engine.set_activity(session.activity, False)

    def pause(self) -> None:
        self._on_pause()

    def submit(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do something that blocks, on a thread."""
        with suppress(RuntimeError):  # the server stops
            self._pool.submit(work, *arguments)

    def soon(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do something on the event loop, from any thread."""
        with suppress(RuntimeError):  # the server has stopped
            self._loop.call_soon_threadsafe(work, *arguments)

    # ------------------------------------------------------------------- the loop

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._listen())
            self._listening.set()
            self._loop.run_forever()
        except Exception as error:  # a bug: the clients go on without a memory, the agent with one
            logger.error("the memory serves no other processes: {}", describe_error(error))
        finally:
            self._listening.set()
            self._drop_all()
            self._loop.close()

    def _drop_all(self) -> None:
        """End what is still connected: a client that reads nothing, one that has just come."""
        for _ in range(3):  # one that is being accepted is connected only then
            for session in tuple(self.connections):
                session.drop()
            self._loop.run_until_complete(asyncio.sleep(0))

    async def _listen(self) -> None:
        self._server = await self._loop.create_unix_server(
            lambda: ClientSession(self), sock=self._socket
        )

    def _end(self, to: str) -> None:
        self._server.close()
        with suppress(OSError):  # before the lock is free: another's socket is never removed
            self.where.unlink()
        for session in tuple(self._sessions):
            session.finish(messages.Goodbye(to))
        self._loop.call_soon(self._loop.call_later, 0.05, self._loop.stop)

    def _changed(self, event: MemoryEvent) -> None:
        """Called on the thread on which it happened."""
        if event.what != "recalled":
            self.soon(self._mark_stale, event)

    def _mark_stale(self, event: MemoryEvent) -> None:
        for session in tuple(self._sessions):
            session.stale(event)


def _listen(where: Path) -> socket.socket:
    """Listen at a path; what an earlier owner left there is replaced."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            where.unlink()
        made.bind(str(where))
        where.chmod(0o600)
        made.listen(WAITING)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    not_inherited.add(made)
    return made
