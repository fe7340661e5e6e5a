"""What one conversation has said so far: utterances to logged turns, without Pipecat.

The user's half is logged the moment it is known, the agent's half when it has been spoken; each is
handed to ``append``, which neither blocks nor waits.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec.structs import replace

from slowcat_memory.core.text import clean, fingerprint
from slowcat_memory.records import Channel, Event, Turn
from slowcat_memory.runtime.tracker import SessionTracker
from slowcat_memory.store import Ack

Append = Callable[[Event], Ack]


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
        self._heard: list[tuple[str, str]] = []  # (recogniser's id, words) of the open turn
        self.user_turn: Turn | None = None
        self.tools: list[str] = []

    def heard(self, speaker: str, words: str) -> None:
        """Note who said a part of the turn that is being spoken.

        Args:
            speaker: The recogniser's id, may be empty.
            words: A final transcript.
        """
        self._heard.append((speaker, words))

    def user_said(self, text: str, channel: Channel) -> Turn | None:
        """Log a person's turn; several people's parts of one turn become a turn each.

        Args:
            text: The whole turn's words.
            channel: Spoken or typed.

        Returns:
            The turn that the agent replies to, numbered; None when there was nothing to log.
        """
        parts = self._parts(text)
        for speaker, words in parts:
            kept, cut = clean(words)
            if kept:
                self._log(
                    self.tracker.user_said(kept, speaker, self._clock(), channel=channel, cut=cut)
                )
        self.tools.clear()
        return self.user_turn if parts else None

    def agent_said(self, text: str, *, interrupted: bool) -> Ack | None:
        """Log what the agent spoke.

        Args:
            text: The words that were spoken.
            interrupted: The user cut it off.

        Returns:
            The turn's ack, None when nothing was spoken.
        """
        kept, cut = clean(text)
        if not kept:
            return None
        asked = self.user_turn
        return self._log(
            self.tracker.agent_said(
                kept,
                self._agent_name,
                self._clock(),
                reply_to=asked.id if asked else 0,
                interrupted=interrupted,
                tools=tuple(self.tools),
                channel=asked.channel if asked else "voice",
                cut=cut,
            )
        )

    def _parts(self, text: str) -> list[tuple[str, str]]:
        heard, self._heard = self._heard, []
        names = list(dict.fromkeys(self._name(speaker) for speaker, _ in heard))
        if len(names) <= 1:
            return [(names[0] if names else self._user_name, text)] if text.strip() else []
        if fingerprint(" ".join(words for _, words in heard)) != fingerprint(text):
            return [(" and ".join(names), text)]  # the aggregator changed the words
        parts: list[tuple[str, str]] = []
        for speaker, words in heard:
            name = self._name(speaker)
            if parts and parts[-1][0] == name:
                parts[-1] = (name, f"{parts[-1][1]} {words}")
            else:
                parts.append((name, words))
        return parts

    def _name(self, speaker: str) -> str:
        name, _ = clean(self._names.get(speaker, speaker) or self._user_name, 64)
        return name or self._user_name

    def _log(self, events: list[Event]) -> Ack | None:
        ack = None
        for event in events:
            ack = self._append(event)
            if isinstance(event, Turn) and event.role == "user":
                self.user_turn = replace(event, id=ack.id)
        return ack

    def disconnected(self, reason: str = "disconnect") -> None:
        """The line dropped: end the session, which may be resumed."""
        self._log(self.tracker.disconnected(self._clock(), reason))

    def tick(self) -> None:
        """Time passed: end a session that has been silent for long enough."""
        self._log(self.tracker.tick(self._clock()))
