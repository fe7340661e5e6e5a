"""The connections of one process to a fleet's database, on an event loop of their own thread.

Whoever needs the database blocks on a thread; nothing here runs on a conversation's event loop.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError as Cancelled
from concurrent.futures import Future
from typing import Any, TypeAlias, TypeVar

from loguru import logger

from slowcat_memory.errors import (
    ConfigError,
    DatabaseAwayError,
    FleetError,
    describe_error,
    how_to_install,
)

try:
    import asyncpg
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"a fleet needs asyncpg. {how_to_install('postgres')}", name="asyncpg"
    ) from error

T = TypeVar("T")
Connection: TypeAlias = Any  # ``asyncpg.Connection``, or one of its pool
Work = Callable[..., Awaitable[T]]  # called with a connection first

MOST_CONNECTIONS = 4
CONNECT_S = 5.0
COMMAND_S = 10.0  # of one statement; longer counts as away
CLOSE_S = 1.0  # how long connections may take to end

# Classes of errors after which the same statement may succeed, by the first letters of SQLSTATE.
PASSING = ("08", "25006", "40", "53", "55", "57", "58")
DRIVER_ERRORS = asyncpg.InterfaceError, asyncpg.InternalClientError
HINTS = {
    **dict.fromkeys(("3F000", "42P01", "42703"), "Run `slowcat-memory fleet init` once"),
    "26000": "A pooler in between needs PgBouncer 1.21 and max_prepared_statements = 100",
    "28P01": "Check the password of fleet.dsn",
    "28000": "Check the role of fleet.dsn",
    "3D000": "Create the database, or check the name in fleet.dsn",
    "42501": "`slowcat-memory fleet init --role ROLE` lets this role use the tenant",
}


class _Connection(asyncpg.Connection):
    """One whose session is never changed: it is given back without the statement that resets it."""

    def get_reset_query(self) -> str:
        return ""


class Database:
    """A pool of connections. Every method may be called from any thread but its own."""

    def __init__(self, dsn: str) -> None:
        """Connect to nothing yet.

        Raises:
            ConfigError: There is no DSN.
        """
        if not dsn.strip():
            raise ConfigError(
                "there is no database for a fleet",
                hint='Set dsn under [fleet] in config.toml, such as "postgresql://worker@db/memories"',
            )
        self._dsn = dsn
        self._pool: asyncpg.Pool | None = None
        self._runner, self._ended = asyncio.Runner(), asyncio.Event()
        self._loop = self._runner.get_loop()
        self._thread = threading.Thread(target=self._serve, name="slowcat-fleet", daemon=True)
        self._background = set[Future[None]]()
        self._closed, self._pid = False, os.getpid()
        self._thread.start()

    def _serve(self) -> None:
        with self._runner:  # which cancels at the end what still runs
            self._runner.run(self._until_closed())

    async def _until_closed(self) -> None:
        await self._ended.wait()
        if self._pool is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._pool.close(), CLOSE_S)

    def run(self, work: Work[T], *args: Any, timeout_s: float = COMMAND_S) -> T:
        """Run a coroutine with a connection and the arguments; return its result. Blocks.

        Raises:
            DatabaseAwayError: It cannot be reached, or refuses for now; nothing may be assumed
                about whether the last statement was carried out.
            FleetError: It refuses for good.
        """
        if self._closed:
            raise DatabaseAwayError("the connection to the database was closed")
        if os.getpid() != self._pid:
            raise FleetError("the fleet was opened before a fork", hint="Open it in this process")
        running = asyncio.run_coroutine_threadsafe(self._run(work, args, timeout_s), self._loop)
        try:
            return running.result(timeout_s + CONNECT_S + 1.0)
        except (TimeoutError, Cancelled):
            running.cancel()
            raise DatabaseAwayError(
                f"the database does not answer within {timeout_s:g} s"
            ) from None

    async def _run(self, work: Work[T], args: tuple[Any, ...], timeout_s: float) -> T:
        """Do a piece of work; raise what the driver raises as the matching ``FleetError``."""
        try:
            pool = await self._open_pool()
            async with pool.acquire(timeout=CONNECT_S) as connection, asyncio.timeout(timeout_s):
                return await work(connection, *args)
        except asyncpg.PostgresError as error:
            state = error.sqlstate or ""
            message = f"the database refuses: {error.args[0]}"
            if state.startswith(PASSING):
                raise DatabaseAwayError(message) from error
            raise FleetError(message, hint=HINTS.get(state, "")) from error
        except (OSError, TimeoutError, *DRIVER_ERRORS) as error:
            why = str(error) or type(error).__name__
            raise DatabaseAwayError(f"the database cannot be reached: {why}") from error

    def clear_answers(self) -> None:
        """Have idle connections forget their last answers, which may be a person's words.

        A connection keeps the last bytes that it read until it reads others. Returns at once.
        """
        if not self._closed and os.getpid() == self._pid:
            self._spawn(self._clear_answers())

    async def _clear_answers(self) -> None:
        pool = await self._open_pool()
        async with contextlib.AsyncExitStack() as taken:
            for _ in range(pool.get_idle_size()):
                acquired = pool.acquire(timeout=CONNECT_S)
                await (await taken.enter_async_context(acquired)).fetchval("SELECT 1")

    async def _open_pool(self) -> asyncpg.Pool:
        if self._pool is None:
            # No other task comes in between: nothing is awaited to make an empty pool.
            self._pool = await asyncpg.create_pool(
                self._dsn,
                min_size=0,  # a connection that is lost is made again when it is needed
                max_size=MOST_CONNECTIONS,
                timeout=CONNECT_S,
                command_timeout=COMMAND_S,
                connection_class=_Connection,
                server_settings={"application_name": "slowcat-memory"},
            )
        return self._pool

    # ---------------------------------------------------------------- in the background

    def repeat(self, work: Callable[[], object], every_s: float) -> None:
        """Call a function on a worker thread, now and every so many seconds, until ``close``."""

        async def loop() -> None:
            while True:
                try:
                    await asyncio.to_thread(work)
                except Exception as error:  # the next time may succeed
                    logger.debug("fleet: {}", describe_error(error))
                await asyncio.sleep(every_s)

        self._spawn(loop())

    def _spawn(self, coroutine: Any) -> None:
        running = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        self._background.add(running)  # the loop itself keeps no task alive
        running.add_done_callback(self._background.discard)

    def close(self) -> None:
        """Close every connection; idempotent. Blocks, for a second or two at most."""
        if self._closed:
            return
        self._closed = True
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(3 * CLOSE_S)
