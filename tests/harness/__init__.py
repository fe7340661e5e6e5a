"""Harnesses: they kill processes, cut the power, and check real stores; or play real conversations.

Each is a command, prints one line of JSON, and plants with ``--control`` the faults that it must
find (``command``)::

    python -m tests.harness.kill9 --count 1000
    python -m tests.harness.powerloss --what restore --count 600
    python -m tests.harness.forget9 --control tiers

``nightly`` runs them all. ``isolation`` involves no crash: it searches one person's memory for another's words.
"""
