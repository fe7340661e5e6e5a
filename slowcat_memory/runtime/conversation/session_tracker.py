"""Assigns utterances to sessions: a state machine without a clock.

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
from datetime import datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct

from slowcat_memory.records import Channel, Event, Session, SessionEdge, Turn

State = Literal["idle", "open", "dropped"]
RESUMABLE = frozenset({"disconnect", "close", "crash"})  # a silence ends a session for good


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


class SessionTracker:
    """Turns utterances, silences and disconnects of one conversation into log events."""

    def __init__(
        self,
        scope: str,
        new_id: Callable[[datetime], str],
        options: SessionOptions,
        previous: Session | None = None,
    ) -> None:
        """Start without a session; ``previous`` is the scope's latest one, which may be resumed."""
        self.scope, self._new_id, self._options = scope, new_id, options
        self._state: State = "idle"
        self._session = ""
        self._last: datetime | None = None
        self._ended: datetime | None = None  # when the connection dropped
        if previous and previous.reason in RESUMABLE:
            self._state, self._session, self._ended = "dropped", previous.id, previous.ended

    @property
    def session(self) -> str:
        return self._session if self._state == "open" else ""

    @property
    def due(self) -> datetime | None:
        """When a silence ends the open session; None when none is open."""
        if self._state != "open" or self._last is None:
            return None
        return self._last + timedelta(seconds=self._options.silence_s)

    def touch(self, now: datetime) -> None:
        """Keep the session open, because somebody speaks."""
        if self._state == "open" and self._last is not None:
            self._last = max(self._last, now)

    def user_said(
        self,
        text: str,
        speaker: str,
        now: datetime,
        *,
        channel: Channel = "voice",
        cut: int = 0,
        aside: bool = False,
    ) -> list[Event]:
        """Return the events of a user's utterance: the turn, last, and its session's start.

        ``text`` is clean; ``cut`` characters of it were cut off.
        """
        edges = self._opened(now)
        turn = self._turn(text, speaker, "user", now, channel=channel, cut=cut, aside=aside)
        return [*edges, turn]

    def agent_said(
        self,
        text: str,
        speaker: str,
        now: datetime,
        *,
        reply_to: int = 0,
        interrupted: bool = False,
        tools: tuple[str, ...] = (),
        channel: Channel = "voice",
        cut: int = 0,
        aside: bool = False,
    ) -> list[Event]:
        """Return the events of the agent's utterance: the turn, last, and its session's start.

        Args:
            text: The spoken words, clean.
            reply_to: Log id of the user's turn, 0 for a greeting.
            cut: How many characters were cut off.
            aside: It answers a voice command.
        """
        edges = self._opened(now)
        turn = self._turn(
            text,
            speaker,
            "assistant",
            now,
            reply_to=reply_to,
            interrupted=interrupted,
            tools=tools,
            channel=channel,
            cut=cut,
            aside=aside,
        )
        return [*edges, turn]

    def disconnected(self, now: datetime, reason: str = "disconnect") -> list[Event]:
        """Return the end of the session, if one is open; ``reason`` is "disconnect" or "close"."""
        if edges := self.tick(now):  # a silence had already ended it
            return edges
        if self._state != "open":
            return []
        self._state, self._ended = "dropped", now
        return [self._edge("end", now, reason)]

    def tick(self, now: datetime) -> list[Event]:
        """Return the end of the session, if the silence was long enough."""
        due = self.due
        if due is None or now < due:
            return []
        self._state = "idle"
        return [self._edge("end", due, "silence")]

    def _opened(self, now: datetime) -> list[Event]:
        edges = self.tick(now)  # a late timer must not extend a session
        if self._state == "open":
            return edges
        grace = timedelta(seconds=self._options.resume_grace_s)
        if self._state == "dropped" and self._ended is not None and now - self._ended <= grace:
            kind: Literal["start", "resume"] = "resume"
        else:
            kind, self._session = "start", self._new_id(now)
        self._state, self._last = "open", now
        return [*edges, self._edge(kind, now)]

    def _edge(
        self, kind: Literal["start", "end", "resume"], now: datetime, reason: str = ""
    ) -> SessionEdge:
        return SessionEdge(
            session=self._session, scope=self.scope, kind=kind, at=now, reason=reason
        )

    def _turn(self, text: str, speaker: str, role: str, now: datetime, **more: object) -> Turn:
        self.touch(now)
        return Turn(
            session=self._session,
            scope=self.scope,
            speaker=speaker,
            role=role,  # type: ignore[arg-type]
            text=text,
            at=now,
            **more,  # type: ignore[arg-type]
        )


class OffRecord:
    """Whether turns are kept: a state machine without a clock.

    While it is off the record, turns are answered but not logged, indexed, embedded for keeping or
    entered into the ledger, and what a recall leaves in caches is dropped at its end. Recall itself
    continues.

    It lasts until it is switched off, or the conversation is over: after a silence that would end a
    session, or when a dropped connection does not return. It does not outlast the conversation,
    because the next user did not ask for it and would lose turns without knowing; it does outlast a
    short disconnection, because the user who asked for it is still talking.

    Attributes:
        off: Nothing is kept.
    """

    def __init__(self, options: SessionOptions, on_change: Callable[[bool], None]) -> None:
        """Start on the record; ``on_change`` is called with each new value of ``off``."""
        self.off = False
        self._silence = timedelta(seconds=options.silence_s)
        self._grace = timedelta(seconds=options.resume_grace_s)
        self._on_change = on_change
        self._until: datetime | None = None  # when the conversation is over

    def set(self, off: bool) -> None:
        """Go off the record, or back on it."""
        if off:
            self._until = None  # until somebody speaks, the conversation cannot end
        if off != self.off:
            self.off = off
            self._on_change(off)

    def touch(self, now: datetime) -> None:
        """Extend the conversation, because somebody speaks."""
        self.tick(now)
        self._until = now + self._silence

    def disconnected(self, now: datetime) -> None:
        """Start the grace period of a dropped connection."""
        self.tick(now)
        self._until = now + self._grace

    def tick(self, now: datetime) -> None:
        if self._until is not None and now >= self._until:
            self.set(False)
