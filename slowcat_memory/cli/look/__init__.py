"""Commands that only read: search, show, why, stats, people, facts, timeline, as-of."""
