"""What is made of a turn that stays on this machine stays there too, whoever made it."""

from collections.abc import Iterable

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.records import Memory
from slowcat_memory.store import Snapshot


def kept_here(memories: Iterable[Memory], snapshot: Snapshot) -> tuple[Memory, ...]:
    """Mark what a step made of turns that must not leave this machine.

    Args:
        memories: About to be written.
        snapshot: Tells which turns those are.

    Returns:
        The memories; local-only where any of their sources is.
    """
    known = dict[tuple[str, int], bool]()

    def stays(scope: str, turn: int) -> bool:
        if (scope, turn) not in known:
            chunk = snapshot.memory(scope, chunk_id(turn))
            known[scope, turn] = chunk is not None and chunk.local_only
        return known[scope, turn]

    return tuple(
        replace(one, local_only=True)
        if not one.local_only and any(stays(one.scope, turn) for turn in one.sources)
        else one
        for one in memories
    )
