"""A conversation as a prompt holds it: one line per turn, behind a fence that no speaker can close."""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import date, tzinfo

from slowcat_memory.core.text.normalize import estimate_tokens, neutralise
from slowcat_memory.records import Turn

FEWEST_CHARS = 80  # of a turn that is cut so that all of them fit
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def fenced(turns: Sequence[Turn], zone: tzinfo, turn_chars: int) -> str:
    """Return turns as a record: when it was and who speaks, then the lines between two fences.

    The fences hold a mark that no speaker can know, because it follows from all that was said.

    Args:
        turns: What the LLM sees of the conversation, in order, at least one.
        zone: Of the times.
        turn_chars: Characters of one turn; of a longer one the beginning and the end stay.
    """
    began = turns[0].at.astimezone(zone)
    lines = list(_lines(turns, zone, turn_chars))
    mark = hashlib.blake2b("\n".join(lines).encode(), digest_size=6).hexdigest()
    speakers = ", ".join(dict.fromkeys(neutralise(turn.speaker) for turn in turns))
    return "\n".join(
        (
            f"Conversation of {day_name(began.date())}, {began:%H:%M} (time zone {zone}). "
            f"Who speaks: {speakers}.",
            f"=== record {mark} ===",
            *lines,
            f"=== end of record {mark} ===",
        )
    )


def line(turn: Turn, turn_chars: int) -> str:
    """Return a turn as it stands in the record: one neutralised line."""
    text = neutralise(turn.text)
    if len(text) > turn_chars:
        text = f"{text[: turn_chars * 2 // 3]} … {text[-turn_chars // 3 :]}"
    return f"[{turn.id}] {neutralise(turn.speaker)}: {text}"


def fitting(turns: Sequence[Turn], room: int, most: int) -> int:
    """Return how many characters each turn may have so that all fit ``room`` tokens.

    At least ``FEWEST_CHARS``, whether or not that fits, and at most ``most``.
    """
    chars = most
    while chars > FEWEST_CHARS and sum(estimate_tokens(line(t, chars)) + 1 for t in turns) > room:
        chars = max(FEWEST_CHARS, chars * 2 // 3)
    return chars


def day_name(day: date) -> str:
    """Return a day with its weekday, so that the LLM need not count: "Tuesday 2026-05-12"."""
    return f"{_WEEKDAYS[day.weekday()]} {day.isoformat()}"


def _lines(turns: Sequence[Turn], zone: tzinfo, turn_chars: int) -> Iterator[str]:
    """Yield a line per turn, and one wherever another day begins."""
    day = turns[0].at.astimezone(zone).date()
    for turn in turns:
        if (said := turn.at.astimezone(zone).date()) != day:
            day = said
            yield f"({day_name(day)})"
        yield line(turn, turn_chars)
