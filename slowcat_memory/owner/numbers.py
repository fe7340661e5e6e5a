"""The log's ids of events that were accepted before they were numbered.

Until then an event has a *provisional* id, negative and far from zero: it sorts before all logged
ones, and is never taken for a relative ``reply_to``.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from slowcat_memory.core.memory import CHUNK, chunk_id
from slowcat_memory.owner.protocol.messages import Asked
from slowcat_memory.records import Event, Turn
from slowcat_memory.runtime.recall.query import Query

FIRST_ID = -(1 << 40)
_LAST_ID = FIRST_ID // 2  # ids below are provisional
KEPT = 20_000  # ids remembered: what a conversation still refers to

Asking = TypeVar("Asking", Query, Asked)
AnyEvent = TypeVar("AnyEvent", Turn, Event)


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
        """Return a new event that refers to others by their ids in the log.

        References to events that are not numbered are left out: those were dropped.
        """
        event = replace(self.with_logged_references(event), id=0)
        if not isinstance(event, Turn):
            return event
        return replace(
            event,
            reply_to=_numbered(event.reply_to),
            part_of=_numbered(event.part_of),
            derived_from=tuple(one for one in event.derived_from if not provisional_turn(one[1])),
        )

    def with_logged_references(self, event: AnyEvent) -> AnyEvent:
        """Return an event that refers to others by their ids in the log, as far as known."""
        if not isinstance(event, Turn):
            return event
        return replace(
            event,
            reply_to=self.logged_id(event.reply_to),
            part_of=self.logged_id(event.part_of),
            derived_from=tuple(
                (scope, self.logged_memory(memory)) for scope, memory in event.derived_from
            ),
        )

    def logged_query(self, query: Asking) -> Asking:
        """Return a query that names turns by their ids in the log, as far as known."""
        return replace(
            query, **self.logged_known({"exclude": query.exclude, "dialogue": query.dialogue})
        )

    def logged_known(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a recall or search; see ``logged_query``."""
        known = dict(known)
        if "exclude" in known:
            known["exclude"] = frozenset(map(self.logged_memory, known["exclude"]))
        if "dialogue" in known:
            known["dialogue"] = tuple(
                replace(one, memory=self.logged_memory(one.memory)) for one in known["dialogue"]
            )
        return known

    def logged_memory(self, memory_id: str) -> str:
        """Return a memory's id; for the chunk of a turn that waited, by the log's id if known."""
        turn = provisional_turn(memory_id)
        return chunk_id(self.logged_id(turn)) if turn else memory_id


def _numbered(id_: int) -> int:
    return 0 if is_provisional(id_) else id_


def provisional_turn(memory_id: str) -> int:
    """Return the provisional id of the turn that a memory is; 0 for every other memory."""
    number = memory_id.removeprefix(f"{CHUNK}/-")
    return 0 if number == memory_id or not number.isdecimal() else -int(number)
