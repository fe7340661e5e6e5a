"""Recall ahead of the speaker: begun on what was heard so far, reconciled with what was said.

Theory of operation. Whoever listens tells each transcript as it comes. Some of them begin a recall:
the whole of it, on a thread of its own, by the same query that the turn would ask. A newer one
replaces the one before, which stops at its next stage. When the turn comes, it takes the newest:
with the same words, the recall stands, done or under way; with nearly the same, its vector stands,
which is most of the work; else nothing does.

Nothing is kept of what was heard and not said: no cache and no counter takes these words, and they
are dropped when the turn has come, or after ``KEEP_S``.

The event loop alone calls what is here; a recall runs elsewhere.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Protocol

from msgspec import Struct

from slowcat_memory.core.query.recall_gate import Need
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.runtime.recall.stages import Progress

KEEP_S = 30.0  # a turn that has not come by then is not coming


class PrefetchOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Recall while a person still speaks.

    Attributes:
        enabled: Whether to. It needs a recogniser that sends interim transcripts, or predicts the
            end of a turn; with any other it costs nothing and brings little.
        min_words: Interim transcripts of fewer words begin nothing: they say too little yet.
        every_ms: Interim transcripts begin a recall no more often than that: the recogniser needs
            the same cores, and people say two or three words in that time.
        overlap: Share of the words that two texts must have in common for the vector of one to do
            for the other.
    """

    enabled: bool = True
    min_words: int = 3
    every_ms: float = 150.0
    overlap: float = 0.8


class Attempt(Struct, frozen=True, eq=False):
    """A recall that was begun ahead.

    Attributes:
        heard: The words that it was begun for.
        need: What they need.
        query: What it asks.
        progress: How far it is, by namespace.
        running: Its end.
        namespaces: What it asks, the speaker's own first.
        versions: Theirs, when it began.
    """

    heard: str
    need: Need
    query: Query
    progress: Sequence[Progress]
    running: "Future[Recollection]"
    namespaces: Sequence[Namespace]
    versions: Sequence[int]

    def is_for(self, text: str) -> bool:
        """Tell whether these are the words that it was begun for.

        Args:
            text: A turn's words.
        """
        return fingerprint(self.heard) == fingerprint(text)

    def holds(self, query: Query) -> bool:
        """Tell whether it recalls what a turn asks for, or has recalled it.

        Args:
            query: The turn's, for the same scope.
        """
        return (
            fingerprint(self.query.text) == fingerprint(query.text)
            and (self.running.running() or self._is_sound())
            and self._nothing_changed(query)
            and self._nothing_more_is_visible(query)
        )

    def _is_sound(self) -> bool:
        done = self.running.done() and not self.running.cancelled()
        return done and self.running.exception() is None

    def _nothing_changed(self, query: Query) -> bool:
        """Compare all but the words. What is said meanwhile is visible, and need not be found."""
        own = self.query
        return (
            all(n.version == v for n, v in zip(self.namespaces, self.versions, strict=True))
            and (own.scope, own.also, own.local) == (query.scope, query.also, query.local)
            and (own.k, own.floor, own.keep_share) == (query.k, query.floor, query.keep_share)
            and own.doubt == query.doubt
            and own.dialogue == query.dialogue
            and query.now - own.now < timedelta(seconds=KEEP_S)
            and not any(self._knows(memory) for memory in own.exclude ^ query.exclude)
        )

    def _knows(self, memory: str) -> bool:
        return any(memory in namespace.searcher for namespace in self.namespaces)

    def _nothing_more_is_visible(self, query: Query) -> bool:
        """Tell whether nothing that it found has come into the LLM's sight meanwhile."""
        own, more = self.query.exclude_words, query.exclude_words - self.query.exclude_words
        if not more or not own <= query.exclude_words:
            return own == query.exclude_words
        if not self.running.done():
            return False
        return all(fingerprint(hit.memory.text) not in more for hit in self.running.result().hits)

    def abandon(self) -> None:
        """Have it stop at its next stage: nobody will take it."""
        for left in self.progress:
            left.abandoned = True
        self.running.cancel()


class Timer(Protocol):
    """What ``Later`` returns."""

    def cancel(self) -> None:
        """Do not call."""


Begin = Callable[[str], Attempt | None]
Later = Callable[[float, Callable[[], None]], Timer]


class Prefetch:
    """The recall that is under way for the turn that is being spoken, if any."""

    def __init__(
        self, begin: Begin, options: PrefetchOptions, clock: Callable[[], float], later: Later
    ) -> None:
        """Wait for words.

        Args:
            begin: Begins a recall for the words of a turn; neither blocks nor waits.
            options: When to.
            clock: Seconds that only grow.
            later: Calls something on the event loop after so many seconds.
        """
        self._begin, self._options = begin, options
        self._clock, self._later = clock, later
        self._attempt: Attempt | None = None
        self._waiting = ""  # words that come too soon after the last ones
        self._again: Timer | None = None
        self._end: Timer | None = None
        self._began = float("-inf")

    def hear(self, text: str, *, whole: bool = False) -> None:
        """Take what was heard so far of a turn.

        Args:
            text: All of the turn's words.
            whole: The recogniser will not change them: they begin a recall at once.
        """
        words = fingerprint(text)
        if self._attempt and self._attempt.is_for(text):
            self._wait_no_more()
            return
        if not words or not whole and _count(words) < self._options.min_words:
            return
        self._waiting = text
        pause = self._began + self._options.every_ms / 1e3 - self._clock()
        if whole or pause <= 0:
            self._go()
        elif self._again is None:
            self._again = self._later(pause, self._go)

    def take(self) -> Attempt | None:
        """Hand over the newest recall; what is heard from now on belongs to another turn.

        Returns:
            The recall, under way or done; None when there is none.
        """
        attempt, self._attempt = self._attempt, None
        self.drop()
        return attempt

    def drop(self) -> None:
        """Give up, and keep nothing of what was heard."""
        self._wait_no_more()
        if self._end:
            self._end.cancel()
            self._end = None
        if self._attempt:
            self._attempt.abandon()
            self._attempt = None

    def _go(self) -> None:
        text = self._waiting
        self.drop()
        self._began = self._clock()
        self._attempt = self._begin(text)
        self._end = self._later(KEEP_S, self.drop)

    def _wait_no_more(self) -> None:
        self._waiting = ""
        if self._again:
            self._again.cancel()
            self._again = None


def _count(words: str) -> int:
    """Count words; not every script puts spaces between them."""
    return max(len(words.split()), 0 if words.isascii() else len(words) // 2)


def overlap(one: str, other: str) -> float:
    """Compare the words of two texts.

    Args:
        one: A text.
        other: Another.

    Returns:
        How many they share of those that the longer one has, 0 to 1.
    """
    words, others = set(fingerprint(one).split()), set(fingerprint(other).split())
    return len(words & others) / max(len(words), len(others), 1)
