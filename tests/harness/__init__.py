"""Harnesses: they kill, cut the power of, and look into real stores; or play real conversations.

Each is a command, prints one line of JSON, and has a ``--control`` in which the fault that it looks
for is planted::

    python -m tests.harness.kill9 --kills 1000
    python -m tests.harness.forget9 --kills 500
    python -m tests.harness.powerloss --images 3000

``isolation`` is no crash: it looks for one person's words in another's memory.
    python -m tests.harness.turns --scripts 1000
"""
