"""Where a fleet's database is, and what a worker keeps of it."""

from typing import Annotated

from msgspec import Meta, Struct


class FleetOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fleet: several workers that share the memories of many people in a PostgreSQL database.

    Attributes:
        dsn: The database, such as "postgresql://worker@db.example/memories"; "" for no fleet. The
            password is better in ~/.pgpass or in the environment.
        tenant: Whose rows this worker reads and writes.
        cache: The folder of this worker's copies of memories, on a local disk.
        lease_s: Seconds until another worker may take over from one that is no longer heard of.
    """

    dsn: str = ""
    tenant: str = "default"
    cache: str = "~/.slowcat-fleet"
    lease_s: Annotated[float, Meta(ge=1.0, le=3600.0)] = 30.0
