"""Recall ahead of the speaker: when it begins, what of it a turn takes, and that nothing stays."""

import types
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime

import numpy as np
import pytest

from slowcat_memory.runtime.recall.choosing import Recall
from slowcat_memory.runtime.recall.prefetch import KEEP_S, Attempt, Prefetch, overlap
from slowcat_memory.runtime.recall.query import PrefetchOptions, Query

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)
SAID = (
    "My dog is called Max",
    "We flew to Lisbon in May",
    "My brother Moritz brews beer",
    "I drink green tea every morning",
)
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


def test_prefetch_a_script_without_spaces_has_words_all_the_same() -> None:
    ear = Ear()
    ear.prefetch.hear("我的")
    assert ear.texts == []
    ear.prefetch.hear("我的狗叫什么名字")
    assert ear.texts == ["我的狗叫什么名字"]


@pytest.mark.parametrize("step_ms", [10, 49, 75, 150, 300])
def test_prefetch_interims_begin_a_recall_no_more_often_than_they_may(step_ms: int) -> None:
    ear, words = Ear(), [f"word{n}" for n in range(3, 60)]
    for count in range(3, len(words)):
        ear.prefetch.hear(" ".join(words[:count]))
        ear.time.advance(step_ms / 1e3)
    ear.time.advance(0.15)
    times = [at for at, _ in ear.begun]
    assert min(np.diff(times)) >= 0.15 - 1e-6
    assert ear.texts[-1] == " ".join(words[:-1])  # the latest is not lost to the throttle
    assert len(times) >= 0.9 * 54 * min(1, step_ms / 150)


def test_prefetch_a_transcript_that_stays_waits_for_nobody() -> None:
    ear = Ear()
    ear.prefetch.hear("what is my")
    ear.prefetch.hear("what is my dog")
    ear.prefetch.hear("What is my dog called?", whole=True)
    ear.time.advance(1)
    assert ear.texts == ["what is my", "What is my dog called?"]


def test_prefetch_the_same_words_begin_nothing_again() -> None:
    ear = Ear()
    ear.prefetch.hear(ASKED)
    ear.time.advance(1)
    ear.prefetch.hear("What is my dog called?", whole=True)
    assert ear.texts == [ASKED] and not ear.attempts[0].recalls[0].abandoned


def test_prefetch_words_that_are_taken_back_begin_nothing_later() -> None:
    ear = Ear()
    ear.prefetch.hear(ASKED)
    ear.prefetch.hear(f"{ASKED} again")
    ear.prefetch.hear(ASKED)
    ear.time.advance(1)
    assert ear.texts == [ASKED]


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


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("what is my dog called", "What is my DOG called?!", 1.0),
        ("what is my dog called", "what is my dog called again now", 5 / 7),
        ("a b c d", "a b c x", 0.75),
        ("", "", 0.0),
        ("dog", "", 0.0),
    ],
)
def test_overlap(one: str, other: str, share: float) -> None:
    assert overlap(one, other) == overlap(other, one) == pytest.approx(share)
