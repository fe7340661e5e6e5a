"""From a query to hits, in stages, under a deadline."""
