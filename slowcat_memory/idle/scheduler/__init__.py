"""When and how idle jobs run: the gate, triggers, the task queue, steps, retries, the budget."""
