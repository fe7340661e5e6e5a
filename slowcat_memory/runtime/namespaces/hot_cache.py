"""A scope's latest memories, which are read from memory."""

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice

from slowcat_memory.records import Memory, Turn
from slowcat_memory.store import Ack, Snapshot


class HotCache:
    """The latest memories, and all that are not durable yet: only here can these be read."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: OrderedDict[str, tuple[Memory, Ack | None]] = OrderedDict()

    def get(self, memory_id: str) -> Memory | None:
        held = self._held.get(memory_id)
        return held[0] if held else None

    def latest(self) -> Memory | None:
        try:
            return next(reversed(self._held.values()), (None, None))[0]
        except RuntimeError:  # another thread changed it meanwhile
            return None

    def add(self, memory: Memory, ack: Ack | None) -> None:
        """Add a memory, which is durable once ``ack`` resolves, and drop the oldest durable ones."""
        self._held[memory.id] = (memory, ack)
        while len(self._held) > self._size:
            oldest = next(iter(self._held))
            if self.pending(oldest):
                break
            del self._held[oldest]

    def put_before(self, memories: Iterable[Memory]) -> None:
        """Add stored memories, oldest first, before those that are there; the latest stay."""
        stored = {one.id: (one, None) for one in memories if one.id not in self._held}
        room = max(0, self._size - len(self._held))
        kept = list(stored.items())[len(stored) - min(room, len(stored)) :]
        self._held = OrderedDict[str, tuple[Memory, Ack | None]]([*kept, *self._held.items()])

    def update(self, memory: Memory) -> None:
        if held := self._held.get(memory.id):
            self._held[memory.id] = (memory, held[1])

    def pending(self, memory_id: str) -> bool:
        """Return whether a memory is cached whose write has not finished."""
        held = self._held.get(memory_id)
        return held is not None and held[1] is not None and not held[1].done()

    def drop(self, memory_id: str) -> None:
        self._held.pop(memory_id, None)


def latest_turns(snapshot: Snapshot, scope: str, most: int) -> list[Turn]:
    """Return the latest turns of a scope, oldest first. Reads no more than these."""
    talk = (turn for turn in snapshot.latest_turns(scope) if not turn.aside)
    return list(islice(talk, most))[::-1]
