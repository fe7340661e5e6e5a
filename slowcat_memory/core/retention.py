"""Which turns have been kept for long enough.

Pure. Forgetting a turn takes along what was made from it, so a turn stays as long as something does
that a person wants kept, or that is to last.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct

from slowcat_memory.core.chunks import turn_of
from slowcat_memory.records import Memory, Turn


class RetentionOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the words of known people are kept. Guests' have ``people.guest_hours``.

    Attributes:
        raw_days: Days until a turn is forgotten; 0 keeps everything, since what is forgotten is
            gone for good. 90 is usual where the log is to stay short.
        lasting: Kinds of memories (up to the first "/") that keep the turns that they were made
            from, and with them their evidence. Pinned memories always do.
    """

    raw_days: Annotated[float, Meta(ge=0)] = 0.0
    lasting: tuple[str, ...] = ("note", "fact", "block")


def due(
    turns: Iterable[Turn], memories: Iterable[Memory], now: datetime, options: RetentionOptions
) -> Iterator[int]:
    """Tell which turns of a namespace are to be forgotten.

    Args:
        turns: What was said there.
        memories: What was made of it, chunks that a person pinned included.
        now: The time.
        options: How long what is kept.

    Yields:
        Log ids, in the order of ``turns``; for ``Forget(scope=…, turns=…)``.
    """
    if not options.raw_days:
        return
    before = now - timedelta(days=options.raw_days)
    held = _held(memories, options)
    for turn in turns:
        if turn.at < before and turn.id not in held:
            yield turn.id


def _held(memories: Iterable[Memory], options: RetentionOptions) -> set[int]:
    """Return the turns that a memory keeps."""
    held = set[int]()
    for memory in memories:
        lasts = memory.kind.partition("/")[0] in options.lasting and memory.retired_at is None
        if memory.pinned or lasts:
            held |= {*memory.sources, turn_of(memory.id)}
    return held
