"""What idle work costs the conversation, as Markdown: see also ``tables``."""

from typing import Any

from benchmarks.preempt import CONTROL
from benchmarks.tables import PERCENTILES, table, where

ARMS = {"off": "without idle work", "on": "with it"}


def preempt(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.preempt`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    rows = [
        (
            f"{name} (control)" if name == CONTROL else name,
            arm["gone"]["n"],
            *(arm["gone"][p] for p in PERCENTILES),
            arm["overlaps"],
        )
        for name, arm in written["arms"].items()
    ]
    return "\n\n".join(
        (
            where(written, "before the first arm and after each"),
            f"**{written['interruptions']} interruptions** an arm, milliseconds:",
            table(("", "requests", *PERCENTILES, "beside the conversation's"), rows),
        )
    )


def idle_cost(written: dict[str, Any]) -> str:
    """Write what ``benchmarks.idle_cost`` measured.

    Args:
        written: Its JSON.

    Returns:
        Markdown.
    """
    rows = [
        (f"{figure}, {ARMS[arm]}", *(values[figure][p] for p in PERCENTILES))
        for figure in written["ratio"]
        for arm, values in written["arms"].items()
    ]
    rows += [
        (f"{figure}, ratio", *(ratio.get(p, "") for p in PERCENTILES))
        for figure, ratio in written["ratio"].items()
    ]
    return "\n\n".join(
        (
            where(written, "before and after"),
            f"**{written['memories']:,} memories**, {written['turns']} turns each, "
            f"{written['steps']} steps of idle work begun, milliseconds:",
            table(("", *PERCENTILES), rows),
        )
    )
