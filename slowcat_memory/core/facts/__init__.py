"""Facts: what becomes one, how it is kept, and which known fact it repeats or replaces."""
