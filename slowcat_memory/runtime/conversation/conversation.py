"""One conversation of several users: each turn is logged only in its speaker's scope.

Each scope has a session of its own. The words of a turn are stored in the scopes of their speakers,
as transcribed: if several users speak in one turn, no words are stored in another user's scope. The
agent's reply is stored in every scope that it answers; so only what all of them may read is
recalled for it (see ``Audience``). Off the record, nothing is logged.

The user's turn is logged as soon as it is known, the agent's when it has been spoken; each is
passed to ``append``, which neither blocks nor waits.

Speaker ids come from the STT, a transport or the application; they are not verified here. Only ids
that the application names are known.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from slowcat_memory.core.extraction.bounded_names import introduced
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.text.normalize import clean, fingerprint
from slowcat_memory.errors import ConfigError
from slowcat_memory.records import Channel, Event, Memory, Turn
from slowcat_memory.runtime.conversation import session_tracker
from slowcat_memory.runtime.conversation.session_tracker import (
    ClockReading,
    OffRecord,
    SessionTracker,
)
from slowcat_memory.runtime.namespaces.registry import check_scope, scope_of_user
from slowcat_memory.store import Ack


class PeopleOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who shares which memory, where several people talk to one agent.

    Attributes:
        scopes: "one": everybody in a conversation shares its ``user_id``. "each": every known
            speaker has a scope of their own, others are guests. Not the default, since it needs an
            STT that tells speakers apart.
        household: A scope that every known speaker reads beside their own, "" for none. A
            conversation writes there only on purpose, as does `slowcat-memory remember`.
        guest: The scope of unknown speakers, with "each". What they say is logged and never
            indexed, embedded or recalled. What the scope already holds is treated alike.
        guest_hours: Hours until what a guest said is erased: long enough to look up what a visitor
            said today, and no longer. 0 erases it at the next idle run.
        strip_on_change: With "each", remove blocks of other people's memories from the LLM's
            context when another user speaks. It costs the LLM's prefix cache once per change.
    """

    scopes: Literal["one", "each"] = "one"
    household: str = ""
    guest: str = "guest"
    guest_hours: Annotated[float, Meta(ge=0, le=87_600)] = 24.0
    strip_on_change: bool = True


def guest_scope(options: PeopleOptions) -> str:
    return options.guest if options.scopes == "each" else ""


class Audience:
    """The speakers of one conversation.

    ``apart``: each known speaker has a scope of their own. ``guest`` is "" without guests.
    """

    def __init__(
        self, options: PeopleOptions, own: str, speakers: Mapping[str, str] | None = None
    ) -> None:
        """Set the known speakers.

        Args:
            own: The conversation's own scope, for speakers without an id.

        Raises:
            ConfigError: An invalid scope name, or a scope with two roles.
        """
        self.apart = options.scopes == "each"
        self._own = scope_of_user(own)
        self._speakers = {id_: check_scope(scope) for id_, scope in (speakers or {}).items()}
        self._shared = (check_scope(options.household),) if options.household else ()
        self.guest = check_scope(options.guest) if self.apart else ""
        if speakers and not self.apart:
            raise ConfigError(
                "speakers have scopes of their own, but people.scopes is 'one'",
                hint="Set [people] scopes = 'each', or pass speaker_names for names alone",
            )
        if self.apart and {self.guest, *self.people}.intersection(self._shared):
            raise ConfigError(
                f"the household {options.household!r} is a person's scope too",
                hint="Give it a name of its own: it is written only on purpose",
            )
        if self.apart and self._own == self.guest:
            raise ConfigError(
                f"user_id {self._own!r} is the guests' scope", hint="Change people.guest"
            )

    @property
    def people(self) -> tuple[str, ...]:
        known = (scope for scope in self._speakers.values() if scope != self.guest)
        return tuple(dict.fromkeys((self._own, *known)))

    @property
    def recallable(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.people, *self._shared)))

    def scope_of(self, speaker: str) -> str:
        """Return a speaker's scope: the conversation's own without an id, guests' if unknown."""
        if not self.apart or not speaker:
            return self._own
        return self._speakers.get(speaker, self.guest)

    def named_scope(self, person: str) -> str:
        return person if self.apart and person in self.people else self.scope_of(person)

    def greeted_scope(self, person: str) -> str:
        """Return the scope whose memory may be in the system instruction, which all turns share.

        Args:
            person: The user as named by the application, may be empty.

        Returns:
            "" if people have scopes of their own, and no user is named.
        """
        return self.named_scope(person) if person or not self.apart else ""

    def readable(self, scopes: Sequence[str]) -> tuple[str, ...]:
        """Return the scopes that all speakers of a turn may read.

        One speaker's own and the household's; the household's alone for several; none with a guest.
        """
        if self.guest and self.guest in scopes:
            return ()
        own = tuple(dict.fromkeys(scopes))
        return tuple(dict.fromkeys((*own, *self._shared))) if len(own) == 1 else self._shared


# ------------------------------------------------------------------- who said what
# Final transcripts wait for their turn. A turn is the transcripts that the user aggregator collected
# for it, one after another. So its words are compared with theirs as whole words and in order, never
# as substrings, and a transcript that is not one of them (muted, of a television, of an earlier turn)
# belongs to no turn.

WAITING = 256  # transcripts waiting for their turn; some never get one
Words = tuple[str, ...]


class Voice(NamedTuple):
    """A speaker: display name, and the scope where their words are stored."""

    scope: str
    name: str


class FinalTranscript(Struct, frozen=True):
    """A final transcript.

    Attributes:
        mark: Its words, in lower case and without punctuation; empty for a text without words.
        part: Number of the aggregator's collection that it went into: those of one turn share it.
        order: Its position among all transcripts.
    """

    voice: Voice
    words: str
    mark: Words
    part: int
    order: int
    off_record: bool = False


VoicedWords = tuple[Voice, str]
"""Words of one turn and who said them: "Anna and Ben" if the words of two cannot be separated."""


class Transcripts:
    """Transcripts in the order in which they came."""

    def __init__(self) -> None:
        self.waiting: deque[FinalTranscript] = deque(maxlen=WAITING)
        self._expected: FinalTranscript | None = None  # of a turn whose end is predicted
        self._part = self._order = 0

    def add(
        self, voice: Voice, words: str, *, off_record: bool = False, begins: bool = False
    ) -> None:
        """Add a transcript; ``begins`` is whether it is the first that a new turn collects."""
        self._expected = None
        self.waiting.append(self._made(voice, words, off_record, begins))

    def expect(self, voice: Voice, words: str, *, off_record: bool = False) -> None:
        """Set the predicted last transcript of the present turn, which a final one will replace."""
        self._expected = self._made(voice, words, off_record, False)

    def _made(self, voice: Voice, words: str, off_record: bool, begins: bool) -> FinalTranscript:
        self._part += begins
        self._order += 1
        mark = _mark(words)
        return FinalTranscript(voice, words, mark, self._part, self._order, off_record)

    def of_turn(
        self, text: str, channel: Channel | None, *, predicted: bool = False
    ) -> list[FinalTranscript]:
        """Return the transcripts that a turn consists of.

        If the aggregator has rewritten the words, so that they do not cover the turn, all
        transcripts of one collection may be part of it.

        Args:
            channel: "voice" for words that were spoken, however they were rewritten; None if
                unknown.
            predicted: The turn's last transcript may be a prediction.

        Returns:
            In the order in which they were heard; none for a typed turn.
        """
        if channel == "text":
            return []  # the transcripts belong to the turn being spoken
        mark, waiting = _mark(text), list(self.waiting)
        if predicted and self._expected:
            waiting.append(self._expected)
        on = [transcript for transcript in waiting if not transcript.off_record]
        for heard in (on, waiting):
            for collected in (*_collections(heard), heard):
                if exact := _covering(mark, collected):
                    return exact
        return _rewritten(mark, waiting, channel)

    def discard(self, taken: Sequence[FinalTranscript]) -> None:
        """Discard the transcripts up to a turn, where ``of_turn`` returned ``taken``.

        If none of it was on the record, those on the record still wait.
        """
        last = max((transcript.order for transcript in taken), default=0)
        off = all(transcript.off_record for transcript in taken)
        self._expected = None
        waiting = [
            transcript
            for transcript in self.waiting
            if (taken and transcript.order > last) or (off and not transcript.off_record)
        ]
        self.waiting = deque(waiting, maxlen=WAITING)


def split(text: str, heard: Sequence[FinalTranscript], typed: Voice) -> list[VoicedWords]:
    """Divide a turn by scope and speaker.

    With several scopes, each keeps its words as transcribed; else the turn's own words are kept,
    divided by speaker if the transcripts cover them.

    Args:
        heard: From ``Transcripts.of_turn``.
        typed: The author of a turn without transcripts.

    Returns:
        At least one part, in order.
    """
    if not heard:
        return [(typed, text)]
    runs = [list(run) for _, run in groupby(heard, key=lambda transcript: transcript.voice.scope)]
    if len({run[0].voice.scope for run in runs}) == 1:
        return _by_speaker(text, heard)
    return [part for run in runs for part in _by_speaker(_words(run), run)]


def _by_speaker(text: str, heard: Sequence[FinalTranscript]) -> list[VoicedWords]:
    mark, scope = _mark(text), heard[0].voice.scope
    heard = _covering(mark, heard) or _inside(heard, mark) or heard
    names = list(dict.fromkeys(transcript.voice.name for transcript in heard))
    if len(names) > 1 and _covering(mark, heard):
        runs = groupby(heard, key=lambda transcript: transcript.voice.name)
        return [(Voice(scope, name), _words(run)) for name, run in runs]
    return [(Voice(scope, " and ".join(names)), text)]


def _mark(text: str) -> Words:
    return tuple(fingerprint(text).split())


def _collections(heard: Iterable[FinalTranscript]) -> list[list[FinalTranscript]]:
    """Return the transcripts by collection, the oldest first: turns come in that order."""
    return [list(run) for _, run in groupby(heard, key=lambda transcript: transcript.part)]


def _covering(mark: Words, heard: Sequence[FinalTranscript]) -> list[FinalTranscript]:
    """Return the transcripts whose words, one after another, are exactly a turn's.

    The latest are preferred where several have the same words. Empty if there are none.
    """
    letters = "".join(mark)
    pieces = ["".join(transcript.mark) for transcript in heard]  # a service may split a word
    if sum(map(len, pieces)) < len(letters):
        return []
    failed = set[tuple[int, int]]()

    def cover(at: int, end: int) -> list[FinalTranscript] | None:
        """Cover the first ``end`` letters with some of the first ``at`` pieces."""
        if end == 0 or at == 0 or (at, end) in failed:
            return None if end else []
        piece = pieces[at - 1]
        if piece and letters.endswith(piece, 0, end):
            if (rest := cover(at - 1, end - len(piece))) is not None:
                return [*rest, heard[at - 1]]
        if (rest := cover(at - 1, end)) is None:
            failed.add((at, end))
        return rest

    return cover(len(pieces), len(letters)) or []


def _inside(heard: Iterable[FinalTranscript], mark: Words) -> list[FinalTranscript]:
    line = f" {' '.join(mark)} "
    return [final for final in heard if final.mark and f" {' '.join(final.mark)} " in line]


def _rewritten(
    mark: Words, heard: Sequence[FinalTranscript], channel: Channel | None
) -> list[FinalTranscript]:
    """Return the collection that shares most words with a turn, the oldest of several.

    Unless the turn was surely spoken, a whole transcript must be in its words.
    """
    if channel != "voice" and not _inside(heard, mark):
        return []
    known = frozenset(mark)

    def shared(collected: list[FinalTranscript]) -> int:
        return sum(word in known for transcript in collected for word in transcript.mark)

    return max(_collections(heard), key=shared, default=[])


def _words(heard: Iterable[FinalTranscript]) -> str:
    return " ".join(transcript.words for transcript in heard)


# ------------------------------------------------------------------- what is logged


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
        """Return whether a transcript's words, as whole words, are among those of a text."""
        return bool(_inside(self._transcripts.waiting, _mark(text)))

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
    ) -> tuple[list[FinalTranscript], list[VoicedWords]]:
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
        for (scope, speaker), words in parts if self._exchange.kept else ():
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


def _scopes(parts: Sequence[VoicedWords]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(voice.scope for voice, _ in reversed(parts)))[::-1]
