"""How much a memory matters, which tier its text belongs to, and how long a turn is kept.

Tiers change how a text is stored, never whether it can be found. The last tier is unlimited:
nothing is dropped for lack of space. ``store.tier_mover`` moves texts. Forgetting a turn also
deletes everything derived from it, so turns behind a memory that a user pinned or that is to last
are kept.
"""

import re
from collections.abc import Iterable, Sequence, Set
from typing import Annotated

from msgspec import Meta, Struct

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.memory import turn_of
from slowcat_memory.records import Memory

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


class Aging(Struct, frozen=True, kw_only=True):
    """Properties of a warm block that decide when it becomes cold.

    Attributes:
        block: Its number.
        turns: Number of turns in it.
        at: Time of the last of them, seconds since the epoch.
        words: Highest importance of its texts (``importance_of_words``).
        use: How often any of it was recalled (``use_score``).
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
