"""Parts of ``benchmarks.fleet_queues`` and ``benchmarks.fleet_simulation``: many workers, one PostgreSQL."""
