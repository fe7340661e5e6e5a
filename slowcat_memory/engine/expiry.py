"""Finds the turns whose retention period is over; while the clock may be wrong, none.

The log is read once a day, in slices, and from then on only what is new; the date of each turn that
may expire is kept. So every turn counts, in whatever order the dates are: an old transcript behind
today's words, for example.

The wall clock is *doubted* while it is more than a day away from the time that it should show: the
date of the newest turn of a conversation when the store was opened, and from then on the seconds of
the boot clock, which setting the time does not change. Two things end that: the system says that
its time is synchronised, or a person confirms the clock. Turns that are logged meanwhile do not
make it right, so the guard is asked before each of them too, and the store remembers that it
doubted.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from math import inf

from loguru import logger

from slowcat_memory.clock import Clock, is_synchronised, seconds_of
from slowcat_memory.config import Config
from slowcat_memory.core import retention
from slowcat_memory.errors import StoreError
from slowcat_memory.records import Forget, TrustedTime, Turn
from slowcat_memory.runtime.conversation.conversation import guest_scope
from slowcat_memory.store import Snapshot, Store

A_DAY = timedelta(days=1)
LOOK_BACK = 10_240  # events, read backwards, until one is a turn of a conversation
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
        if times := [turn.at for turn in turns if not turn.origin]:
            return times[-1]
    return None


SLICE = 512  # events read from one snapshot: some milliseconds
AGAIN_S = 86_400.0  # between two readings from the beginning: a memory may keep a turn no longer

Stop = Callable[[], bool]


class Expiry:
    """What has expired in a store. Safe to use from any thread; blocks."""

    def __init__(self, config: Config, store: Store, clock: Clock, guard: ClockGuard) -> None:
        self._config, self._store, self._guard = config, store, guard
        self._clock, self._seconds = clock, seconds_of(clock)
        self._guest = guest_scope(config.people)
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        # By namespace and log id, in seconds since 1970: turns that may expire.
        self._dates: defaultdict[str, dict[int, float]] = defaultdict(dict)
        self._kept: dict[int, float] = {}  # those that have, and that a memory keeps
        self._reached = 0  # log id up to which turns have a date
        self._began_s = self._seconds()

    def any_due(self) -> bool:
        """Return whether there is something to read or to erase: milliseconds, or a read's end.

        False while the clock is doubted.
        """
        with self._lock:
            now = self._now()
            if now is None:
                return False
            return not self._read() or any(
                min(dates.values(), default=inf) < self._before_s(scope, now)
                for scope, dates in self._dates.items()
            )

    def orders(self, stop: Stop = lambda: False, *, even_doubted: bool = False) -> list[Forget]:
        """Return forget orders for what has expired; none while the clock is doubted.

        Until ``erased`` is called with them, they are due.

        Args:
            even_doubted: Return what would be erased if the clock were right.
            stop: Called between slices. True ends the search, which goes on with the next call.
        """
        with self._lock:
            now = self._now(even_doubted)
            if now is None:
                return []
            while not self._read():
                if stop():
                    return []
            orders = [self._order(scope, now) for scope in self._dates if not stop()]
            return [order for order in (*orders, self._guests_notes(now)) if order is not None]

    def erased(self, orders: Iterable[Forget]) -> None:
        """Record that orders were carried out."""
        with self._lock:
            for scope, id_ in ((order.scope, id_) for order in orders for id_ in order.turns):
                self._dates[scope].pop(id_, None)

    def kept(self) -> tuple[int, datetime | None]:
        """Return how many turns ``raw_days`` would erase, if no memory kept them.

        Those that ``orders`` met. Also the date of the oldest, None without any.
        """
        with self._lock:
            kept = self._kept
            return len(kept), datetime.fromtimestamp(min(kept.values()), UTC) if kept else None

    # ------------------------------------------------------------------- reading

    def _now(self, even_doubted: bool = False) -> datetime | None:
        """Return the time; None while the clock is doubted, or when nothing ever expires."""
        ever = self._guest or self._config.retention.raw_days
        if not ever or (self._guard.doubt() and not even_doubted):
            return None
        if self._seconds() - self._began_s >= AGAIN_S:
            self._begin()
        return self._clock()

    def _read(self) -> bool:
        """Keep the dates of the next turns; return whether that was all."""
        scope = "" if self._config.retention.raw_days else self._guest
        with self._store.snapshot() as snapshot:
            read = list(islice(snapshot.events(scope, after=self._reached), SLICE))
            for turn in read:
                if isinstance(turn, Turn):
                    self._dates[turn.scope][turn.id] = turn.at.timestamp()
            if read:
                self._reached = read[-1].id
            return len(read) < SLICE

    # ------------------------------------------------------------------- choosing

    def _before_s(self, scope: str, now: datetime) -> float:
        """Return the time before which a namespace's turns have expired."""
        days = self._config.retention.raw_days
        if scope == self._guest and scope:
            return (now - timedelta(hours=self._config.people.guest_hours)).timestamp()
        return (now - timedelta(days=days)).timestamp() if days else -inf

    def _order(self, scope: str, now: datetime) -> Forget | None:
        """Return an order for a namespace's expired turns, None without any."""
        before, keeping = self._before_s(scope, now), frozenset[int]()
        dates = self._dates[scope]
        due = [id_ for id_, at_s in dates.items() if at_s < before]
        with self._store.snapshot() as snapshot:
            if due and scope != self._guest:  # a memory never keeps a guest's
                keeping = retention.held(snapshot.memories(scope), self._config.retention)
            ids = tuple(id_ for id_ in due if id_ not in keeping and snapshot.turn(id_))
        self._kept |= {id_: dates[id_] for id_ in due if id_ in keeping}
        for id_ in set(due).difference(ids):  # kept, or forgotten meanwhile
            del dates[id_]
        return Forget(scope=scope, turns=ids, copies=False) if ids else None

    def _guests_notes(self, now: datetime) -> Forget | None:
        """Return an order for what the guests' namespace holds besides turns."""
        if not self._guest:
            return None
        before = self._before_s(self._guest, now)
        with self._store.snapshot() as snapshot:
            ids = tuple(
                memory.id
                for memory in snapshot.memories(self._guest)
                if not memory.sources and memory.valid_from.timestamp() < before
            )
        return Forget(scope=self._guest, memories=ids) if ids else None
