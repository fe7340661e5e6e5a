"""What one conversation has said so far: utterances to logged turns, without Pipecat.

The user's half is logged the moment it is known, the agent's half when it has been spoken; each is
handed to ``append``, which neither blocks nor waits.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from slowcat_memory.core.memory.chunk import chunk_id
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.text.normalize import clean, fingerprint
from slowcat_memory.records import Channel, Event, Turn
from slowcat_memory.runtime.conversation.session_tracker import SessionTracker
from slowcat_memory.runtime.conversation.transcripts import Hearing
from slowcat_memory.store import Ack

Append = Callable[[Event], Ack]
LAST = 4  # turns that are remembered here; a query looks at two


class Dialogue:
    """Pairs the halves of each exchange, and says who speaks."""

    def __init__(
        self,
        tracker: SessionTracker,
        append: Append,
        clock: Callable[[], datetime],
        *,
        user_name: str,
        agent_name: str,
        speaker_names: Mapping[str, str] | None = None,
    ) -> None:
        """Start a conversation.

        Args:
            tracker: Decides about sessions.
            append: Logs an event.
            clock: The time, aware.
            user_name: Who speaks when the recogniser does not say.
            agent_name: What the agent is called.
            speaker_names: Names by the recogniser's ids of speakers.
        """
        self.tracker, self._append, self._clock = tracker, append, clock
        self._user_name, self._agent_name = user_name, agent_name
        self._names = dict(speaker_names or {})
        self._heard: Hearing[str] = Hearing()
        self.user_turn: Turn | None = None
        self._last: deque[Turn] = deque(maxlen=LAST)  # of this session
        self._tools: list[str] = []
        self._answering: tuple[Turn | None, list[str]] | None = None

    def before(self, turn: Turn | None) -> list[DialogueTurn]:
        """List what was said last in this session, oldest first.

        Args:
            turn: The turn at hand, which is left out; None when it is not logged yet.

        Returns:
            Two turns at most; none when the turn at hand begins a session.
        """
        if turn is None and not self.tracker.session:
            return []
        earlier = [said for said in self._last if turn is None or said.id < turn.id]
        return [DialogueTurn(said.text, said.at, chunk_id(said.id)) for said in earlier[-2:]]

    def forget(self, turns: Collection[int]) -> None:
        """Lend no words of forgotten turns to what is asked next.

        Args:
            turns: Their log ids.
        """
        kept = [turn for turn in self._last if turn.id not in turns]
        self._last = deque(kept, maxlen=LAST)

    def heard(self, speaker: str, words: str) -> None:
        """Note who said a part of the turn that is being spoken.

        Args:
            speaker: The recogniser's id, may be empty.
            words: A final transcript.
        """
        self._heard.add(speaker, words)

    def was_heard(self, text: str) -> bool:
        """Tell whether these words were heard since the last turn.

        Args:
            text: A turn's words.
        """
        return bool(self._heard.inside(text))

    def user_said(
        self, text: str, channel: Channel | None = None, *, aside: bool = False
    ) -> list[Turn]:
        """Log a person's turn; several people's parts of one turn become a turn each.

        Args:
            text: The whole turn's words.
            channel: Spoken or typed; None for spoken if its words were heard.
            aside: It is said to the memory itself; so is what the agent replies to it.

        Returns:
            The turns, numbered, the last one being what the agent replies to; none when there was
            nothing to log.
        """
        heard = [(self._name(id_), words) for id_, words in self._heard.take(text, channel)]
        channel = channel or ("voice" if heard else "text")
        turns: list[Turn] = []
        for speaker, words in self._parts(text, heard):
            kept, cut = clean(words)
            if kept:
                events = self.tracker.user_said(
                    kept, speaker, self._clock(), channel=channel, cut=cut
                )
                logged = self._log(events, aside=aside)
                turns += [event for event in logged if isinstance(event, Turn)]
        self.user_turn, self._tools = turns[-1] if turns else None, []
        return turns

    @property
    def uses_tools(self) -> bool:
        """Whether the agent has called a tool since the person's turn."""
        return bool(self._tools)

    def tool_called(self, name: str) -> None:
        """Note that the agent calls a tool.

        Args:
            name: The tool's.
        """
        self._tools.append(name)

    def agent_begins(self) -> None:
        """Note that what the agent says next answers the turn of now, whatever is said meanwhile."""
        self._answering = (self.user_turn, self._tools)

    def agent_said(self, text: str, *, interrupted: bool) -> tuple[Turn | None, Ack] | None:
        """Log what the agent spoke.

        Args:
            text: The words that were spoken.
            interrupted: The user cut it off.

        Returns:
            The turn that it answers, None when it spoke first, and the ack of its own; None when
            nothing was spoken.
        """
        kept, cut = clean(text)
        if not kept:
            return None
        asked, tools = self._answering or (self.user_turn, self._tools)
        self._answering = None
        *edges, turn = self.tracker.agent_said(
            kept,
            self._agent_name,
            self._clock(),
            reply_to=asked.id if asked else 0,
            interrupted=interrupted,
            tools=tuple(tools),
            channel=asked.channel if asked else "voice",
            cut=cut,
        )
        self._log(edges)
        if isinstance(turn, Turn) and asked is not None and asked.aside:
            turn = replace(turn, aside=True)
        ack = self._append(turn)
        if isinstance(turn, Turn) and not turn.aside:  # the tracker's last event is a turn
            self._last.append(replace(turn, id=ack.id))
        return asked, ack

    def _parts(self, text: str, heard: list[tuple[str, str]]) -> list[tuple[str, str]]:
        names = list(dict.fromkeys(name for name, _ in heard))
        if len(names) <= 1:
            return [(names[0] if names else self._user_name, text)]
        if fingerprint(" ".join(words for _, words in heard)) != fingerprint(text):
            return [(" and ".join(names), text)]  # the aggregator changed the words
        parts: list[tuple[str, str]] = []
        for name, words in heard:
            if parts and parts[-1][0] == name:
                parts[-1] = (name, f"{parts[-1][1]} {words}")
            else:
                parts.append((name, words))
        return parts

    def _name(self, speaker: str) -> str:
        name, _ = clean(self._names.get(speaker, speaker) or self._user_name, 64)
        return name or self._user_name

    def _log(self, events: Sequence[Event], *, aside: bool = False) -> list[Event]:
        logged: list[Event] = []
        for event in events:
            if aside and isinstance(event, Turn):
                event = replace(event, aside=True)
            logged.append(replace(event, id=self._append(event).id))
            last = logged[-1]
            if isinstance(last, Turn):
                if not aside:
                    self._last.append(last)
            elif last.kind == "start":
                self._last.clear()
        return logged

    def disconnected(self, reason: str = "disconnect") -> None:
        """The line dropped: end the session, which may be resumed."""
        self._log(self.tracker.disconnected(self._clock(), reason))

    def tick(self) -> None:
        """Time passed: end a session that has been silent for long enough."""
        self._log(self.tracker.tick(self._clock()))
