"""A PostgreSQL for faults: it is asked, stopped, filled, and its backends are killed.

What was ever appended to the log of a fleet is recorded beside it, since snapshots delete rows.
"""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg

from tests.support import postgres

TENANT = "default"
OURS = "slowcat-memory"  # what workers name their connections
WAIT_S = 30.0
AUDIT = """
CREATE SCHEMA audit;
CREATE TABLE audit.appended (
  n bigserial PRIMARY KEY, person text, seq bigint, epoch bigint, body text,
  lease bigint, at timestamptz DEFAULT clock_timestamp());
CREATE FUNCTION audit.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit.appended (person, seq, epoch, body, lease)
  SELECT NEW.person, NEW.seq, NEW.epoch,
         CASE WHEN NEW.last_event > 0 THEN md5(NEW.body) ELSE '' END, o.epoch
    FROM slowcat.owner o WHERE o.tenant = NEW.tenant AND o.person = NEW.person;
  RETURN NEW;
END $$;
CREATE TRIGGER note AFTER INSERT ON slowcat.log FOR EACH ROW EXECUTE FUNCTION audit.note();
"""


class Server:
    """A server of its own in a folder. It starts no thread, so that its process may fork."""

    def __init__(self, folder: Path) -> None:
        """Make the database, its tables and the audit."""
        from slowcat_memory.fleet import schema

        self._server = postgres.start(folder)
        self.dsn: str = self._server.get_uri()
        self.call(schema.upgrade)
        self.call(lambda connection: schema.allow(connection, TENANT, ""))
        self.call(lambda connection: connection.execute(AUDIT))

    # ---------------------------------------------------------------- asking

    def call(self, work: Callable[[Any], Any]) -> Any:
        """Run a coroutine with a connection; tries again while the server recovers."""

        async def once() -> Any:
            connection = await asyncpg.connect(self.dsn, timeout=5.0)
            try:
                return await work(connection)
            finally:
                with contextlib.suppress(Exception):
                    await connection.close(timeout=1.0)

        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                return asyncio.run(once())
            except (OSError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.call(lambda c: c.fetch(sql, *values))]

    def value(self, sql: str, *values: Any) -> Any:
        return self.call(lambda c: c.fetchval(sql, *values))

    def execute(self, sql: str) -> None:
        self.call(lambda c: c.execute(sql))

    # ---------------------------------------------------------------- faults

    def backends(self) -> list[int]:
        """Return the processes that serve connections of workers."""
        sql = "SELECT pid FROM pg_stat_activity WHERE application_name = $1"
        return [row[0] for row in self.rows(sql, OURS)]

    def terminate(self, rng: random.Random) -> bool:
        """End one worker's connection, as an administrator does; False if there is none."""
        pids = self.backends()
        return bool(pids) and self.value("SELECT pg_terminate_backend($1)", rng.choice(pids))

    def kill(self, rng: random.Random) -> bool:
        """Kill the process of one connection: the server drops all of them, and recovers."""
        pids = self.backends()
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(pids), signal.SIGKILL)
        return bool(pids)

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        self._server.stop()
        try:
            yield
        finally:
            self._server.ensure_postgres_running()

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Raise the error of a full disk for each row of the log."""
        self.execute(
            "CREATE OR REPLACE FUNCTION audit.refuse() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$;"
            "CREATE TRIGGER refuse BEFORE INSERT ON slowcat.log FOR EACH ROW"
            " EXECUTE FUNCTION audit.refuse()"
        )
        try:
            yield
        finally:
            self.execute("DROP TRIGGER refuse ON slowcat.log")

    def close(self) -> None:
        self._server.cleanup()
