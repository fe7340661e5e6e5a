"""What stays the same during a session: lines for the LLM's system instruction."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from slowcat_memory.core.text import neutralise
from slowcat_memory.records import Memory


def head(talks: int, last: datetime | None, pinned: Sequence[Memory], zone: tzinfo) -> str:
    """Write the static head.

    Byte-stable for the same input: no clock, and an order of its own.

    Args:
        talks: How many sessions there were.
        last: When the last of them was active, None when there was none.
        pinned: What a person asked to keep in mind.
        zone: The user's time zone.

    Returns:
        A few lines, "" when there is nothing to say.
    """
    lines = []
    if talks and last is not None:
        day = last.astimezone(zone)
        times = "once" if talks == 1 else f"{talks} times"
        lines.append(f"You have talked {times} before, the last time on {day.day} {day:%B %Y}.")
    if pinned:
        lines.append("You were asked to always keep in mind:")
        lines += [
            f"- {neutralise(memory.speaker)}: {neutralise(memory.text)}"
            for memory in sorted(pinned, key=lambda memory: memory.id)
        ]
    return "\n".join(lines)
