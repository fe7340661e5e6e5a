"""Judges what a memory showed during a life against the life's truth.

Each law counts its cases and finds the wrong ones.
"""

from collections.abc import Callable

from benchmarks.lives.judging import agent_laws, answer_laws, derived_laws
from benchmarks.lives.judging.truth import Truth, Verdict
from benchmarks.lives.playing.player import Played
from benchmarks.lives.playing.record import Record

LAWS: dict[str, Callable[[Truth, Record], Verdict]] = {
    law.__name__: law
    for law in (
        derived_laws.dates, derived_laws.undated, derived_laws.read, derived_laws.traps,
        answer_laws.superseded, answer_laws.current, answer_laws.unknown, answer_laws.denied,
        agent_laws.icebreakers, agent_laws.told_already, derived_laws.stale,
        derived_laws.kept,
        derived_laws.timeline,
        derived_laws.opposites, agent_laws.heads, agent_laws.spoken, answer_laws.as_of,
    )
}  # fmt: skip


def judge(played: Played) -> dict[str, Verdict]:
    """Return the verdict of each law on a played life."""
    truth = Truth(played.life)
    return {name: law(truth, played.record) for name, law in LAWS.items()}
