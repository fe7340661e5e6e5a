"""A scope's latest memories, which are read from memory."""

from collections import OrderedDict

from slowcat_memory.records import Memory, Turn
from slowcat_memory.store import Ack, Snapshot


class HotCache:
    """The latest memories, and all that are not durable yet: only here can these be read."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: OrderedDict[str, tuple[Memory, Ack | None]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

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

    def update(self, memory: Memory) -> None:
        if held := self._held.get(memory.id):
            self._held[memory.id] = (memory, held[1])

    def pending(self, memory_id: str) -> bool:
        """Return whether a memory is cached whose write has not finished."""
        held = self._held.get(memory_id)
        return held is not None and held[1] is not None and not held[1].done()

    def pending_local_only(self) -> list[str]:
        return [
            id_
            for id_, (memory, _) in self._held.items()
            if memory.local_only and self.pending(id_)
        ]

    def drop(self, memory_id: str) -> None:
        self._held.pop(memory_id, None)


def latest_turns(snapshot: Snapshot, scope: str, most: int) -> list[Turn]:
    """Return the latest turns of a scope, oldest first, with the sessions they are in."""
    sessions = sorted(snapshot.sessions(scope), key=lambda one: one.last_turn, reverse=True)
    found = list[Turn]()
    for session in sessions if most else ():
        turns = snapshot.turns(scope, after=session.first_turn - 1, upto=session.last_turn)
        found += [turn for turn in turns if turn.session == session.id and not turn.aside]
        if len(found) >= most:
            break
    return sorted(found, key=lambda turn: turn.id)[-most:] if most else []
