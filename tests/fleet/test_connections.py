"""Connections of a worker: what they send besides what they are asked to."""

from contextlib import closing
from typing import Any

import pytest

from slowcat_memory.fleet.database import Database

pytestmark = pytest.mark.fleet


def test_a_connection_is_given_back_without_another_statement(dsn):
    async def ask(connection: Any) -> Any:
        return await connection.fetchval("SELECT pg_backend_pid()")

    async def last(connection: Any, pid: int) -> Any:
        return await connection.fetchval("SELECT query FROM pg_stat_activity WHERE pid = $1", pid)

    one, other = Database(dsn), Database(dsn)
    try:
        pid = one.run(ask)
        assert other.run(lambda connection: last(connection, pid)) == "SELECT pg_backend_pid()"
    finally:
        one.close()
        other.close()


def test_a_transaction_that_was_left_open_is_rolled_back(dsn, monkeypatch):
    async def leave_open(connection: Any) -> None:
        await connection.execute("BEGIN; CREATE TABLE left_open ()")

    async def exists(connection: Any) -> Any:
        return await connection.fetchval("SELECT to_regclass('left_open')")

    monkeypatch.setattr("slowcat_memory.fleet.database.MOST_CONNECTIONS", 1)
    with closing(Database(dsn)) as database:
        database.run(leave_open)
        assert database.run(exists) is None
