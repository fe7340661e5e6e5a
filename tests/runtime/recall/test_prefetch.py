"""Recall ahead of the speaker: when it begins, what of it a turn takes, and that nothing stays."""

import types
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.search import build_query
from slowcat_memory.runtime.namespaces.indexer import Embedding
from slowcat_memory.runtime.recall.choosing import Recall
from slowcat_memory.runtime.recall.prefetch import KEEP_S, LOST_S, SHARE, Attempt, Prefetch, Warmup
from slowcat_memory.runtime.recall.query import PrefetchOptions, Query
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import Home
from tests.support.said import until

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
        recall = Recall(None, asking(text), None, None, None)
        self.attempts.append(Attempt(text, (recall,), (), Future()))
        return self.attempts[-1]

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.begun]


def test_prefetch_too_few_words_begin_nothing_unless_they_are_all():
    ear = Ear()
    for text in ("", "what", "what is"):
        ear.prefetch.hear(text)
    assert ear.texts == []
    ear.prefetch.hear("what is my")
    ear.prefetch.hear("stop it", whole=True)
    ear.prefetch.hear("", whole=True)
    assert ear.texts == ["what is my", "stop it"]


def test_prefetch_a_newer_recall_stops_the_one_before():
    ear = Ear()
    ear.prefetch.hear("what is my dog")
    ear.time.advance(0.2)
    ear.prefetch.hear(ASKED)
    first, second = ear.attempts
    assert first.recalls[0].abandoned and first.running.cancelled()
    assert not second.recalls[0].abandoned and ear.prefetch.take() is second
    assert not second.recalls[0].abandoned


def test_prefetch_what_was_taken_is_gone_and_nothing_of_it_begins_again():
    ear = Ear()
    ear.prefetch.hear("what is my dog")
    ear.prefetch.hear(ASKED)  # waits for its time
    assert ear.prefetch.take() is ear.attempts[0]
    ear.time.advance(2 * KEEP_S)
    assert len(ear.begun) == 1 and ear.prefetch.take() is None and ear.time.due == []


def test_prefetch_a_turn_that_never_comes_is_dropped():
    ear = Ear()
    ear.prefetch.hear(ASKED)
    ear.time.advance(KEEP_S - 1)
    assert not ear.attempts[0].recalls[0].abandoned
    ear.time.advance(1)
    assert ear.attempts[0].recalls[0].abandoned and ear.prefetch.take() is None


# ------------------------------------------------------------------- kept warm


SAID = ("My dog is called Max", "We flew to Lisbon in May")


class Rig:
    """A warm-up whose recalls end at once and cost ``cost_s``."""

    def __init__(self) -> None:
        self.time, self.cost_s, self.at = Timers(), 0.002, list[float]()
        self.ends = True
        self.warmup = Warmup(self.touch, self.time)  # type: ignore[arg-type]

    def touch(self) -> "Future[float] | None":
        self.at.append(self.time.now)
        made: Future[float] = Future()
        if self.ends:
            made.set_result(self.cost_s)
        return made

    def during(self, seconds: float) -> int:
        before = len(self.at)
        self.time.advance(seconds)
        return len(self.at) - before


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_warmup_nothing_runs_while_nobody_speaks(rig):
    assert rig.during(1000) == 0
    rig.warmup.falls_silent()
    assert rig.during(1000) == 0


@pytest.mark.parametrize("cost_s", [0.0005, 0.002, 0.006, 0.05])
def test_warmup_it_takes_two_percent_of_a_core_at_most(rig, cost_s):
    rig.cost_s = cost_s
    rig.warmup.speaks()
    rig.during(5)
    count = 0
    for _ in range(5):
        rig.warmup.speaks()
        count += rig.during(LOST_S / 2)
    assert 0 < count * cost_s <= 0.02 * 5 * LOST_S / 2
    if cost_s == 0.002:
        assert count * cost_s > 0.8 * SHARE * 5 * LOST_S / 2, "it warms less than it may"


def test_warmup_the_turn_ends_it_and_its_late_silence_does_not_begin_it_again(rig):
    rig.warmup.speaks()
    rig.warmup.stop()
    rig.warmup.falls_silent()
    assert rig.during(1000) == 0 and len(rig.at) == 1


# ---------------------------------------------------------------- in an engine


@pytest.fixture
def engine(home: Home) -> MemoryEngine:
    made = home.open(HashEmbedder(512), recall={"floor": 0.0, "keep_share": 0.0})
    home.talk(made, *SAID)
    return made


def touched(engine: MemoryEngine) -> float:
    query = build_query(engine.clock, "", "anna")
    running = engine.retrieval.touch(query)
    assert running is not None
    return running.result(30)


def test_warmup_touch_recalls_all_the_way_and_leaves_no_trace(engine, monkeypatch):
    found = []
    run = Retrieval.run

    def seen(self, *arguments, **how):
        found.append(run(self, *arguments, **how))
        return found[-1]

    monkeypatch.setattr(Retrieval, "run", seen)
    before, cached = engine.metrics.counts(), engine.embedding._cached.cache_info()
    assert touched(engine) > 0
    assert found[0].stage == "full" and found[0].hits
    assert engine.metrics.counts() == before
    assert engine.embedding._cached.cache_info() == cached
    assert until(lambda: not engine.retrieval._touching), "it would hold a replaced index"


def test_warmup_touch_asks_only_a_model_of_our_own_for_vectors(engine, monkeypatch):
    """A server, or a model that the application gave, has others to serve."""
    asked = list[str]()
    monkeypatch.setattr(engine.embedding, "query", lambda text, passing: asked.append(text))
    touched(engine)
    assert asked == []
    monkeypatch.setattr(Embedding, "is_own", True)
    touched(engine)
    assert asked == [SAID[1]]


def test_warmup_touch_loads_nothing(engine):
    assert engine.retrieval.touch(build_query(engine.clock, "", "ben")) is None
    assert not engine.namespaces.loaded("ben")
