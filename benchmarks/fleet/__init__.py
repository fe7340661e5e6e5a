"""Parts of ``benchmarks.fleet_queues``: what many workers over one PostgreSQL cost."""
