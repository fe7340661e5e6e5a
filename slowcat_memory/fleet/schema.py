"""Makes and upgrades the tables of a fleet, and lets roles use a tenant."""

import re
from importlib import resources

from slowcat_memory.errors import FleetError
from slowcat_memory.fleet.database import AlreadyThere, Connection

# Two `fleet init` wait for each other; a role that may only read cannot hold this lock.
ALONE = "LOCK TABLE slowcat.migration IN SHARE ROW EXCLUSIVE MODE"
TABLES = ("owner", "taken_over", "log", "snapshot", "task", "kept")
GRANTS = "SELECT, INSERT, UPDATE, DELETE"


def migrations() -> dict[int, str]:
    """Return the SQL of each version, in order."""
    files = resources.files("slowcat_memory.fleet.migrations").iterdir()
    found = {int(file.name[:4]): file for file in files if re.fullmatch(r"\d{4}\.sql", file.name)}
    return {number: found[number].read_text("utf-8") for number in sorted(found)}


async def upgrade(connection: Connection) -> list[int]:
    """Bring the schema up to date, in one transaction; return the versions that were added.

    Raises:
        FleetError: Another version of this package made it, or the role may not.
    """
    try:
        return await _upgrade(connection)
    except AlreadyThere:  # another `fleet init` has just made it
        return await _upgrade(connection)


async def _upgrade(connection: Connection) -> list[int]:
    async with connection.transaction():
        await connection.execute("CREATE SCHEMA IF NOT EXISTS slowcat")
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS slowcat.migration"
            " (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp())"
        )
        await connection.execute(ALONE)
        done = {row["version"] for row in await connection.fetch("TABLE slowcat.migration")}
        known = migrations()
        if newer := done - known.keys():
            raise FleetError(
                f"the tables have version {max(newer)}, this slowcat-memory makes {max(known)}",
                hint="Use the version that made them; docs/fleet.md says how to go on to another",
            )
        added = [number for number in known if number not in done]
        for number in added:
            await connection.execute(known[number])
            await connection.execute("INSERT INTO slowcat.migration (version) VALUES ($1)", number)
    return added


async def allow(connection: Connection, tenant: str, role: str) -> str:
    """Let a role use a tenant's rows, and no others; return its name.

    Args:
        role: "" for the role of this connection.

    Raises:
        FleetError: There is no such role.
    """
    role = role or await connection.fetchval("SELECT current_user")
    quoted = await connection.fetchval("SELECT quote_ident($1)", role)
    async with connection.transaction():
        await connection.execute(ALONE)
        await connection.execute(f"GRANT USAGE ON SCHEMA slowcat TO {quoted}")
        for table in TABLES:
            await connection.execute(f"GRANT {GRANTS} ON slowcat.{table} TO {quoted}")
        for table in ("tenant", "migration"):
            await connection.execute(f"GRANT SELECT ON slowcat.{table} TO {quoted}")
        await connection.execute(
            "INSERT INTO slowcat.tenant (tenant, role) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            tenant,
            role,
        )
    return role


async def bypasses_policies(connection: Connection, role: str = "") -> bool:
    """Return whether row-level security does not bind a role; "" for this connection's."""
    return bool(
        await connection.fetchval(
            "SELECT rolsuper OR rolbypassrls FROM pg_roles"
            " WHERE rolname = coalesce(nullif($1, ''), current_user)",
            role,
        )
    )
