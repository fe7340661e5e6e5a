"""What the simulated lives must reach: the largest share of wrong cases of a law, by LLM."""

from collections.abc import Mapping
from typing import Any

LIMITS: dict[str, dict[str, float]] = {
    "none": {
        "dates": 0.02, "superseded": 0.0, "current": 0.07, "icebreakers": 0.0, "opposites": 0.0,
        "spoken": 0.0,
    },
    "scripted": {
        "dates": 0.005, "superseded": 0.0, "current": 0.03, "icebreakers": 0.0, "opposites": 0.0,
        "spoken": 0.0,
    },
}  # fmt: skip


def beyond(sums: Mapping[str, Mapping[str, Any]], llm: str) -> dict[str, int]:
    """Return the wrong cases of each law that has a limit, 0 for a law that keeps it."""
    found = {}
    for law, limit in LIMITS[llm].items():
        cases, wrong = sums[law]["cases"], sums[law]["cases"] - sums[law]["right"]
        found[law] = wrong if wrong > limit * cases else 0
    return found
