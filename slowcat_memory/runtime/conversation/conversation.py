"""One conversation of several users: each turn is logged only in its speaker's scope.

Each scope has a session of its own. The words of a turn are stored in the scopes of their speakers,
as transcribed: if several users speak in one turn, no words are stored in another user's scope. The
agent's reply is stored in every scope that it answers; so only what all of them may read is
recalled for it (see ``audience``). Off the record, nothing is logged.

The user's turn is logged as soon as it is known, the agent's when it has been spoken; each is
passed to ``append``, which neither blocks nor waits.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.bounded_names import introduced
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.records import Channel, Event, Memory, Turn
from slowcat_memory.runtime.conversation import session_tracker
from slowcat_memory.runtime.conversation.audience import (
    Audience,
    FinalTranscript,
    ScopedWords,
    Transcripts,
    Voice,
    split,
)
from slowcat_memory.runtime.conversation.session_tracker import (
    ClockReading,
    OffRecord,
    SessionTracker,
)
from slowcat_memory.store import Ack

Append = Callable[[Event], Ack]
LATEST = 4  # turns of a session that are cached; a query needs two


# STT ids that identify no speaker: Pipecat's transports and tests set the last.
_UNIDENTIFIED = frozenset(("", "user"))


class Names(NamedTuple):
    """Display names: of an unidentified speaker, of the agent, and by STT speaker id.

    ``may_change``: the first one is not configured, users may introduce themselves.
    """

    user: str
    agent: str
    speakers: Mapping[str, str] = {}
    may_change: bool = False

    def of(self, speaker: str) -> str:
        """Return the display name of an STT speaker id, which may be empty."""
        known = self.speakers.get(speaker)
        if known is None and speaker.strip().casefold() in _UNIDENTIFIED:
            return self.user
        name, _ = clean(known or speaker, 64)
        return name or self.user


class ScopeLog:
    """One scope's session, and its latest turns."""

    def __init__(self, tracker: SessionTracker, append: Append) -> None:
        """Start with no turn; ``append`` logs an event, and returns it numbered."""
        self.tracker, self._append = tracker, append
        self._latest: deque[Turn] = deque(maxlen=LATEST)

    def append(self, events: Iterable[Event]) -> Ack | None:
        ack = None
        for event in events:
            ack = self._append(event)
            if isinstance(ack.event, Turn):
                if not ack.event.aside:
                    self._latest.append(ack.event)
            elif ack.event and ack.event.kind == "start":
                self._latest.clear()
        return ack

    def before(self, turn: Turn | None) -> list[DialogueTurn]:
        """Return the two latest turns (or fewer) before one, oldest first.

        ``turn`` is the present one, None if it is not logged yet.
        """
        if turn is None and not self.tracker.session:
            return []
        earlier = [other for other in self._latest if turn is None or other.id < turn.id]
        return [DialogueTurn(other.text, other.at, chunk_id(other.id)) for other in earlier[-2:]]

    def forget(self, turns: Collection[int]) -> None:
        kept = [turn for turn in self._latest if turn.id not in turns]
        self._latest = deque(kept, maxlen=LATEST)


class Exchange(Struct):
    """A user turn, and what the agent's reply to it needs.

    Attributes:
        scopes: Of its speakers, the last speaker's last.
        kept: It was said on the record.
        turns: Its logged turns, the latest by scope.
        tools: Names of the tools that the agent has called since.
        private: (scope, id) of local-only memories that the LLM could read for the reply.
    """

    scopes: tuple[str, ...]
    kept: bool = True
    turns: dict[str, Turn] = {}
    tools: list[str] = []
    private: list[tuple[str, str]] = []


@dataclass(eq=False, repr=False)
class Conversation:
    """Logs each turn in its speakers' scopes. Use it on the event loop.

    Attributes:
        trackers: One for each scope of the audience, guests included.
        append: Logs an event, and returns it numbered. Must neither block nor wait.
        clock: Returns the current time, timezone-aware.
        monotonic: Returns seconds, for durations.
    """

    audience: Audience
    trackers: Iterable[SessionTracker]
    append: Append
    names: Names
    off_record: OffRecord
    clock: Callable[[], datetime]
    monotonic: Callable[[], float] = lambda: session_tracker.monotonic()

    def __post_init__(self) -> None:
        self._logs = {tracker.scope: ScopeLog(tracker, self.append) for tracker in self.trackers}
        self._transcripts = Transcripts()
        self._speaker = ""  # the current speaker, as set by the application
        self._exchange = Exchange((self.audience.scope_of(""),))
        self._answering: Exchange | None = None  # the exchange that the present reply answers

    @property
    def scopes(self) -> tuple[str, ...]:
        return self._exchange.scopes

    @property
    def user_turn(self) -> Turn | None:
        """The latest user turn; None before the first, and if it was not kept."""
        return self._exchange.turns.get(self.scopes[-1])

    @property
    def uses_tools(self) -> bool:
        return bool(self._exchange.tools)

    def before(self, turn: Turn | None) -> list[DialogueTurn]:
        """Return the turns before the present one, oldest first.

        Args:
            turn: The present turn, None if it was not logged.

        Returns:
            Two turns at most; none for several speakers, as they share no session.
        """
        if turn is not None and turn.scope not in self.scopes:  # another has spoken since
            return self._logs[turn.scope].before(turn)
        return self._logs[self.scopes[-1]].before(turn) if len(self.scopes) == 1 else []

    def before_next(self, scope: str) -> list[DialogueTurn]:
        """Return the two latest turns before the next one in a scope, oldest first."""
        return self._logs[scope].before(None)

    def forget(self, turns: Collection[int]) -> None:
        """Drop forgotten turns, by log id, so that they add no words to the next query."""
        for log in self._logs.values():
            log.forget(turns)

    def scope_of(self, speaker: str) -> str:
        """Return the scope of an STT speaker id, unless the application has set the speaker."""
        return self._voice(speaker).scope

    def set_speaker(self, speaker: str) -> None:
        """Set the current speaker: an STT speaker id or a known scope; "" to use transcripts."""
        self._speaker = speaker

    def _voice(self, speaker: str) -> Voice:
        if self._speaker:
            return Voice(self.audience.named_scope(self._speaker), self.names.of(self._speaker))
        return Voice(self.audience.scope_of(speaker), self.names.of(speaker))

    def heard(self, speaker: str, words: str, *, begins: bool = False) -> None:
        """Add a final transcript of the current turn. Leave out those that the aggregator mutes.

        Args:
            speaker: STT speaker id, may be empty.
            begins: It is the first that the aggregator collects for a turn.
        """
        self.off_record.touch()
        off = self.off_record.off
        self._transcripts.add(self._voice(speaker), words, off_record=off, begins=begins)

    def expected(self, speaker: str, words: str) -> None:
        """Set the predicted last transcript of a turn that may yet be withdrawn."""
        self._transcripts.expect(self._voice(speaker), words, off_record=self.off_record.off)

    def was_heard(self, text: str) -> bool:
        return self._transcripts.any_in(text)

    def touch(self) -> None:
        """Keep the sessions of the latest speakers open, because somebody speaks."""
        self.off_record.touch()
        now = self._now()
        for scope in self.scopes:
            self._logs[scope].tracker.touch(now)

    def scopes_of(
        self, text: str, channel: Channel | None = None, *, predicted: bool = False
    ) -> tuple[str, ...]:
        """Return the scopes of a turn's speakers, the last speaker's last, without logging it.

        ``predicted``: the turn may yet be withdrawn.
        """
        return _scopes(self._divide(text, channel, predicted)[1])

    def _divide(
        self, text: str, channel: Channel | None, predicted: bool = False
    ) -> tuple[list[FinalTranscript], list[ScopedWords]]:
        """Return the transcripts of a turn, and its parts by speaker."""
        heard = self._transcripts.of_turn(text, channel, predicted=predicted)
        return heard, split(text, heard, self._voice(""))

    def _now(self) -> ClockReading:
        return ClockReading(self.clock(), self.monotonic())

    def user_said(
        self, text: str, channel: Channel | None = None, *, aside: bool = False, keep: bool = True
    ) -> list[Turn]:
        """Log a user turn, each part in its speaker's scope.

        Args:
            channel: Spoken or typed; None for spoken if its words were heard.
            aside: It is a voice command; so is the agent's reply to it.
            keep: False for words that must not be logged, even on the record.

        Returns:
            The numbered turns; the agent replies to the last. None if nothing was logged.
        """
        now = self._now()
        self.off_record.touch()
        heard, parts = self._divide(text, channel)
        self._transcripts.discard(heard)
        off = self.off_record.off or any(transcript.off_record for transcript in heard)
        self._exchange = Exchange(_scopes(parts), kept=keep and not off)
        turns: list[Turn] = []
        for scope, speaker, words in parts if self._exchange.kept else ():
            kept, cut = clean(words)
            unnamed = speaker == self.names.user
            if unnamed and self.names.may_change and (name := introduced(kept)):
                self.names, speaker = self.names._replace(user=name), name
            log, how = self._logs[scope], channel or ("voice" if heard else "text")
            if not kept:
                continue
            edges = log.tracker.said(now)
            turn = Turn(
                session=log.tracker.session,
                scope=scope,
                speaker=speaker,
                role="user",
                text=kept,
                at=now.at,
                channel=how,
                cut=cut,
                aside=aside,
                part_of=turns[0].id if turns else 0,
                unnamed=unnamed,
            )
            ack = log.append([*edges, turn])
            if ack and isinstance(ack.event, Turn):
                self._exchange.turns[scope] = ack.event
                turns.append(ack.event)
        return turns

    def tool_called(self, name: str) -> None:
        self._exchange.tools.append(name)

    def shown(self, memories: Iterable[Memory]) -> None:
        """Record what the LLM can read for its reply: made from local-only memories, it is one."""
        self._exchange.private += [(m.scope, m.id) for m in memories if m.local_only]

    @property
    def is_private(self) -> bool:
        """Whether the LLM could read local-only memories for the present reply."""
        return bool(self._exchange.private)

    def agent_begins(self) -> None:
        """Bind the agent's reply to the present turn, whatever is said until it ends."""
        self._answering = self._present()

    def agent_said(self, text: str, *, interrupted: bool) -> tuple[Turn | None, Ack] | None:
        """Log what the agent spoke, in every scope that it answers.

        Return the turn that it answers, None when it spoke first, and the ack of its own; None when
        nothing was spoken, or it must not be logged.
        """
        now = self._now()
        self.off_record.touch()
        answered = self._answering or self._present()
        self._answering = None
        kept, cut = clean(text)
        if not (kept and answered.kept) or self.off_record.off:
            return None
        first, origins = 0, tuple(dict.fromkeys(answered.private))
        for scope in answered.scopes:
            asked, log = answered.turns.get(scope), self._logs[scope]
            edges = log.tracker.said(now)
            turn = Turn(
                session=log.tracker.session,
                scope=scope,
                speaker=self.names.agent,
                role="assistant",
                text=kept,
                at=now.at,
                reply_to=asked.id if asked else 0,
                interrupted=interrupted,
                tools=tuple(answered.tools),
                channel=asked.channel if asked else "voice",
                cut=cut,
                aside=asked.aside if asked else False,
                part_of=first,
                local_only=bool(origins),
                derived_from=origins,
            )
            ack = log.append([*edges, turn])
            first = first or (ack.event.id if ack and ack.event else 0)
        return (asked, ack) if ack else None

    def _present(self) -> Exchange:
        """Return a copy of the present exchange that shares its turns and tools."""
        return replace(self._exchange, kept=self._exchange.kept and not self.off_record.off)

    def disconnected(self) -> None:
        """End every session; they may be resumed."""
        now = self._now()
        self.off_record.disconnected()
        for log in self._logs.values():
            log.append(log.tracker.disconnected(now))

    def tick(self) -> None:
        now = self._now()
        self.off_record.tick()
        for log in self._logs.values():
            log.append(log.tracker.tick(now))


def _scopes(parts: Iterable[ScopedWords]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.scope for part in reversed(list(parts))))[::-1]
