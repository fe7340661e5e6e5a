"""Two tenants in one database, each with a role of its own: neither reaches what the other has.

By construction for every table: they are listed from the catalogue, and filled from their columns.
"""

import asyncio
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg
import pytest
from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.errors import FleetError
from slowcat_memory.fleet import schema
from slowcat_memory.fleet.database import Database
from slowcat_memory.fleet.fleet_process import Fleet
from tests.fleet.talking import say, talking, texts
from tests.support.rows import listed_texts

OPEN = {"tenant", "migration"}  # tables without rows of people
FORBIDDEN = asyncpg.InsufficientPrivilegeError


def as_role(dsn: str, role: str, password: str, database: str = "") -> str:
    """Return the DSN of another role on the same server."""
    parts = urlsplit(dsn)
    host = parts.netloc.rpartition("@")[2]
    login = f"{quote(role)}:{password}@{host}"
    return urlunsplit(parts._replace(netloc=login, path=f"/{database}" if database else parts.path))


def queries(dsn: str, *statements: str) -> list[Any]:
    """Run statements in one connection of their own; return the rows of the last one."""

    async def work() -> list[Any]:
        connection = await asyncpg.connect(dsn)
        try:
            rows = list[Any]()
            for statement in statements:
                rows = await connection.fetch(statement)
            return [tuple(row) for row in rows]
        finally:
            await connection.close()

    return asyncio.run(work())


class Tenant:
    """A tenant, its role, and a word that all of its rows have."""

    def __init__(self, admin: str, name: str) -> None:
        token = secrets.token_hex(4)
        self.name, self.role, self.word = f"{name}_{token}", f"role_{token}", f"q{name}{token}"
        self.dsn = as_role(admin, self.role, token)
        queries(admin, f"CREATE ROLE {self.role} LOGIN PASSWORD '{token}'")
        database = Database(admin)
        database.run(lambda connection: schema.allow(connection, self.name, self.role))
        database.close()


@pytest.fixture
def two(dsn: str) -> Iterator[tuple[Tenant, Tenant]]:
    made = Tenant(dsn, "mine"), Tenant(dsn, "other")
    tables = [name for name in tables_of(dsn) if name not in OPEN]
    for tenant in made:
        for table in tables:
            columns, values = row_of(dsn, table, tenant)
            queries(dsn, f"INSERT INTO slowcat.{table} ({columns}) VALUES ({values})")
    yield made
    for tenant in made:
        for table in (*tables, "tenant"):
            queries(dsn, f"DELETE FROM slowcat.{table} WHERE tenant = '{tenant.name}'")
        queries(dsn, f"DROP OWNED BY {tenant.role}")
        queries(dsn, f"DROP ROLE {tenant.role}")


def tables_of(dsn: str) -> list[str]:
    found = queries(dsn, "SELECT tablename FROM pg_tables WHERE schemaname = 'slowcat'")
    return sorted(name for (name,) in found)


def row_of(dsn: str, table: str, tenant: Tenant) -> tuple[str, str]:
    """Return the columns that a row must have, and values with the tenant's word."""
    found = queries(
        dsn,
        "SELECT column_name, data_type FROM information_schema.columns"
        f" WHERE table_schema = 'slowcat' AND table_name = '{table}' AND column_default IS NULL",
    )
    kinds = {"text": f"'{tenant.word}'", "bytea": f"'{tenant.word}'", "bigint": "7", "integer": "7"}
    values = {name: kinds[kind] for name, kind in found} | {"tenant": f"'{tenant.name}'"}
    return ", ".join(values), ", ".join(values.values())


UNPROTECTED = """
SELECT relname FROM pg_class c WHERE relnamespace = 'slowcat'::regnamespace
   AND relkind NOT IN ('i', 'I', 't') AND NOT (relkind IN ('r', 'p') AND relrowsecurity
   AND relforcerowsecurity AND EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid))"""


def test_tenants_every_table_forces_row_level_security(dsn):
    assert set(tables_of(dsn)) >= {*schema.TABLES, *OPEN}
    assert queries(dsn, UNPROTECTED) == []
    functions = "SELECT proname FROM pg_proc WHERE pronamespace = 'slowcat'::regnamespace"
    assert queries(dsn, functions) == [], "a function may run with its maker's rights"


@pytest.mark.parametrize(
    "planted",
    ["CREATE TABLE slowcat.bare (tenant text)", "CREATE VIEW slowcat.bare AS TABLE slowcat.log"],
)
def test_tenants_a_table_without_policies_is_noticed(dsn, planted):
    assert queries(dsn, "BEGIN", planted, UNPROTECTED) == [("bare",)]


def test_tenants_a_role_reads_its_own_rows_alone(dsn, two):
    mine, other = two
    for table in tables_of(dsn):
        if table == "migration":
            continue
        name = f"slowcat.{table}"
        of = f"SELECT tenant FROM {name}"
        assert queries(dsn, f"{of} WHERE tenant = '{other.name}'"), f"{table}: nothing to hide"
        assert queries(mine.dsn, of) == [(mine.name,)], table
        assert queries(mine.dsn, f"{of} WHERE tenant = '{other.name}'") == []
        assert other.word not in str(queries(mine.dsn, f"SELECT t::text FROM {name} t"))
        # What is asked of a row is asked of own rows only: no error says that others are there.
        probe = f"{of} WHERE 1 / (CASE WHEN tenant = '{other.name}' THEN 0 ELSE 1 END) = 1"
        assert queries(mine.dsn, probe) == [(mine.name,)]


def test_tenants_a_role_changes_and_locks_no_row_of_the_other(dsn, two):
    mine, other = two
    for table in set(tables_of(dsn)) - OPEN:
        name, where = f"slowcat.{table}", f"WHERE tenant = '{other.name}'"
        columns, values = row_of(dsn, table, other)
        for change in (
            f"UPDATE {name} SET tenant = tenant {where} RETURNING 1",
            f"DELETE FROM {name} {where} RETURNING 1",
            f"SELECT 1 FROM {name} {where} FOR UPDATE",
            f"SELECT 1 FROM {name} {where} FOR KEY SHARE",
        ):
            assert queries(mine.dsn, change) == [], change
        asked = {"name": name, "columns": columns, "values": values, "other": other.name}
        for change in listed_texts("fleet/forbidden", "rows of another"):
            with pytest.raises(FORBIDDEN):
                queries(mine.dsn, change.format(**asked))
        held = ("BEGIN", f"SELECT 1 FROM {name} {where} FOR UPDATE")
        assert queries(dsn, *held) == [(1,)], "the rows are there, and were not locked"


def test_tenants_a_role_cannot_let_itself_in(dsn, two):
    mine, other = two
    names = {"mine": mine.role, "other": other.name, "theirs": other.role}
    for change in listed_texts("fleet/forbidden", "letting oneself in"):
        with pytest.raises(FORBIDDEN):
            queries(mine.dsn, *change.format(**names).split("; "))
    assert queries(mine.dsn, "SELECT version FROM slowcat.migration") == [(5,)]


def test_tenants_the_servers_statistics_have_nothing_of_the_other(dsn, two):
    mine, other = two
    queries(dsn, "ANALYZE")
    assert queries(dsn, "SELECT 1 FROM pg_stats WHERE schemaname = 'slowcat' LIMIT 1")
    assert queries(mine.dsn, "SELECT tablename FROM pg_stats WHERE schemaname = 'slowcat'") == []
    with Fleet(config_of(other, Path("/nonexistent"))) as fleet:
        fleet.database.run(lambda connection: connection.fetch("SELECT $1::text", other.word))
        seen = queries(mine.dsn, "SELECT a::text FROM pg_stat_activity a")
        assert other.word not in str(seen)
        assert other.word not in str(queries(dsn, "SELECT a::text FROM pg_stat_activity a"))


def config_of(tenant: Tenant, cache: Path) -> Config:
    return made_of(tenant.name, tenant.dsn, cache)


def made_of(tenant: str, dsn: str, cache: Path) -> Config:
    config = Config()
    options = replace(config.fleet, dsn=dsn, tenant=tenant, cache=str(cache), lease_s=5.0)
    return replace(config, fleet=options)


def test_tenants_two_people_of_one_name_are_two(two, tmp_path):
    mine, other = two
    for tenant in two:
        with Fleet(config_of(tenant, tmp_path)) as fleet, talking(fleet) as member:
            say(member, f"The key is {tenant.word}.")
    for tenant, foreign in ((mine, other), (other, mine)):
        with Fleet(config_of(tenant, tmp_path)) as fleet:
            assert texts(fleet) == [f"The key is {tenant.word}."]
        logged = queries(tenant.dsn, "SELECT encode(body, 'escape') FROM slowcat.log")
        assert foreign.word not in str(logged)


def test_tenants_a_worker_with_a_foreign_tenant_is_refused_by_name(dsn, two, tmp_path):
    mine, other = two
    with Fleet(made_of(other.name, mine.dsn, tmp_path)) as fleet:
        with pytest.raises(FleetError, match=f"{mine.role}.*{other.name}.*fleet init --role"):
            with talking(fleet, other.word):
                pass
    with Fleet(made_of("typo", dsn, tmp_path)) as fleet:  # the superuser
        with pytest.raises(FleetError, match="may not use the tenant 'typo'"), talking(fleet):
            pass
    assert queries(dsn, "SELECT 1 FROM slowcat.owner WHERE tenant = 'typo'") == []


def test_tenants_a_role_that_is_no_longer_let_in_keeps_what_it_has(dsn, two, tmp_path):
    """Rows that a worker cannot see are not rows that are gone."""
    mine, _ = two
    with Fleet(config_of(mine, tmp_path)) as fleet:
        with talking(fleet) as member:
            say(member, "My dog is called Bello.")
        assert [*tmp_path.rglob("data.mdb")]
        queries(dsn, f"DELETE FROM slowcat.tenant WHERE tenant = '{mine.name}'")
        fleet.tidy()
        assert [*tmp_path.rglob("data.mdb")]


def test_tenants_tables_made_by_an_ordinary_role_serve_another(dsn, tmp_path):
    """Neither is a superuser; who made the tables has no look at what is in them."""
    token = secrets.token_hex(4)
    maker, worker, name = f"maker_{token}", f"worker_{token}", f"db_{token}"
    for role in (maker, worker):
        queries(dsn, f"CREATE ROLE {role} LOGIN PASSWORD '{token}'")
    queries(dsn, f"CREATE DATABASE {name} OWNER {maker}")
    try:
        made = Database(as_role(dsn, maker, token, name))
        assert made.run(schema.upgrade)
        assert not made.run(schema.upgrade)
        for _ in range(2):
            made.run(lambda connection: schema.allow(connection, "house", worker))
        with Fleet(made_of("house", as_role(dsn, worker, token, name), tmp_path)) as fleet:
            with talking(fleet) as member:
                say(member, "My dog is called Bello.")
        for table in schema.TABLES:
            assert made.run(lambda c, one=table: c.fetch(f"TABLE slowcat.{one}")) == []
        made.close()
    finally:
        queries(dsn, f"DROP DATABASE {name} WITH (FORCE)")
        for role in (maker, worker):
            queries(dsn, f"DROP ROLE {role}")


async def test_tenants_no_role_keeps_the_maker_of_tables_waiting(dsn, two):
    """Whatever locks a role may take: those of numbers, and those that reading takes."""
    mine, _ = two
    connection, made = await asyncpg.connect(mine.dsn), Database(dsn)
    try:
        await connection.execute("BEGIN; SELECT pg_advisory_lock(7512603911)")
        await connection.execute("LOCK TABLE slowcat.migration IN ACCESS SHARE MODE")
        assert not await asyncio.to_thread(made.run, schema.upgrade)
    finally:
        made.close()
        await connection.close()


def test_tenants_two_makers_of_tables_wait_for_each_other(dsn):
    name = f"db_{secrets.token_hex(4)}"
    queries(dsn, f"CREATE DATABASE {name}")
    parts = urlsplit(dsn)
    made = [Database(urlunsplit(parts._replace(path=f"/{name}"))) for _ in range(3)]
    try:
        with ThreadPoolExecutor(3) as pool:
            added = list(pool.map(lambda one: one.run(schema.upgrade, timeout_s=60.0), made))
        assert sorted(added) == [False, False, True]
    finally:
        for one in made:
            one.close()
        queries(dsn, f"DROP DATABASE {name} WITH (FORCE)")
