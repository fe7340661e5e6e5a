"""The log's ids of events that were accepted before they were numbered.

Until then an event has a *provisional* id, negative and far from zero: it sorts before all logged
ones, and is never taken for a relative ``reply_to``.
"""

import threading
from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from slowcat_memory.core.memory import CHUNK, chunk_id
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.records import Event, Turn

FIRST_ID = -(1 << 40)
_LAST_ID = FIRST_ID // 2  # ids below are provisional
KEPT = 20_000  # ids remembered: what a conversation still refers to


def is_provisional(id_: int) -> bool:
    return id_ < _LAST_ID


class Numbers:
    """Ids in the log by provisional id; the latest ``KEPT`` of them. Any thread."""

    def __init__(self) -> None:
        self._logged: dict[int, int] = {}
        self._lock = threading.Lock()

    def record(self, events: Sequence[Event], first: int) -> None:
        """Record the ids of events that were logged one after the other."""
        with self._lock:
            for place, event in enumerate(events):
                self._logged[event.id] = first + place
            while len(self._logged) > KEPT:
                del self._logged[next(iter(self._logged))]

    def logged_id(self, id_: int, *, missing: int | None = None) -> int:
        """Return an event's id in the log.

        Args:
            id_: An id; one that is not provisional is returned unchanged.
            missing: Returned if it is not numbered yet, or was dropped; None for ``id_``.
        """
        if not is_provisional(id_):
            return id_
        return self._logged.get(id_, id_ if missing is None else missing)

    def logged_event(self, event: Event) -> Event:
        """Return a new event that refers to others by their ids in the log."""
        if isinstance(event, Turn) and is_provisional(event.reply_to):
            return replace(event, id=0, reply_to=self.logged_id(event.reply_to, missing=0))
        return replace(event, id=0)

    def logged_dialogue(self, turns: Iterable[DialogueTurn]) -> tuple[DialogueTurn, ...]:
        """Return turns with the log's ids of those that waited."""
        return tuple(replace(one, memory=self.logged_memory(one.memory)) for one in turns)

    def logged_memories(self, ids: Collection[str]) -> frozenset[str]:
        """Return ids of memories, with the log's ids for chunks of turns that waited."""
        return frozenset(map(self.logged_memory, ids))

    def logged_memory(self, memory_id: str) -> str:
        turn = provisional_turn(memory_id)
        return chunk_id(self.logged_id(turn)) if turn else memory_id


def provisional_turn(memory_id: str) -> int:
    """Return the provisional id of the turn that a memory is; 0 for every other memory."""
    number = memory_id.removeprefix(f"{CHUNK}/-")
    return 0 if number == memory_id or not number.isdecimal() else -int(number)
