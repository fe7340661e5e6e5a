"""Conversations over a log in memory, without a store or a pipeline."""

from concurrent.futures import Future
from typing import Any

from msgspec.structs import replace

from slowcat_memory.records import Turn
from slowcat_memory.runtime.conversation.conversation import (
    Audience,
    Conversation,
    Names,
    PeopleOptions,
)
from slowcat_memory.runtime.conversation.session_tracker import (
    OffRecord,
    SessionOptions,
    SessionTracker,
)
from slowcat_memory.store import Ack
from slowcat_memory.testing import FixedClock

SPEAKERS = {"s1": "anna", "s2": "ben"}
NAMES = Names("User", "Cat", {"s1": "Anna", "s2": "Ben"})


class Log(list):
    """Appended events, numbered."""

    def append_event(self, event: Any) -> Ack:
        numbered = replace(event, id=len(self) + 1)
        self.append(numbered)
        return Ack(Future(), numbered)

    @property
    def turns(self) -> list[Turn]:
        return [event for event in self if isinstance(event, Turn)]

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(turn.speaker, turn.text) for turn in self.turns]


class Room:
    """A conversation with one scope for all, or one for each speaker."""

    def __init__(self, scopes: str = "each", append: Any = None, clock: Any = None) -> None:
        self.log, self.clock, self.changes = Log(), clock or FixedClock(), []
        options = PeopleOptions(scopes=scopes, household="home")  # type: ignore[arg-type]
        audience = Audience(options, "anna", SPEAKERS if scopes == "each" else None)
        self.off_record = OffRecord(SessionOptions(), self.changes.append, self.clock.boot_s)
        trackers = [self.tracker(s) for s in (*audience.people, audience.guest) if s]
        log, boot_s = append or self.log.append_event, self.clock.boot_s
        self.talk = Conversation(
            audience, trackers, log, NAMES, self.off_record, self.clock, boot_s
        )

    def wait(self, seconds: float) -> None:
        """Let time pass by both clocks."""
        self.clock.advance(seconds)

    def tracker(self, scope: str) -> SessionTracker:
        return SessionTracker(scope, lambda now: f"{scope} {now:%H%M%S}", SessionOptions())

    def say(self, *parts: tuple[str, str], reply: str = "", aside: bool = False) -> Any:
        for speaker, words in parts:
            self.talk.heard(speaker, words)
        turns = self.talk.user_said(" ".join(words for _, words in parts), aside=aside)
        if reply:
            self.reply(reply)
        return turns

    def reply(self, text: str) -> Any:
        self.talk.agent_begins()
        return self.talk.agent_said(text, interrupted=False)

    @property
    def said(self) -> list[tuple[str, str, str]]:
        return [(turn.scope, turn.speaker, turn.text) for turn in self.log.turns]
