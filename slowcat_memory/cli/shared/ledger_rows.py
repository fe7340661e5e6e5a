"""A row of the ledger in plain words, for ``why`` and ``replay``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from slowcat_memory.cli.shared.output import short, when

if TYPE_CHECKING:
    from datetime import tzinfo

    from slowcat_memory.records import LedgerEntry, Memory

OFFERED = "offered"
VISIBLE = "visible"
WORDS = {
    OFFERED: "offered",
    VISIBLE: "still in the context",
    "floor": "nothing was likely enough",
    "share": "too weak beside the best",
    "heard": "the same words stand in the context",
    "duplicate": "says what a better one says",
    "enough": "others were better",
    "room": "no room in the block",
    "over": "no longer true then",
    "gone": "forgotten meanwhile",
}
WIDTH = 20  # of a column of verdicts, so that 80 columns leave room for the memory
STAGES = {
    "full": "by words and vectors",
    "lexical": "by words alone: no vector, or no time for one",
    "tail": "out of time: only the words of what was said lately",
    "skipped": "nothing in it needs a memory",
    "none": "out of time, or the memory was not loaded yet",
}


class Verdict(Struct, frozen=True, kw_only=True):
    """What became of one memory at a turn.

    Attributes:
        memory: Its id.
        verdict: A key of ``WORDS``, or another reason's own word.
        score: As in ``Hit``; None where it was not weighed.
        probability: As in ``Hit``; None where it was not weighed.
        views: As in ``Hit``.
    """

    memory: str
    verdict: str
    score: float | None = None
    probability: float | None = None
    views: dict[str, float] = {}

    @property
    def words(self) -> str:
        """The verdict in plain words."""
        return WORDS.get(self.verdict, self.verdict)


def verdicts(entry: "LedgerEntry") -> list[Verdict]:
    """Tell what became of each memory at a turn.

    Returns:
        By score, best first; at the end what still stood in the context.
    """
    return [*sorted(_weighed(entry), key=lambda one: -(one.score or 0)), *_visible(entry)]


def _weighed(entry: "LedgerEntry") -> Iterator[Verdict]:
    reasons = dict.fromkeys((offer.memory for offer in entry.offers), OFFERED)
    reasons |= {one.memory: one.reason for one in entry.left_out}
    for one in entry.told:
        yield Verdict(
            memory=one.memory,
            verdict=reasons[one.memory],
            score=one.score,
            probability=one.probability,
            views=one.views,
        )


def _visible(entry: "LedgerEntry") -> Iterator[Verdict]:
    return (Verdict(memory=memory, verdict=VISIBLE) for memory in entry.visible)


def line(memory: "Memory | None", zone: "tzinfo") -> str:
    """Write a memory as one line.

    Args:
        memory: The memory, None when it no longer exists.

    Returns:
        For example "2024-05-12 18:30 Anna: My dog is called Max."
    """
    if memory is None:
        return "forgotten since"
    return f"{when(memory.valid_from, zone)} {memory.speaker}: {short(memory.text)}"


def views(scores: dict[str, float]) -> str:
    """Write by which views a memory was found.

    Returns:
        For example "window 0.91, dense 0.40".
    """
    best_first = sorted(scores.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {score:.2f}" for name, score in best_first if abs(score) >= 0.005)


def how_found(entry: "LedgerEntry") -> str:
    """Say how far recall came, and how long each part took."""
    stage = entry.stage or "none"
    times = ", ".join(f"{name} {ms:.1f}" for name, ms in entry.timings.items())
    told = [f"stage {stage} ({STAGES.get(stage, stage)})"]
    told += [f"{entry.candidates} weighed"] if entry.candidates else []
    told += [f"{entry.tokens} tokens"]
    return "; ".join([*told, f"ms: {times}"] if times else told)
