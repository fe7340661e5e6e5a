"""Which memories move to which tier: the policy. ``store.writer.tier_mover`` moves them.

Tiers change how a text is stored, never whether it can be found. The sizes limit what is kept near;
the last tier has no limit, and nothing is ever dropped for lack of room.
"""

from collections.abc import Sequence, Set
from typing import Annotated, Literal

from msgspec import Meta, Struct

from slowcat_memory.core.retention.importance import importance

Codec = Literal["raw", "lz4", "zstd"]


class Tier(Struct, frozen=True):
    """One way to store texts.

    Attributes:
        name: Its name.
        size: Memories of a namespace in it; None for all the rest.
        codec: Compression of a block; "raw" stores every event in a row of its own.
        exchanges: Exchanges that share a block at most; 0 for no blocks.
    """

    name: str
    size: int | None
    codec: Codec
    exchanges: int


# From near to far. Sizes are the sources' (200 / 500 / 2000), of which the last is no limit here.
TIERS = (
    Tier("hot", 200, "raw", 0),
    Tier("warm", 500, "lz4", 32),
    Tier("cold", None, "zstd", 32),
)
HOT, WARM, COLD = TIERS


class TierOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How texts are kept on disk. What is older takes less room, and is found as fast.

    The latest ``memory.hot_cache_size`` turns of a namespace are the hot tier: in memory, and on
    disk in a row each. The warm tier follows, in LZ4 blocks; all the rest is cold, in zstd blocks.

    Behaviour:

    Attributes:
        warm: How many memories of a namespace stay warm.

    Performance:

    Attributes:
        block_exchanges: At most so many exchanges of one session share a block.
        block_bytes: At most so many bytes share a block, unpacked; reading one text unpacks its
            block.
        level: zstd's, 1 to 19; 19 takes six times as long as 12 and saves 3 percent more.
    """

    warm: Annotated[int, Meta(ge=0)] = WARM.size or 0
    block_exchanges: Annotated[int, Meta(ge=1)] = COLD.exchanges
    block_bytes: Annotated[int, Meta(ge=1, le=1 << 20)] = 8192
    level: Annotated[int, Meta(ge=1, le=19)] = 12


# ------------------------------------------------------------------- hot to warm


class Row(Struct, frozen=True):
    """An event in a row of its own; ``size`` in bytes."""

    id: int
    session: str
    size: int


def share(
    rows: Sequence[Row], unfinished: Set[str], options: TierOptions
) -> tuple[list[list[int]], list[int]]:
    """Divide events that are no longer hot into blocks, each of one session.

    Args:
        rows: The events, in log order.
        unfinished: Sessions that will have more turns: what does not fill a block waits for them.
        options: How large a block may be.

    Returns:
        Log ids by block, and the ids of those that wait.
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


# ------------------------------------------------------------------- warm to cold


class Aging(Struct, frozen=True, kw_only=True):
    """What decides when a warm block becomes cold.

    Attributes:
        block: Its number.
        turns: Turns in it.
        at: Time of the last of them, seconds since the epoch.
        words: Highest importance of its texts (``importance.importance_of_words``).
        use: How often any of it was recalled (``importance.use_score``).
        pinned: Whether anything in it is pinned.
    """

    block: int
    turns: int
    at: float
    words: float = 0.5
    use: float = 0.0
    pinned: bool = False


DAY_S = 86_400.0
GRACE_DAYS = 30.0  # days of age that full importance makes up for


def cooling(blocks: Sequence[Aging], room: int, now: float) -> list[int]:
    """Choose the warm blocks that become cold: the oldest, where important ones count as younger.

    Pinned blocks become cold only when no others are left.

    Args:
        blocks: Every warm block of a namespace.
        room: Memories that may stay warm.
        now: The current time, seconds since the epoch.

    Returns:
        Numbers of blocks, the first to go first; those that stay hold ``room`` memories at most.
    """
    held = sum(block.turns for block in blocks)
    going = []
    order = sorted(blocks, key=lambda b: (b.pinned, -_age_days(b, now), b.block))
    for block in order:
        if held <= room:
            break
        going.append(block.block)
        held -= block.turns
    return going


def _age_days(block: Aging, now: float) -> float:
    matters = importance(block.words, block.use, block.pinned)
    return (now - block.at) / DAY_S - GRACE_DAYS * (2 * matters - 1)
