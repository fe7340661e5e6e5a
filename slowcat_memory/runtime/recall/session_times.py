"""When each session of a scope was, read once: an overview question looks at the latest ones.

The store has sessions by name, so finding the latest reads them all: some microseconds each, tens of
milliseconds for a year's. Later questions read only the sessions of what was said since.
"""

from datetime import datetime

from msgspec import Struct

from slowcat_memory.records import Session
from slowcat_memory.store import Snapshot

MOST_NEW = 2000  # log ids since the last look, beyond which reading all sessions is quicker


class SessionTime(Struct, frozen=True):
    """When a session began, and when its last turn was."""

    id: str
    started: datetime
    last: datetime


class _Known(Struct, frozen=True):
    """The sessions as of a log id and a forget epoch."""

    upto: int
    epoch: int
    by_id: dict[str, SessionTime]


class SessionTimes:
    """The sessions of scopes. Safe to use from several threads: what is known is replaced whole."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def latest(self, snapshot: Snapshot, scope: str) -> list[SessionTime]:
        """Return a scope's sessions as of a snapshot, the latest first."""
        upto, epoch = snapshot.last_id(), snapshot.forget_epoch()
        known = self._known.get(scope)
        if known is None or known.epoch != epoch or not 0 <= upto - known.upto <= MOST_NEW:
            by_id = {row.id: _time_of(row) for row in snapshot.sessions(scope)}
        else:
            since = {event.session for event in snapshot.events(scope, known.upto, upto)}
            rows = (snapshot.session(id) for id in since)
            by_id = {**known.by_id, **{row.id: _time_of(row) for row in rows if row is not None}}
        self._known[scope] = _Known(upto, epoch, by_id)
        return sorted(by_id.values(), key=lambda one: (one.last, one.started), reverse=True)


def _time_of(row: Session) -> SessionTime:
    return SessionTime(row.id, row.started, row.last)
