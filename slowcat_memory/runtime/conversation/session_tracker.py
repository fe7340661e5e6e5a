"""Assigns utterances to sessions: a state machine without a clock.

Durations are measured in seconds of a monotonic clock, so that a step of the wall clock neither
ends a session nor resumes one; the wall clock only dates what is logged.

A session begins with its first utterance (an empty one leaves no trace), and ends after a silence
or when the connection drops. A connection that returns soon continues the same session: a
``resume`` edge voids the end. A silence ends a session for good, at the moment it was long enough,
however late that is noticed. The machine takes times and returns log events; it never sleeps, reads
a clock, or writes.

    state     said                    disconnected      tick past silence
    ------    --------------------    --------------    -----------------
    idle      start or resume, turn   -                 -
    open      turn                    end, dropped      end, idle
    dropped   resume or start, turn   -                 -
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

from slowcat_memory.clock import boot_seconds
from slowcat_memory.records import Event, Session, SessionEdge

State = Literal["idle", "open", "dropped"]
RESUMABLE = frozenset({"disconnect", "close", "crash"})  # a silence ends a session for good


def monotonic() -> float:
    """Return the seconds by which durations are measured; a test may replace this."""
    return boot_seconds()


class ClockReading(NamedTuple):
    """One moment by two clocks: ``at`` dates it, ``seconds`` (monotonic) measures durations."""

    at: datetime
    seconds: float

    def later(self, seconds: float) -> "ClockReading":
        return ClockReading(self.at + timedelta(seconds=seconds), self.seconds + seconds)


class SessionOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a session ends.

    Attributes:
        silence_s: Seconds without speech after which a session ends. Lower it where several people
            talk to one device in turn.
        resume_grace_s: Seconds within which a line that comes back resumes its session; 0 never
            resumes.
    """

    silence_s: Annotated[float, Meta(gt=0, le=86_400)] = 300.0
    resume_grace_s: Annotated[float, Meta(ge=0, le=86_400)] = 300.0


@dataclass(eq=False, repr=False)
class SessionTracker:
    """Turns utterances, silences and disconnects of one conversation into log events.

    Attributes:
        previous: The scope's latest session. It may be resumed if it ended, by the wall clock, at
            most the grace period before ``now``.
        held: Ids of the sessions that are open in conversations with the same store, which these
            share: each belongs to one of them.
    """

    scope: str
    new_id: Callable[[datetime], str]
    options: SessionOptions
    previous: Session | None = None
    now: ClockReading | None = None
    held: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        previous, now = self.previous, self.now
        dropped = previous.ended if previous and previous.reason in RESUMABLE else None
        self._state: State = "idle"
        self._session = ""
        self._last: ClockReading | None = None
        self._ended = 0.0  # when the connection dropped, monotonic
        if previous and now and dropped is not None:
            self._state, self._session = "dropped", previous.id
            # The clock may have gone back.
            self._ended = now.seconds - abs((now.at - dropped).total_seconds())

    @property
    def session(self) -> str:
        return self._session if self._state == "open" else ""

    def touch(self, now: ClockReading) -> None:
        """Keep the session open, because somebody speaks."""
        if self._state == "open" and self._last is not None:
            self._last = max(self._last, now, key=lambda moment: moment.seconds)

    def said(self, now: ClockReading) -> list[Event]:
        """Return the events before an utterance's own; it is of ``session`` then."""
        edges = self.tick(now)  # a late timer must not extend a session
        if self._state != "open":
            soon = now.seconds - self._ended <= self.options.resume_grace_s
            resumes = self._state == "dropped" and soon and self._session not in self.held
            if not resumes:
                self._session = self.new_id(now.at)
            self.held.add(self._session)
            self._state, self._last = "open", now
            edges.append(self._edge("resume" if resumes else "start", now.at))
        self.touch(now)
        return edges

    def disconnected(self, now: ClockReading) -> list[Event]:
        """Return the end of the session, if one is open."""
        if edges := self.tick(now):  # a silence had already ended it
            return edges
        if self._state != "open":
            return []
        self.held.discard(self._session)
        self._state, self._ended = "dropped", now.seconds
        return [self._edge("end", now.at, "disconnect")]

    def tick(self, now: ClockReading) -> list[Event]:
        """Return the end of the session, if the silence was long enough."""
        if self._state != "open" or self._last is None:
            return []
        due = self._last.later(self.options.silence_s)
        if now.seconds < due.seconds:
            return []
        self.held.discard(self._session)
        self._state = "idle"
        return [self._edge("end", due.at, "silence")]

    def _edge(
        self, kind: Literal["start", "end", "resume"], at: datetime, reason: str = ""
    ) -> SessionEdge:
        return SessionEdge(session=self._session, scope=self.scope, kind=kind, at=at, reason=reason)


# ------------------------------------------------------------------- off the record


APPLICATION = ""  # begins and ends it for everybody


@dataclass(eq=False, repr=False)
class OffRecord:
    """Whether turns are kept.

    While anybody has asked for it, turns are answered but not logged, indexed, embedded for keeping
    or entered into the ledger, whoever speaks, and what a recall leaves in caches is dropped at its
    end. Recall itself continues.

    It ends for a person who asked for it only by that person's own word, by the application, or
    with the conversation: after a silence that would end a session, or when a dropped connection
    does not return. It does not outlast the conversation, because the next user did not ask for it
    and would lose turns without knowing; it does outlast a short disconnection, because the user
    who asked for it is still talking. All this is measured by a monotonic clock: a step of the wall
    clock changes nothing.

    ``on_change`` is called with each new value of ``off``; it begins on the record.
    """

    options: SessionOptions
    on_change: Callable[[bool], None]
    monotonic: Callable[[], float] = lambda: monotonic()

    def __post_init__(self) -> None:
        self._by: set[str] = set()  # scopes, or the application
        self._until: float | None = None  # when the conversation is over

    @property
    def off(self) -> bool:
        """Whether nothing is kept."""
        return bool(self._by)

    def begin(self, by: str = APPLICATION) -> None:
        """Go off the record, at the wish of a scope's owner or of the application."""
        self._until = None  # until somebody speaks, the conversation cannot end
        self._set({*self._by, by})

    def end(self, by: str = APPLICATION) -> bool:
        """Withdraw a scope's wish, or everybody's for the application.

        Returns:
            Whether the conversation is on the record now; False if somebody else wants it off.
        """
        self._set(self._by - {by} if by != APPLICATION else set())
        return not self.off

    def touch(self) -> None:
        """Extend the conversation, because somebody speaks."""
        self.tick()
        self._until = self.monotonic() + self.options.silence_s

    def disconnected(self) -> None:
        """Start the grace period of a dropped connection."""
        self.tick()
        self._until = self.monotonic() + self.options.resume_grace_s

    def tick(self) -> None:
        """End it if the conversation is over."""
        if self._until is not None and self.monotonic() >= self._until:
            self.end()

    def _set(self, by: set[str]) -> None:
        before, self._by = self.off, by
        if self.off != before:
            self.on_change(self.off)
