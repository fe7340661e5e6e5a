"""The guard before everything that is erased by time: a wall clock that may be wrong erases nothing.

The wall clock is *doubted* while it is more than a day away from the time that it should show: the
date of the newest turn of a conversation when the store was opened, and from then on the seconds of
the boot clock, which setting the time does not change. Two things end that: the system says that
its time is synchronised, or a person confirms the clock. Turns that are logged meanwhile do not
make it right, so the guard is asked before each of them too, and the store remembers that it
doubted.
"""

import threading
from contextlib import suppress
from datetime import datetime, timedelta

from loguru import logger

from slowcat_memory.clock import Clock, is_synchronised, seconds_of
from slowcat_memory.errors import StoreError
from slowcat_memory.records import TrustedTime
from slowcat_memory.store import Snapshot, Store

A_DAY = timedelta(days=1)
SLICE, LOOK_BACK = 256, 10_240  # events, read backwards, until one is a turn of a conversation
REMEDY = (
    "Nothing is erased by time until the system has synchronised its time, the clock is set back,"
    " or `slowcat-memory doctor --clock-is-right` confirms it"
)


class ClockGuard:
    """Says whether anything may be erased by time now. Safe to use from any thread.

    On a store that is open for reading it says the same, and writes nothing.
    """

    def __init__(self, clock: Clock, store: Store) -> None:
        self._clock, self._seconds, self._store = clock, seconds_of(clock), store
        self._lock = threading.RLock()
        with store.snapshot() as snapshot:
            row, newest = snapshot.trusted_time(), _newest(snapshot)
        self._doubted = row is not None and row.doubted
        known = [row.at] if row else []
        if newest and not self._doubted:
            known.append(newest)
        now = clock()
        self._trusted = min(known, key=lambda at: abs(now - at), default=now)
        self._since_s = self._seconds()

    def doubt(self) -> str:
        """Return why nothing may be erased by time now, "" if it may. Some microseconds."""
        with self._lock:
            now, passed = self._clock(), timedelta(seconds=self._seconds() - self._since_s)
            off = now - self._trusted - passed
            is_near = abs(off) <= A_DAY
            if is_near or is_synchronised(self._clock):
                if self._doubted or not is_near:
                    self._trust(now)
                return ""
            days, way = abs(off) / A_DAY, "later" if off > A_DAY else "earlier"
            why = f"it shows {now:%Y-%m-%d %H:%M} UTC, {days:,.1f} days {way} than expected"
            if not self._doubted:
                self._doubted = True
                self._write(self._trusted + passed)
                logger.warning("The clock is doubted: {}. {}.", why, REMEDY)
            return why

    def confirm(self) -> bool:
        """Believe the clock, because a person says that it is right; return whether it mattered."""
        with self._lock:
            if not self.doubt():
                return False
            self._trust(self._clock())
            return True

    def _trust(self, now: datetime) -> None:
        self._trusted, self._since_s = now, self._seconds()
        if self._doubted:
            self._doubted = False
            self._write(now)
            logger.info("The clock is believed again; what is due is erased.")

    def _write(self, at: datetime) -> None:
        if not self._store.readonly:
            with suppress(StoreError):  # what cannot be written now cannot be erased either
                self._store.write_trusted_time(TrustedTime(at=at, doubted=self._doubted))


def _newest(snapshot: Snapshot) -> datetime | None:
    """Return the date of the newest turn of a conversation, not of an import."""
    last = snapshot.last_id()
    for upto in range(last, max(0, last - LOOK_BACK), -SLICE):
        turns = snapshot.turns(after=max(0, upto - SLICE), upto=upto)
        if said := [turn.at for turn in turns if not turn.origin]:
            return said[-1]
    return None
