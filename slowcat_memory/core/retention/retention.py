"""Which turns have been kept for long enough.

Pure. Forgetting a turn takes along what was made from it, so a turn stays as long as something does
that a person wants kept, or that is to last.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct

from slowcat_memory.core.memory.chunk import turn_of
from slowcat_memory.records import Memory, Turn

NOTED, EVIDENT = frozenset({"note"}), frozenset({"fact", "block"})  # kinds, up to the first "/"


class RetentionOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long the words of known people are kept. Guests' have ``people.guest_hours``.

    Attributes:
        raw_days: Days until a turn is forgotten; 0 keeps everything, since what is forgotten is
            gone for good. 90 is usual where the log is to stay short.
        keep_evidence: A turn stays as long as a fact or a block that was made from it; else these
            go along with it. What is pinned or noted keeps its turns in any case.
    """

    raw_days: Annotated[float, Meta(ge=0)] = 0.0
    keep_evidence: bool = True


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
    lasting = NOTED | EVIDENT if options.keep_evidence else NOTED
    for memory in memories:
        lasts = memory.kind.partition("/")[0] in lasting and memory.retired_at is None
        if memory.pinned or lasts:
            held |= {*memory.sources, turn_of(memory.id)}
    return held
