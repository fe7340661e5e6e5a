"""One conversation of several people: to each what they said, and nothing of the others.

Theory of operation. Each scope has a dialogue of its own, with its own session. A turn's words go
to the dialogues of those who said them, as they were heard: where several people speak in one turn,
nobody's words are kept with another's. The agent's reply goes to everybody whom it answers; so what
is recalled for it is what all of them may read (see ``audience``). Off the record, nothing goes
anywhere.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from itertools import groupby

from msgspec import Struct

from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.records import Channel, Turn
from slowcat_memory.runtime.conversation.audience import Audience
from slowcat_memory.runtime.conversation.dialogue import Dialogue
from slowcat_memory.runtime.conversation.off_record import Record
from slowcat_memory.runtime.conversation.transcripts import Hearing, covers
from slowcat_memory.store import Ack


class Voice(Struct, frozen=True):
    """Who said something.

    Attributes:
        id: As the recogniser or the application calls them, may be empty.
        scope: Theirs.
    """

    id: str
    scope: str


Part = tuple[Voice, str]
Share = tuple[str, list[Part], str]  # a scope, what was heard of it, and its words


class Asked(Struct, frozen=True):
    """What the agent answers.

    Attributes:
        scopes: Of those who spoke, the last one last.
        kept: It was said on the record.
    """

    scopes: tuple[str, ...]
    kept: bool = True


class Conversation:
    """Routes what is said to the dialogues of those who said it."""

    def __init__(
        self,
        audience: Audience,
        dialogues: Mapping[str, Dialogue],
        record: Record,
        clock: Callable[[], datetime],
    ) -> None:
        """Start a conversation.

        Args:
            audience: The people.
            dialogues: One for each scope that the audience names, guests included.
            record: Whether what is said is kept.
            clock: The time, aware.
        """
        self.record = record
        self._audience, self._dialogues, self._clock = audience, dialogues, clock
        self._heard: Hearing[Voice] = Hearing()
        self._unkept: Hearing[Voice] = Hearing()  # what was heard off the record
        self._person = ""  # who speaks, as the application says
        self._asked = Asked((audience.scope_of(""),))
        self._answering: Asked | None = None

    @property
    def scopes(self) -> tuple[str, ...]:
        """Whom the agent answers: the scopes of those who spoke last."""
        return self._asked.scopes

    @property
    def user_turn(self) -> Turn | None:
        """The turn that the agent answers, None before the first one that was kept."""
        return self._last.user_turn if self._asked.kept else None

    @property
    def uses_tools(self) -> bool:
        """Whether the agent has called a tool since the person's turn."""
        return self._last.uses_tools

    @property
    def _last(self) -> Dialogue:
        return self._dialogues[self._asked.scopes[-1]]

    def before(self, turn: Turn | None) -> list[DialogueTurn]:
        """List what was said last in the session of who asks, oldest first.

        Args:
            turn: The turn at hand, which is left out.

        Returns:
            Two turns at most; none where several people ask, who have no dialogue in common.
        """
        return self._last.before(turn) if len(self.scopes) == 1 else []

    def forget(self, turns: Collection[int]) -> None:
        """Lend no words of forgotten turns to what is asked next.

        Args:
            turns: Their log ids.
        """
        for dialogue in self._dialogues.values():
            dialogue.forget(turns)

    def before_next(self, scope: str) -> list[DialogueTurn]:
        """List what was said last in the session of who is about to ask, oldest first.

        Args:
            scope: Theirs.

        Returns:
            Two turns at most.
        """
        return self._dialogues[scope].before(None)

    def scope_of(self, speaker: str) -> str:
        """Tell whose words these are.

        Args:
            speaker: The recogniser's id, may be empty.

        Returns:
            Their scope.
        """
        return self._voice(speaker).scope

    def speaker(self, person: str) -> None:
        """Take the application's word for who speaks from now on.

        Args:
            person: A recogniser's id or the scope of somebody known; "" for what the frames say.
        """
        self._person = person

    def heard(self, speaker: str, words: str) -> None:
        """Note who said a part of the turn that is being spoken.

        Args:
            speaker: The recogniser's id, may be empty.
            words: A final transcript.
        """
        self.record.touch(self._clock())
        (self._unkept if self.record.off else self._heard).add(self._voice(speaker), words)

    def _voice(self, speaker: str) -> Voice:
        if self._person:
            return Voice(self._person, self._audience.named(self._person))
        return Voice(speaker, self._audience.scope_of(speaker))

    def was_heard(self, text: str) -> bool:
        """Tell whether these words were heard since the last turn.

        Args:
            text: A turn's words.
        """
        return bool(self._heard.inside(text) or self._unkept.inside(text))

    def touch(self, now: datetime) -> None:
        """Note that somebody speaks, so that the session of who spoke last is not silent.

        Args:
            now: When.
        """
        self.record.touch(now)
        for scope in self.scopes:
            self._dialogues[scope].tracker.touch(now)

    def who_says(self, text: str, channel: Channel | None = None) -> tuple[str, ...]:
        """Tell whose a turn is that may yet be withdrawn; it is not taken.

        Args:
            text: The whole turn's words.
            channel: As in ``user_said``.

        Returns:
            Their scopes, the last one last.
        """
        heard, unkept = self._around(text, channel)
        return _scopes(self._shares(text, [*unkept, *heard]))

    def _around(self, text: str, channel: Channel | None) -> tuple[list[Part], list[Part]]:
        """Find what was heard of a turn, on and off the record."""
        heard = self._heard.around(text, channel)
        return heard, [] if covers(heard, text) else self._unkept.around(text, channel)

    def user_said(
        self,
        text: str,
        channel: Channel | None = None,
        *,
        aside: bool = False,
        keep: bool = True,
    ) -> list[Turn]:
        """Log a person's turn, each part with whose it is.

        Args:
            text: The whole turn's words.
            channel: Spoken or typed; None for spoken if its words were heard.
            aside: It is said to the memory itself; so is what the agent replies to it.
            keep: False for words that ask not to be kept, on the record as they may be.

        Returns:
            The turns, numbered, the last one being what the agent replies to; none when there was
            nothing to log, or nothing of it is to be kept.
        """
        self.record.touch(self._clock())
        heard, unkept = self._around(text, channel)
        self._unkept.clear()
        self._heard.take(text, channel)
        shares = self._shares(text, [*unkept, *heard])
        self._asked = Asked(_scopes(shares), kept=keep and not (self.record.off or unkept))
        turns: list[Turn] = []
        for scope, parts, words in shares if self._asked.kept else ():
            dialogue = self._dialogues[scope]
            for voice, part in parts:
                dialogue.heard(voice.id, part)
            how: Channel = channel or ("voice" if heard else "text")
            turns += dialogue.user_said(words, how, aside=aside)
        return turns

    def _shares(self, text: str, heard: list[Part]) -> list[Share]:
        """Divide a turn by whose it is: whole if it is one scope's, else as it was heard."""
        runs = [(scope, [*parts]) for scope, parts in groupby(heard, lambda part: part[0].scope)]
        if len({scope for scope, _ in runs}) > 1:
            return [(scope, parts, " ".join(words for _, words in parts)) for scope, parts in runs]
        if heard:
            return [(runs[0][0], heard, text)]
        typed = self._voice("")
        return [(typed.scope, [(typed, text)] if typed.id else [], text)]

    def tool_called(self, name: str) -> None:
        """Note that the agent calls a tool.

        Args:
            name: The tool's.
        """
        for scope in self.scopes:
            self._dialogues[scope].tool_called(name)

    def agent_begins(self) -> None:
        """Note that what the agent says next answers the turn of now, whatever is said meanwhile."""
        self._answering = self._present()
        for scope in self.scopes:
            self._dialogues[scope].agent_begins()

    def agent_said(self, text: str, *, interrupted: bool) -> tuple[Turn | None, Ack] | None:
        """Log what the agent spoke, with everybody whom it answers.

        Args:
            text: The words that were spoken.
            interrupted: The user cut it off.

        Returns:
            The turn that it answers, None when it spoke first, and the ack of its own; None when
            nothing was spoken, or it is not to be kept.
        """
        self.record.touch(self._clock())
        answered = self._answering or self._present()
        self._answering = None
        if not answered.kept or self.record.off:
            return None
        said = [
            self._dialogues[scope].agent_said(text, interrupted=interrupted)
            for scope in answered.scopes
        ]
        return said[-1]

    def _present(self) -> Asked:
        return Asked(self._asked.scopes, self._asked.kept and not self.record.off)

    def disconnected(self, reason: str = "disconnect") -> None:
        """The line dropped: end everybody's session, which may be resumed.

        Args:
            reason: "disconnect" or "close".
        """
        self.record.disconnected(self._clock())
        for dialogue in self._dialogues.values():
            dialogue.disconnected(reason)

    def tick(self) -> None:
        """Time passed: end the sessions that have been silent for long enough."""
        self.record.tick(self._clock())
        for dialogue in self._dialogues.values():
            dialogue.tick()


def _scopes(shares: list[Share]) -> tuple[str, ...]:
    """List whose a turn is, each scope once, the last speaker's last."""
    return tuple(dict.fromkeys(scope for scope, _, _ in reversed(shares)))[::-1]
