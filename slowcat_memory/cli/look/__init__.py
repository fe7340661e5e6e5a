"""Commands that only read a memory: search, show, why, stats, people, facts, timeline, as-of."""
