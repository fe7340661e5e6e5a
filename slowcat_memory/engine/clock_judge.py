"""Keeps the judgement of the wall clock: looks at the clocks, remembers in the store, reports."""

import threading
from collections.abc import Callable
from datetime import datetime

from loguru import logger

from slowcat_memory.clock import Clock, read_clocks, seconds_of
from slowcat_memory.core.retention import clock_doubt
from slowcat_memory.core.retention.clock_doubt import TOLERANCE_S, ClockState, Doubt
from slowcat_memory.errors import StoreError
from slowcat_memory.store import Snapshot, Store

LOOK_EVERY_S = 60.0
LOOK_BACK = 100  # events that are searched for one dated by this machine
REMEDY = (
    "Nothing is erased by time until the system has synchronised its time, the clock is set back,"
    " or `slowcat-memory doctor --clock-is-right` confirms it"
)


class ClockJudge:
    """Decides whether the wall clock may erase. Safe to use from any thread.

    A read-only engine judges what the store says, and writes nothing.
    """

    def __init__(self, clock: Clock, store: Store) -> None:
        """Read all clocks for the first time, and store the reading."""
        self._clock, self._boot_s, self._store = clock, seconds_of(clock), store
        self._lock = threading.Lock()
        self._on_release: list[Callable[[], object]] = []
        self._written: tuple[int, float] | None = None
        with store.snapshot() as snapshot:
            self._saved, last_id = snapshot.clock(), snapshot.last_id()
            last_at = None if self._saved else _last_dated(snapshot, last_id)
        now = read_clocks(clock)
        if self._saved is None:
            state = clock_doubt.first_look(now, last_id, last_at)
        else:
            state = clock_doubt.next_look(self._saved, now, last_id, same_run=False)
        self._state = state
        self._keep(state, None)

    @property
    def state(self) -> ClockState:
        return self._state

    @property
    def doubt(self) -> Doubt | None:
        """Look at the clocks; return why the wall clock is doubted, None if it is believed."""
        return self.look().doubt

    def on_release(self, callback: Callable[[], object]) -> None:
        """Call back, on any thread, when a doubt has ended."""
        self._on_release.append(callback)

    def doubts_now(self) -> bool:
        """Return whether what is dated now is dated by a doubted clock. About a microsecond."""
        boot_s = self._boot_s()
        ahead_s = self._clock().timestamp() - boot_s
        if abs(ahead_s - self._ahead_s) > TOLERANCE_S or boot_s >= self._look_at_s:
            self.look()
        return self._state.doubt is not None

    def wrote(self, id: int) -> None:
        """Record when an event was logged, whatever its date."""
        self._written = id, self._boot_s()

    def look(self) -> ClockState:
        with self._lock:
            before, written = self._state, self._written
            now = read_clocks(self._clock)
            self._state = clock_doubt.next_look(
                before, now, self._last_id(), same_run=True, written=written
            )
            self._keep(self._state, before.doubt)
        self._report_release(before)
        return self._state

    def confirm(self) -> bool:
        """Believe the clock, because the user says that it is right; return whether it mattered."""
        self.look()
        with self._lock:
            before = self._state
            self._state = clock_doubt.confirmed(before, self._last_id())
            self._keep(self._state, before.doubt)
        self._report_release(before)
        return before.doubt is not None

    def if_confirmed(self) -> ClockState:
        """Return the state as if the user had confirmed the clock; changes nothing."""
        return clock_doubt.confirmed(self.look(), self._last_id())

    def close(self) -> None:
        """Read all clocks and store the reading, for the next run to compare its own with."""
        state = self.look()
        if not self._store.readonly:
            self._write(clock_doubt.closing(state, self._last_id()))

    def _last_id(self) -> int:
        if not self._store.readonly:
            return self._store.last_id()
        with self._store.snapshot() as snapshot:
            return snapshot.last_id()

    def _keep(self, state: ClockState, before: Doubt | None) -> None:
        """Set when the next look is due, store the state if it must survive a kill, and log."""
        seen, saved = state.seen, self._saved
        self._ahead_s = seen.wall.timestamp() - seen.boot_s
        self._look_at_s = seen.boot_s + LOOK_EVERY_S
        if self._store.readonly:
            return
        if (state.doubt is None) != (before is None):
            _log(state.doubt)
        if saved is None or (state.doubt, state.marks, state.unsure, state.can_sync) != (
            saved.doubt,
            saved.marks,
            saved.unsure,
            saved.can_sync,
        ):
            self._write(state)

    def _write(self, state: ClockState) -> None:
        try:
            self._store.write_clock(state)
            self._saved = state
        except StoreError:  # the next look tries again
            pass

    def _report_release(self, before: ClockState) -> None:
        if before.doubt is not None and self._state.doubt is None:
            for callback in tuple(self._on_release):
                callback()


def describe(doubt: Doubt) -> str:
    """Return why the clock is doubted, in a sentence without a full stop."""
    off, shown = _duration(abs(doubt.off_s)), f"{doubt.at.wall:%Y-%m-%d %H:%M}"
    if doubt.reason == "jump":
        way = "ahead" if doubt.off_s > 0 else "back"
        return f"the clock jumped {off} {way}, to {shown} UTC"
    if doubt.reason == "behind":
        return f"the clock showed {shown} UTC, {off} before the last event"
    return f"nothing ran for {off}, if the clock was right at {shown} UTC"


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _log(doubt: Doubt | None) -> None:
    if doubt is None:
        logger.info("The clock is believed again; what was due is erased now.")
    else:
        said = describe(doubt)
        logger.warning(f"{said[0].upper()}{said[1:]}, so it is doubted. {REMEDY}.")


def _last_dated(snapshot: Snapshot, last_id: int) -> datetime | None:
    """Return the date of the last turn of a conversation, not of an import."""
    found = [turn for turn in snapshot.turns(after=max(0, last_id - LOOK_BACK)) if not turn.origin]
    return found[-1].at if found else None
