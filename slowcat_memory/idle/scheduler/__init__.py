"""When and how a job runs: gate, loop, tasks, retries, budget."""
