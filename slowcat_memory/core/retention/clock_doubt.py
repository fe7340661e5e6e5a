"""Judges whether the wall clock may erase: a table of readings in, the next state out.

Within a boot, the wall clock and the boot clock must advance alike. Across a boot only the wall
clock knows how long the machine was off: a gap is normal up to ``LONGEST_GAP_S``, and never
negative. A clock that breaks either rule is *doubted*: it still dates, but nothing is erased by it
until one of these releases it:

- the system says that it compared its time with a time server, after the doubt began;
- the clock is set back to where it would be without the jump;
- the user confirms it.

Doubt is about the past too: which of the two times was right, the one before or the one after the
jump? So what was dated since the clock was last known to be right is *unsure*, and ages by
``lived_s``: a lower bound of the time that has passed, which no setting of a clock advances.
"""

from bisect import bisect_left
from datetime import datetime, timedelta
from math import frexp
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.clock import Reading

TOLERANCE_S = 60.0  # steps of the wall clock up to this are ordinary adjustments
LONGEST_GAP_S = 30 * 86400.0
UNSEEN_S = 3600.0  # a process that was killed may have run on so long after its last stored look
MARK_EVERY_S = 1200.0  # between two marks; older marks are thinned to this share of their age:
MARK_SHARE = 0.01
MOST_RANGES = 32

Reason = Literal["jump", "behind", "gap"]


class Look(Struct, frozen=True):
    """The clocks at one look, and how much time had passed by then."""

    wall: datetime
    boot_s: float
    boot: str
    lived_s: float


class Doubt(Struct, frozen=True):
    """Why the clock is doubted, since when.

    Attributes:
        reason: "jump": against the boot clock; "behind": earlier than the last event;
            "gap": too long after it.
        off_s: How far the clock is from where it was expected, in seconds.
        at: The first doubted look.
        upto: Last log id before the doubt.
        after_s: The system's word counts if it is of another boot than ``at``, or later than this
            on the boot clock: when the clock jumped last. None if it was found so at a start.
    """

    reason: Reason
    off_s: float
    at: Look
    upto: int
    after_s: float | None = None


class Mark(Struct, frozen=True, array_like=True):
    """The last log id at a moment."""

    upto: int
    lived_s: float


class Unsure(Struct, frozen=True, array_like=True):
    """Log ids, both included, of events with unsure dates."""

    first: int
    last: int


class ClockState(Struct, frozen=True, kw_only=True):
    """What is known of the clock.

    Attributes:
        seen: The latest look.
        believed: The latest look without doubt.
        vouched: Last log id that is known to be dated rightly.
        synced: The system said, in this boot, that its time is right.
        can_sync: It ever said so. On a machine that never does, dates are sure until a jump.
        closed: Nothing ran after the latest look.
        marks: By id: when events were written.
        unsure: By id.
    """

    seen: Look
    believed: Look
    doubt: Doubt | None = None
    vouched: int = 0
    synced: bool = False
    can_sync: bool = False
    closed: bool = False
    marks: tuple[Mark, ...] = ()
    unsure: tuple[Unsure, ...] = ()

    def is_unsure(self, id: int) -> bool:
        """Return whether an event's date is not to be relied on."""
        return any(part.first <= id <= part.last for part in self.unsure) or (
            self.doubt is not None and id > min(self.vouched, self.doubt.upto)
        )

    def least_age_s(self, id: int) -> float:
        """Return how many seconds ago an event was written at least, whatever its date."""
        at = bisect_left(self.marks, id, key=lambda mark: mark.upto)
        found = at < len(self.marks)
        return self.seen.lived_s - self.marks[at].lived_s if found else 0.0


def first_look(now: Reading, last_id: int = 0, last_at: datetime | None = None) -> ClockState:
    """Return the state of a store that has none yet; ``last_at`` is the date of its last event."""
    look = Look(now.wall, now.boot_s, now.boot, 0.0)
    before = Look(last_at, 0.0, "", 0.0) if last_at is not None else look
    state = ClockState(seen=before, believed=before, vouched=last_id, closed=True)
    state = _finished(_reopened(state, look, last_id), now, last_id)
    return _marked(state, last_id, state.seen.lived_s)


def next_look(
    state: ClockState,
    now: Reading,
    last_id: int,
    *,
    same_run: bool,
    written: tuple[int, float] | None = None,
) -> ClockState:
    """Return the state after the next look.

    Args:
        last_id: Id of the last event that is logged.
        same_run: The state's latest look was made by this process, so that the boot clock's
            seconds compare.
        written: The last event that this process logged, and when by the boot clock.
    """
    seen = state.seen
    if written is not None:
        lived_s = seen.lived_s + written[1] - seen.boot_s
        state = _marked(state, written[0], lived_s, now.boot_s - written[1] >= MARK_EVERY_S)
    if same_run or (now.boot and now.boot == seen.boot):
        lived_s = seen.lived_s + max(0.0, now.boot_s - seen.boot_s)
        look = Look(now.wall, now.boot_s, now.boot, lived_s)
        state = _advanced(state, look, last_id)
    else:
        look = Look(now.wall, now.boot_s, now.boot, seen.lived_s)
        state = _reopened(state, look, last_id)
    state = replace(_finished(state, now, last_id), closed=False)
    return _marked(state, last_id, state.seen.lived_s)


def closing(state: ClockState, last_id: int) -> ClockState:
    """Return the state to store when the process ends, right after a look."""
    return replace(_marked(state, last_id, state.seen.lived_s, at_once=True), closed=True)


def confirmed(state: ClockState, last_id: int) -> ClockState:
    """Return the state after the user, or the system, says that the clock is right."""
    doubt = state.doubt
    if doubt is None:
        return state
    if doubt.reason != "jump" and _is_vouched(state):
        state = _credited(state, doubt)
    return _unsure_since_vouched(replace(state, believed=state.seen, doubt=None), last_id)


# ------------------------------------------------------------------- one look after another


def _advanced(state: ClockState, look: Look, last_id: int) -> ClockState:
    """Compare the wall clock with the boot clock, which has run on since the latest look."""
    seen, believed, doubt = state.seen, state.believed, state.doubt
    step = _seconds(seen.wall, look.wall) - (look.lived_s - seen.lived_s)
    state = replace(state, seen=look)
    if doubt is None:
        if abs(step) <= TOLERANCE_S:
            return replace(state, believed=look)
        return _doubted(state, "jump", step, last_id, look.boot_s)
    if abs(step) <= TOLERANCE_S:
        return state
    off = _seconds(believed.wall, look.wall) - (look.lived_s - believed.lived_s)
    if abs(off) <= TOLERANCE_S:
        state = _with_unsure(state, Unsure(doubt.upto + 1, last_id))
        return replace(state, believed=look, doubt=None)
    if doubt.reason != "jump" and _is_undone(step, off, doubt):
        return _plausible(state, last_id)
    return replace(state, doubt=replace(doubt, off_s=off, after_s=look.boot_s))


def _reopened(state: ClockState, look: Look, last_id: int) -> ClockState:
    """Compare the wall clock with that of the last boot, or the last run."""
    state = _marked(state, last_id, state.seen.lived_s, at_once=True)
    seen, believed, doubt = state.seen, state.believed, state.doubt
    step = _seconds(seen.wall, look.wall)
    if doubt is not None:
        state = replace(state, seen=look, synced=False)
        off = _seconds(believed.wall, look.wall) - (look.lived_s - believed.lived_s)
        if _is_undone(step, off, doubt):
            return _plausible(state, last_id)
        return replace(state, doubt=replace(doubt, after_s=None))
    if not _is_vouched(state):
        state = _unsure_since_vouched(state, last_id)
    if step < -TOLERANCE_S or step > LONGEST_GAP_S:
        state = replace(state, seen=look, synced=False)
        return _doubted(state, "behind" if step < 0 else "gap", step, last_id, None)
    if _is_vouched(state):
        passed = step if state.closed else step - UNSEEN_S
        look = replace(look, lived_s=look.lived_s + max(0.0, passed))
    return replace(state, seen=look, believed=look, synced=False)


def _is_undone(step: float, off: float, doubt: Doubt) -> bool:
    """Return whether a step makes the time since the last believed look a normal gap."""
    moved_back = step < -TOLERANCE_S if doubt.off_s > 0 else step > TOLERANCE_S
    return moved_back and -TOLERANCE_S <= off <= LONGEST_GAP_S


def _plausible(state: ClockState, last_id: int) -> ClockState:
    """End the doubt: the time may be right now, so it may have been wrong before the doubt."""
    return _unsure_since_vouched(replace(state, believed=state.seen, doubt=None), last_id)


def _doubted(
    state: ClockState, reason: Reason, off_s: float, last_id: int, after_s: float | None
) -> ClockState:
    state = _marked(state, last_id, state.seen.lived_s, at_once=True)
    return replace(state, doubt=Doubt(reason, off_s, state.seen, last_id, after_s))


def _finished(state: ClockState, now: Reading, last_id: int) -> ClockState:
    """Apply what the system says of its time."""
    if now.synchronised_s is None:
        return state
    doubt, state = state.doubt, replace(state, can_sync=True)
    if doubt is not None:
        if not _is_fresh(doubt, now, now.synchronised_s):
            return state
        state = confirmed(state, last_id)
    return replace(state, synced=True, vouched=last_id)


def _is_fresh(doubt: Doubt, now: Reading, synchronised_s: float) -> bool:
    """Return whether the system compared its time after the latest jump."""
    if doubt.after_s is None or doubt.at.boot != now.boot:
        return True
    return synchronised_s < now.boot_s - doubt.after_s


def _is_vouched(state: ClockState) -> bool:
    return state.synced or not state.can_sync


def _credited(state: ClockState, doubt: Doubt) -> ClockState:
    """Count the time that passed while nothing ran, which is known only now."""
    believed, seen = state.believed, state.seen
    passed = _seconds(believed.wall, seen.wall) - (seen.lived_s - believed.lived_s) - UNSEEN_S
    if passed <= 0:
        return state
    marks = tuple(
        mark if mark.upto <= doubt.upto else Mark(mark.upto, mark.lived_s + passed)
        for mark in state.marks
    )
    return replace(state, seen=replace(seen, lived_s=seen.lived_s + passed), marks=marks)


# ------------------------------------------------------------------- marks and unsure dates


def _marked(state: ClockState, upto: int, lived_s: float, at_once: bool = False) -> ClockState:
    """Add a mark, if events were written and it is time for one."""
    newest = state.marks[-1] if state.marks else Mark(-1, -MARK_EVERY_S)
    if upto <= newest.upto or not (at_once or lived_s - newest.lived_s >= MARK_EVERY_S):
        return state
    return replace(state, marks=_thinned((*state.marks, Mark(upto, lived_s))))


def _thinned(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """Keep the latest mark of each span of time; the spans grow, by doubling, with their age."""
    kept = [marks[-1]]
    for mark in reversed(marks[:-1]):
        spans = MARK_SHARE * (marks[-1].lived_s - mark.lived_s) / MARK_EVERY_S
        span_s = MARK_EVERY_S * 2.0 ** (frexp(spans)[1] - 1)
        if spans < 1.0 or kept[-1].lived_s // span_s != mark.lived_s // span_s:
            kept.append(mark)
    return tuple(reversed(kept))


def _unsure_since_vouched(state: ClockState, last_id: int) -> ClockState:
    state = _with_unsure(state, Unsure(state.vouched + 1, last_id))
    return replace(state, vouched=last_id)


def _with_unsure(state: ClockState, part: Unsure) -> ClockState:
    if part.first > part.last:
        return state
    parts = [*state.unsure, part]
    if len(parts) > MOST_RANGES:  # what lies between the oldest two becomes unsure as well
        parts[:2] = [Unsure(parts[0].first, parts[1].last)]
    return replace(state, unsure=tuple(parts))


def _seconds(since: datetime, until: datetime) -> float:
    return (until - since) / timedelta(seconds=1)
