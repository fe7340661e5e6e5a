"""Harnesses: they kill processes, cut the power, and check real stores; or play real conversations.

Each is a command, prints one line of JSON, and has a ``--control`` that plants the fault that it
must find::

    python -m tests.harness.kill9 --kills 1000
    python -m tests.harness.forget9 --kills 500
    python -m tests.harness.powerloss --images 3000
    python -m tests.harness.turns --scripts 1000

``nightly`` runs them all. ``isolation`` involves no crash: it searches one person's memory for another's words.
"""
