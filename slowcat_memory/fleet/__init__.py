"""One memory for many workers: people's logs, leases and tasks in PostgreSQL, recall from local copies."""
