"""Judges what a memory showed during a life against the life's truth.

Each law counts its cases and finds the wrong ones; those with a limit must reach it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.lives.judging import laws
from benchmarks.lives.judging.truth import Truth, Verdict
from benchmarks.lives.playing.player import Played
from benchmarks.lives.playing.record import Record

LAWS: dict[str, Callable[[Truth, Record], Verdict]] = {
    law.__name__: law
    for law in (
        laws.dates, laws.read, laws.traps, laws.superseded, laws.current, laws.icebreakers,
        laws.stale, laws.opposites, laws.spoken,
    )
}  # fmt: skip
LIMITS: dict[str, dict[str, float]] = {  # the largest share of wrong cases, by LLM
    "none": {
        "dates": 0.02, "superseded": 0.0, "current": 0.07, "icebreakers": 0.0, "opposites": 0.0,
        "spoken": 0.0,
    },
    "scripted": {
        "dates": 0.005, "superseded": 0.0, "current": 0.03, "icebreakers": 0.0, "opposites": 0.0,
        "spoken": 0.0,
    },
}  # fmt: skip


def judge(played: Played) -> dict[str, Verdict]:
    """Return the verdict of each law on a played life."""
    truth = Truth(played.life)
    return {name: law(truth, played.record) for name, law in LAWS.items()}


def beyond(sums: Mapping[str, Mapping[str, Any]], llm: str) -> dict[str, int]:
    """Return the wrong cases of each law that has a limit, 0 for a law that keeps it."""
    found = {}
    for law, limit in LIMITS[llm].items():
        cases, wrong = sums[law]["cases"], sums[law]["cases"] - sums[law]["right"]
        found[law] = wrong if wrong > limit * cases else 0
    return found
