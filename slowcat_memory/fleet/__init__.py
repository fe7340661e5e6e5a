"""One memory for many workers: people's logs, leases and tasks in PostgreSQL, recall from local copies."""

from slowcat_memory.fleet.fleet_process import Fleet

__all__ = ["Fleet"]
