"""Selects the turns older than the retention period.

Forgetting a turn also deletes everything derived from it, so turns behind a memory that a user
pinned or that is to last are kept.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct

from slowcat_memory.core.memory import turn_of
from slowcat_memory.records import Memory, Turn

NOTES, EVIDENCE = frozenset({"note"}), frozenset({"fact", "block"})  # families of kinds


class RetentionOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long known users' turns are kept. For guests see ``people.guest_hours``.

    Attributes:
        raw_days: Days until a turn is erased with what was made from it, except what
            ``keep_evidence`` holds back; 0 keeps everything. 90 is usual for a short log.
        keep_evidence: Keep a turn as long as a fact or block made from it; else these are erased
            with it. Turns of pins and notes are always kept. ``slowcat-memory doctor``
            says how many turns are kept so, and since when.
    """

    raw_days: Annotated[float, Meta(ge=0, le=36_500)] = 0.0
    keep_evidence: bool = True


def due(
    turns: Iterable[Turn], memories: Iterable[Memory], now: datetime, options: RetentionOptions
) -> Iterator[int]:
    """Yield the log ids of a namespace's turns to forget, in order.

    Args:
        memories: Everything derived from them, including pinned chunks.
    """
    if not options.raw_days:
        return
    before = now - timedelta(days=options.raw_days)
    kept = held(memories, options)
    for turn in turns:
        if turn.at < before and turn.id not in kept:
            yield turn.id


def held(memories: Iterable[Memory], options: RetentionOptions) -> frozenset[int]:
    """Return the log ids of the turns that a memory keeps."""
    kinds = NOTES | EVIDENCE if options.keep_evidence else NOTES
    found = set[int]()
    for memory in memories:
        lasts = memory.kind.partition("/")[0] in kinds and memory.retired_at is None
        if memory.pinned or lasts:
            found |= {*memory.sources, turn_of(memory.id)}
    return frozenset(found)
