"""How is a query answered? Pipeline, deadline, prefetch, trace, and searches without an index."""
