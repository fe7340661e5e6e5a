"""Answers queries: pipeline, deadline, prefetch, trace, and searches without an index."""
