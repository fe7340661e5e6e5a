"""Tiering policy: which memories move to which tier. ``store.tier_mover`` moves them.

Tiers change how a text is stored, never whether it can be found. The last tier is unlimited:
nothing is dropped for lack of space.
"""

import re
from collections.abc import Iterable, Sequence, Set
from typing import Annotated, Literal

from msgspec import Meta, Struct

from slowcat_memory.core.language import LANGUAGES

# Importance does not depend on a query. It is computed on demand, so that nothing has to be updated on
# disk. It decides the tier of a text, not its rank: in the ranking the patterns cost LoCoMo 0.4
# points of R@300w, because they match questions, which seldom answer one. And frequent use must not
# make a memory still more frequent.
ORDINARY = 0.5
USE_HALF_LIFE_DAYS = 14.0
MAX_USE = 0.4  # upper limit of the bonus for use
DAY_S = 86_400.0


PATTERNS = (
    *(
        (re.compile(words, re.IGNORECASE), adds)
        for language in LANGUAGES
        for words, adds in language.importance
    ),
    (re.compile(r"\?"), 0.05),
)


def importance_of_words(text: str) -> float:
    """Return the importance of a text by its words, from ``ORDINARY`` to 1."""
    return min(1.0, ORDINARY + sum(adds for pattern, adds in PATTERNS if pattern.search(text)))


def use_score(at: Iterable[float], now: float) -> float:
    """Return how often and how recently a memory was used; 0 for never.

    Each use (``at``, seconds since the epoch) counts 1 and halves in ``USE_HALF_LIFE_DAYS``.
    """
    return sum(2.0 ** (-max(0.0, now - then) / (USE_HALF_LIFE_DAYS * DAY_S)) for then in at)


def importance(words: float, use: float, pinned: bool) -> float:
    """Return the importance, 0 to 1, from words (or set by a user), use and pin; 1 if pinned."""
    if pinned:
        return 1.0
    return min(1.0, words + MAX_USE * use / (1.0 + use))


Codec = Literal["raw", "lz4", "zstd"]


class Tier(Struct, frozen=True):
    """A storage tier.

    Attributes:
        size: Memories of a namespace in it; None for all the rest.
        codec: Compression of a block; "raw" stores every event in a row of its own.
        exchanges: Most exchanges per block; 0 for no blocks.
    """

    name: str
    size: int | None
    codec: Codec
    exchanges: int


# From hot to cold. Sizes are the sources' (200 / 500 / 2000); the last has no limit here.
TIERS = (
    Tier("hot", 200, "raw", 0),
    Tier("warm", 500, "lz4", 32),
    Tier("cold", None, "zstd", 32),
)
HOT, WARM, COLD = TIERS


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

    warm: Annotated[int, Meta(ge=0, le=1_000_000_000)] = WARM.size or 0
    block_exchanges: Annotated[int, Meta(ge=1, le=10_000)] = COLD.exchanges
    block_bytes: Annotated[int, Meta(ge=1, le=1 << 20)] = 8192
    level: Annotated[int, Meta(ge=1, le=19)] = 12


class Row(Struct, frozen=True):
    """An event in its own row; ``size`` in bytes."""

    id: int
    session: str
    size: int


def share(
    rows: Sequence[Row], unfinished: Set[str], options: TierOptions
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


class Aging(Struct, frozen=True, kw_only=True):
    """Properties of a warm block that decide when it becomes cold.

    Attributes:
        block: Its number.
        turns: Number of turns in it.
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


GRACE_DAYS = 30.0  # days of age that full importance offsets


def cooling(blocks: Sequence[Aging], room: int, now: float) -> list[int]:
    """Return the numbers of the warm blocks to make cold, in order: the oldest first.

    Important blocks count as younger; pinned ones become cold only when no others are left.

    Args:
        blocks: Every warm block of a namespace.
        room: Most memories that stay warm.
        now: Seconds since the epoch.
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
