"""When an LLM is asked to write a block again: seldom, as each prompt shows all that it is about.

Between two prompts the block is kept up to date by rule: lines that nothing supports any more go, and
new statements are added as they are.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from slowcat_memory.core.blocks.statements import SourcedLine

REST = timedelta(days=6)  # after which any change is enough
LEAST_REST = timedelta(hours=20)  # before which none is
MANY = 6  # changed statements, at least, that are enough before `REST` is over


class Asked(Struct, frozen=True, kw_only=True):
    """The last time that an LLM wrote a block.

    Attributes:
        at: When it answered.
        version: Of the prompt.
        seen: A short hash of each statement that there was.
        lines: How many lines of its answer were kept.
    """

    at: datetime
    version: int
    seen: tuple[str, ...]
    lines: int


def is_due(
    asked: Asked | None,
    version: int,
    statements: Iterable[SourcedLine],
    lines: int,
    now: datetime,
    rest: timedelta = REST,
    *,
    early: bool = True,
) -> bool:
    """Return whether an LLM is to write a block.

    Args:
        asked: When it did last, None for never.
        statements: What there is to write about.
        lines: How many of its lines are left.
        rest: After which any change is enough.
        early: Whether many changes are enough before.
    """
    marks = set(marks_of(statements))
    if not marks:
        return False
    if asked is None or asked.version != version or (asked.lines and not lines):
        return True
    changed = len(marks ^ set(asked.seen))
    since = now - asked.at
    many = early and changed >= max(MANY, len(asked.seen) // 2) and since >= min(LEAST_REST, rest)
    return bool(changed) and (since >= rest or many)


def marks_of(statements: Iterable[SourcedLine]) -> tuple[str, ...]:
    """Return a hash (6 characters) of each statement."""
    return tuple(
        hashlib.blake2b(one.text.encode(), digest_size=3).hexdigest() for one in statements
    )
