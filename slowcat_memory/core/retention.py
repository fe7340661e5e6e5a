"""Which tier a text belongs to, and how long a turn is kept.

Tiers change how a text is stored, never whether it can be found. The last tier is unlimited:
nothing is dropped for lack of space. ``store.tier_mover`` moves texts. Forgetting a turn also
deletes everything derived from it, so turns behind a memory that a user pinned or that is to last
are kept.
"""

from collections.abc import Iterable, Sequence, Set
from typing import Annotated

from msgspec import Meta, Struct

from slowcat_memory.core.memory import turn_of
from slowcat_memory.records import Memory

# Memories of a namespace in the hot and in the warm tier, of the sources; the cold one has no limit.
HOT, WARM = 200, 500


class TierOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How texts are stored on disk. Older texts take less space, and are found as fast.

    The latest ``memory.hot_cache_size`` turns of a namespace are the hot tier: in memory, and on
    disk in a row each. The warm tier follows, in LZ4 blocks; all the rest is cold, in zstd blocks.

    Behaviour:

    Attributes:
        warm: Most warm memories of a namespace.

    Performance:

    Attributes:
        block_exchanges: Most exchanges of one session per block.
        block_bytes: Most unpacked bytes per block; reading one text unpacks its block.
        level: Level of zstd, 1 to 19; 19 takes six times as long as 12 and saves 3 percent more.
    """

    warm: Annotated[int, Meta(ge=0, le=1_000_000_000)] = WARM
    block_exchanges: Annotated[int, Meta(ge=1, le=10_000)] = 32
    block_bytes: Annotated[int, Meta(ge=1, le=1 << 20)] = 8192
    level: Annotated[int, Meta(ge=1, le=19)] = 12


class EventRow(Struct, frozen=True):
    """An event in its own row; ``size`` in bytes."""

    id: int
    session: str
    size: int


def share(
    rows: Sequence[EventRow], unfinished: Set[str], options: TierOptions
) -> tuple[list[list[int]], list[int]]:
    """Divide events that are no longer hot into blocks of one session each; return log ids.

    Of ``unfinished`` sessions, events that do not fill a block wait; they are the second list.
    """
    blocks: list[list[int]] = []
    open_: dict[str, tuple[list[int], int]] = {}
    for row in rows:
        ids, size = open_.get(row.session, ([], 0))
        full = len(ids) >= 2 * options.block_exchanges or size + row.size > options.block_bytes
        if ids and full:
            blocks.append(ids)
            ids, size = [], 0
        ids.append(row.id)
        open_[row.session] = (ids, size + row.size)
    blocks += [ids for session, (ids, _) in open_.items() if session not in unfinished]
    waiting = [n for session, (ids, _) in open_.items() if session in unfinished for n in ids]
    return sorted(blocks), sorted(waiting)


# ------------------------------------------------------------------- how long turns are kept

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


def held(memories: Iterable[Memory], options: RetentionOptions) -> frozenset[int]:
    """Return the log ids of the turns that a memory keeps."""
    kinds = NOTES | EVIDENCE if options.keep_evidence else NOTES
    ids = set[int]()
    for memory in memories:
        lasts = memory.kind.partition("/")[0] in kinds and memory.retired_at is None
        if memory.pinned or lasts:
            ids |= {*memory.sources, turn_of(memory.id)}
    return frozenset(ids)
