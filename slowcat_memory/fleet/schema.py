"""Makes the tables of a fleet, and lets roles use a tenant."""

from importlib import resources

from slowcat_memory.errors import FleetError
from slowcat_memory.fleet.database import Connection

VERSION = 5  # of schema.sql; tables of another one are refused
# Two `fleet init` wait for each other; a role that may only read cannot hold this lock.
ALONE = "LOCK TABLE slowcat.migration IN SHARE ROW EXCLUSIVE MODE"
# Where two make a schema at once, one of them fails, although it asks whether there is one.
BEGIN = """DO $$ BEGIN
  CREATE SCHEMA IF NOT EXISTS slowcat;
  CREATE TABLE IF NOT EXISTS slowcat.migration
    (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());
EXCEPTION WHEN unique_violation THEN NULL; END $$"""
TABLES = ("owner", "taken_over", "log", "snapshot", "task", "kept")


async def upgrade(connection: Connection) -> bool:
    """Make the tables, in one transaction; return whether they were not there.

    Raises:
        FleetError: Another version of this package made it, or the role may not.
    """
    async with connection.transaction():
        await connection.execute(BEGIN)
        await connection.execute(ALONE)
        done = {row["version"] for row in await connection.fetch("TABLE slowcat.migration")}
        if other := done - {VERSION}:
            raise FleetError(
                f"the tables have version {max(other)}, this slowcat-memory makes {VERSION}",
                hint="Use the version that made them; docs/fleet.md says how to go on to another",
            )
        if not done:
            script = resources.files("slowcat_memory.fleet").joinpath("schema.sql")
            await connection.execute(script.read_text("utf-8"))
            await connection.execute("INSERT INTO slowcat.migration (version) VALUES ($1)", VERSION)
        return not done


async def allow(connection: Connection, tenant: str, role: str) -> tuple[str, bool]:
    """Let a role use a tenant's rows, and no others.

    Returns its name, and whether row-level security does not bind it.

    Args:
        role: "" for the role of this connection.

    Raises:
        FleetError: There is no such role.
    """
    role = role or await connection.fetchval("SELECT current_user")
    quoted = await connection.fetchval("SELECT quote_ident($1)", role)
    tables = ", ".join(f"slowcat.{table}" for table in TABLES)
    async with connection.transaction():
        await connection.execute(ALONE)
        await connection.execute(f"GRANT USAGE ON SCHEMA slowcat TO {quoted}")
        await connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA slowcat TO {quoted}")
        await connection.execute(f"GRANT INSERT, UPDATE, DELETE ON {tables} TO {quoted}")
        await connection.execute(
            "INSERT INTO slowcat.tenant (tenant, role) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            tenant,
            role,
        )
        query = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1"
        return role, bool(await connection.fetchval(query, role))
