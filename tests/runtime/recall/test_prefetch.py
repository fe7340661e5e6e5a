"""Recall ahead of the speaker: when it begins, what of it a turn takes, and that nothing stays."""

import types
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime

from slowcat_memory.runtime.recall.choosing import Recall
from slowcat_memory.runtime.recall.prefetch import KEEP_S, Attempt, Prefetch
from slowcat_memory.runtime.recall.query import PrefetchOptions, Query

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)
ASKED = "what is my dog called"


# ---------------------------------------------------------------- when it begins


class Timers:
    """Time that passes when it is told to, and calls what is due."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due: list[tuple[float, Callable[[], None], types.SimpleNamespace]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Callable[[], None]) -> types.SimpleNamespace:
        timer = types.SimpleNamespace()
        entry = (self.now + seconds, call, timer)
        timer.cancel = lambda: self.due.remove(entry) if entry in self.due else None
        self.due.append(entry)
        return timer

    def advance(self, seconds: float) -> None:
        until = self.now + seconds
        while ready := [entry for entry in self.due if entry[0] <= until + 1e-9]:
            first = min(ready, key=lambda entry: entry[0])
            self.due.remove(first)
            self.now = max(self.now, first[0])
            first[1]()
        self.now = until


def asking(text: str) -> Query:
    return Query(text=text, scope="anna", now=NOW, k=4)


class Ear:
    """A prefetch whose recalls are only noted."""

    def __init__(self, **options: float) -> None:
        self.time = Timers()
        self.begun: list[tuple[float, str]] = []
        self.attempts: list[Attempt] = []
        self.prefetch = Prefetch(self.begin, PrefetchOptions(**options), self.time)  # type: ignore[arg-type]

    def begin(self, text: str) -> Attempt:
        self.begun.append((self.time.now, text))
        self.attempts.append(
            Attempt(text, (Recall(None, asking(text), None, None, None),), (), Future())
        )
        return self.attempts[-1]

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.begun]


def test_prefetch_too_few_words_begin_nothing_unless_they_are_all() -> None:
    ear = Ear()
    for text in ("", "what", "what is"):
        ear.prefetch.hear(text)
    assert ear.texts == []
    ear.prefetch.hear("what is my")
    ear.prefetch.hear("stop it", whole=True)
    ear.prefetch.hear("", whole=True)
    assert ear.texts == ["what is my", "stop it"]


def test_prefetch_a_newer_recall_stops_the_one_before() -> None:
    ear = Ear()
    ear.prefetch.hear("what is my dog")
    ear.time.advance(0.2)
    ear.prefetch.hear(ASKED)
    first, second = ear.attempts
    assert first.recalls[0].abandoned and first.running.cancelled()
    assert not second.recalls[0].abandoned and ear.prefetch.take() is second
    assert not second.recalls[0].abandoned


def test_prefetch_what_was_taken_is_gone_and_nothing_of_it_begins_again() -> None:
    ear = Ear()
    ear.prefetch.hear("what is my dog")
    ear.prefetch.hear(ASKED)  # waits for its time
    assert ear.prefetch.take() is ear.attempts[0]
    ear.time.advance(2 * KEEP_S)
    assert len(ear.begun) == 1 and ear.prefetch.take() is None and ear.time.due == []


def test_prefetch_a_turn_that_never_comes_is_dropped() -> None:
    ear = Ear()
    ear.prefetch.hear(ASKED)
    ear.time.advance(KEEP_S - 1)
    assert not ear.attempts[0].recalls[0].abandoned
    ear.time.advance(1)
    assert ear.attempts[0].recalls[0].abandoned and ear.prefetch.take() is None
