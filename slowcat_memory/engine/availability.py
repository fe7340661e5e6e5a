"""Whether a memory can be read and saved, who is notified, and whether its clock is believed.

The activities and callbacks of a memory's users outlive the engine that it is opened with.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from loguru import logger

from slowcat_memory.clock import Clock, is_synchronised, seconds_of
from slowcat_memory.errors import SlowcatError, StoreError, describe_error
from slowcat_memory.idle.events import OnMemory
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.records import TrustedTime
from slowcat_memory.store import Snapshot, Store

OnTrouble = Callable[[SlowcatError], object]
OnBack = Callable[[], object]


def fresh(error: SlowcatError) -> SlowcatError:
    """Return an equal error without a traceback, to be raised in place of one that is kept.

    Each raise appends to a traceback, whose frames keep alive what was said in them.
    """
    copy = type(error).__new__(type(error), *error.args)
    vars(copy).update(vars(error))
    return copy


class Availability:
    """Reports each trouble once, and once that it is over. Safe to use from any thread.

    Listeners are called on the thread that reports, and must return at once.

    Attributes:
        trouble: Why the memory cannot be saved now; None while it can.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[tuple[OnTrouble, OnBack]] = []
        self.trouble: SlowcatError | None = None
        self._notices: list[SlowcatError] = []  # for the first listener

    def subscribe(self, on_trouble: OnTrouble, on_back: OnBack) -> Callable[[], None]:
        """Register callbacks; a trouble that lasts is reported at once.

        Returns:
            Ends the subscription.
        """
        listener = on_trouble, on_back
        with self._lock:
            self._listeners.append(listener)
            reports, self._notices = self._notices, []
            if self.trouble:
                reports.append(self.trouble)
        for error in reports:
            _tell((listener,), error)

        def end() -> None:
            with self._lock, suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def fail(self, error: SlowcatError) -> None:
        """Report a trouble, unless one lasts already."""
        error = fresh(error)  # it is kept
        with self._lock:
            if self.trouble:
                return
            self.trouble, listeners = error, tuple(self._listeners)
        _tell(listeners, error)

    def recover(self) -> None:
        """Report that the trouble is over, if there was one."""
        with self._lock:
            trouble, self.trouble = self.trouble, None
        if trouble is not None:
            self.announce()

    def announce(self) -> None:
        """Report that a memory has joined a conversation that began without it."""
        with self._lock:
            listeners = () if self.trouble else tuple(self._listeners)
        _tell(listeners)

    def report(self, error: SlowcatError) -> None:
        """Report something that the application must know and that is over already."""
        with self._lock:
            listeners = tuple(self._listeners)
            if not listeners:
                self._notices.append(error)
        _tell(listeners, error)


def _tell(
    listeners: Iterable[tuple[OnTrouble, OnBack]], trouble: SlowcatError | None = None
) -> None:
    for on_trouble, on_back in listeners:
        try:
            on_trouble(trouble) if trouble else on_back()
        except Exception as error:  # the application's code
            logger.error(f"memory: a listener failed: {describe_error(error)}")


@dataclass(frozen=True)
class Callers:
    """The activities and callbacks of a memory's users.

    Attributes:
        gate: Of idle work; closed while any of them talks or recalls.
        on_pause: Called when idle work pauses.
        on_event: Called with every event.
    """

    gate: IdleGate
    on_pause: list[Callable[[], object]] = field(default_factory=list)
    on_event: list[OnMemory] = field(default_factory=list)


# ------------------------------------------------------------------- the clock
# The wall clock is *doubted* while it is more than a day away from the time that it should show: the
# date of the newest turn of a conversation when the store was opened, and from then on the seconds of
# the boot clock, which setting the time does not change. Two things end that: the system says that its
# time is synchronised, or a person confirms the clock. Turns that are logged meanwhile do not make it
# right, so the guard is asked before each of them too, and the store remembers that it doubted.

A_DAY = timedelta(days=1)
LOOK_BACK, STEP = 10_240, 512  # events, read backwards, until one is a turn of a conversation
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
    for upto in range(last, max(0, last - LOOK_BACK), -STEP):
        turns = snapshot.turns(after=max(0, upto - STEP), upto=upto)
        if times := [turn.at for turn in turns if not turn.origin]:
            return times[-1]
    return None
