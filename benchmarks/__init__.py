"""Measurements: each module with a ``main`` is a command, ``python -m benchmarks.NAME --help``."""
