"""Recall ahead of the turn: begun on interim transcripts, reconciled with the final one.

Interim transcripts come while the user speaks. Some of them begin a recall: all of it, on a thread
of its own, with the same query that the turn would make. A newer one replaces the one before, which
stops at its next step. When the turn comes, it takes the newest: with the same words, the recall is
used, done or running; with nearly the same, its vector is used, which is most of the work; else
nothing is.

Interim transcripts that the turn does not repeat leave no trace: no cache or counter takes these
words, and they are dropped when the turn has come, or after ``KEEP_S``.

Called on the event loop only; recalls run elsewhere.
"""

import asyncio
import gc
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import timedelta
from functools import cache
from operator import attrgetter

from msgspec import Struct

from slowcat_memory.core.commands import grammar
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.data import compile_lazy_patterns
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.text.numerals import number_of
from slowcat_memory.runtime.namespaces.registry import Namespace
from slowcat_memory.runtime.recall.choosing import Recall, abandon
from slowcat_memory.runtime.recall.query import PrefetchOptions, Query, Recollection

KEEP_S = 30.0  # a turn later than this is not expected any more
EVERY_S = 0.1  # between two recalls at least
# Of one core, while somebody speaks; the rest of two percent is the event loop's part.
SHARE = 0.015
FIRST_S = 0.005  # of processor time: what a recall is taken to cost before one was measured
SETTLE_S = 10.0  # after the voice: a turn later than this is not expected any more
LOST_S = 60.0  # after the last sign of a voice whose end was lost

Touch = Callable[[], "Future[float] | None"]
"""Begins a recall whose result is thrown away, without blocking; its future has the processor time in
seconds. None if there is nothing to warm now, or the engine is being closed."""


class Attempt(Struct, frozen=True, eq=False):
    """A recall that was begun ahead.

    Attributes:
        heard: The words that it was begun for.
        recalls: One in each namespace, the speaker's own first.
        versions: The namespaces', when it began.
        running: Its future result.
    """

    heard: str
    recalls: Sequence[Recall]
    versions: Sequence[int]
    running: "Future[Recollection]"

    @property
    def query(self) -> Query:
        """Its query, after the gate."""
        return self.recalls[0].query

    def is_for(self, text: str) -> bool:
        return fingerprint(self.heard) == fingerprint(text)

    def holds(self, query: Query, namespaces: Sequence[Namespace]) -> bool:
        """Return whether its result is also that of a turn's query in the namespaces, as they are.

        Ids excluded since count if an index has them. Nothing that it found may have entered the
        LLM's context meanwhile.
        """
        own, running, present = self.query, self.running, query.exclude_words
        more, moved = present - own.exclude_words, own.exclude ^ query.exclude
        # What its thread has still to do before it stops at its next step.
        failed = running.done() and (running.cancelled() or running.exception() is not None)
        if (
            failed
            or fingerprint(own.text) != fingerprint(query.text)
            or _compared(own) != _compared(query)
            or [recall.namespace for recall in self.recalls] != [*namespaces]
            or [namespace.version for namespace in namespaces] != [*self.versions]
            or query.now - own.now >= timedelta(seconds=KEEP_S)
            or any(memory in namespace.searcher for namespace in namespaces for memory in moved)
            or not own.exclude_words <= present
        ):
            return False
        known = running.result().hits if more and running.done() else ()
        found = {fingerprint(hit.memory.text) for hit in known}
        return not more or (running.done() and found.isdisjoint(more))

    def abandon(self) -> None:
        """Stop it at its next step; its result is not needed."""
        abandon(self.recalls)
        self.running.cancel()


_compared = attrgetter("scope", "also", "local", "k", "called", "dialogue", "need.asks")


class Prefetch:
    """The running recall for the turn that is being spoken, if any.

    Attributes:
        warmup: Keeps warm what the turn's own recall will need.
    """

    def __init__(
        self,
        begin: Callable[[str], Attempt | None],
        options: PrefetchOptions,
        loop: asyncio.AbstractEventLoop,
        touch: Touch = lambda: None,
    ) -> None:
        """Start without a recall.

        Args:
            begin: Begins one for a turn's words, without blocking.
            loop: All calls come from this event loop.
            touch: Warms up what the next recall needs; see ``Warmup``.
        """
        self.warmup = Warmup(touch, loop)
        self._begin, self._options, self._loop = begin, options, loop
        self._attempt: Attempt | None = None
        self._waiting = ""  # words that came too soon after the last recall
        self._again: asyncio.TimerHandle | None = None
        self._end: asyncio.TimerHandle | None = None
        self._began = float("-inf")

    def hear(self, text: str, *, whole: bool = False) -> None:
        """Begin a recall for the words of a turn so far, now or when ``every_ms`` has passed.

        Args:
            text: All of the turn's words so far.
            whole: STT will not change them: the recall begins at once.
        """
        if not self._options.enabled:
            return
        words = fingerprint(text)
        if self._attempt and self._attempt.is_for(text):
            self._clear_waiting()
            return
        if not words or not whole and _count(words) < self._options.min_words:
            return
        self._waiting = text
        pause = self._began + self._options.every_ms / 1e3 - self._loop.time()
        if whole or pause <= 0:
            self._go()
        elif self._again is None:
            self._again = self._loop.call_later(pause, self._go)

    def take(self) -> Attempt | None:
        """Return and drop the newest recall, running or done; what follows is a new turn."""
        attempt, self._attempt = self._attempt, None
        self.warmup.stop()
        self.drop()
        return attempt

    def drop(self) -> None:
        """Abandon the recall and drop its words."""
        self._clear_waiting()
        if self._end:
            self._end.cancel()
            self._end = None
        if self._attempt:
            self._attempt.abandon()
            self._attempt = None

    def _go(self) -> None:
        text = self._waiting
        self.drop()
        self._began = self._loop.time()
        self._attempt = self._begin(text)
        self.warmup.warmed()
        self._end = self._loop.call_later(KEEP_S, self.drop)

    def _clear_waiting(self) -> None:
        self._waiting = ""
        if self._again:
            self._again.cancel()
            self._again = None


class Warmup:
    """Keeps warm what the next recall touches, from the first sound of a voice until its turn comes.

    After a pause a recall takes half as long again, in every step alike: model, index, pages and the
    code itself have left the processor's caches, or memory. So while somebody speaks, a recall whose
    result is thrown away runs now and then, at most for ``SHARE`` of one core; once when they fall
    silent, because the turn comes now; and while a recogniser works on what they said, which takes
    seconds for one that transcribes whole utterances. Nothing runs when nobody speaks.
    """

    def __init__(self, touch: Touch, loop: asyncio.AbstractEventLoop) -> None:
        """Start silent."""
        self._touch, self._loop = touch, loop
        self._next: asyncio.TimerHandle | None = None
        self._until = float("-inf")  # when to stop, by the loop's clock
        self._not_before = float("-inf")
        self._running: Future[float] | None = None
        self._cost_s = FIRST_S

    @property
    def is_active(self) -> bool:
        """Whether somebody speaks, or their turn is about to come."""
        return self._next is not None

    def speaks(self) -> None:
        """Begin, or go on: somebody speaks."""
        self._until = self._loop.time() + LOST_S
        if self._next is None:
            self._tick()

    def falls_silent(self) -> None:
        """Warm up once more, and go on until the turn comes, or seconds later."""
        if self._next is not None:
            self._until = self._loop.time() + SETTLE_S
            self._not_before = self._loop.time()
            self._tick()

    def warmed(self) -> None:
        """Count a recall that runs by itself: the next one to throw away is due later."""
        self._not_before = self._loop.time() + self._pause_s()

    def stop(self) -> None:
        """End: the turn has come, or the conversation is over."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _tick(self) -> None:
        self.stop()
        now = self._loop.time()
        if now >= self._until:
            return
        last = self._running
        if now >= self._not_before and (last is None or last.done()):
            if last and not last.cancelled() and last.exception() is None:
                self._cost_s = last.result()
            self._running = self._touch()
            self._not_before = now + self._pause_s()
        self._next = self._loop.call_later(max(self._not_before - now, EVERY_S / 4), self._tick)

    def _pause_s(self) -> float:
        return max(EVERY_S, self._cost_s / SHARE)


def _count(words: str) -> int:
    """Count words, also in a script without spaces between them."""
    return max(len(words.split()), 0 if words.isascii() else len(words) // 2)


def overlap(text: str, other: str) -> float:
    """Return the share of the longer text's words that two texts have in common: 0 to 1."""
    words, others = set(fingerprint(text).split()), set(fingerprint(other).split())
    return len(words & others) / max(len(words), len(others), 1)


# ------------------------------------------------------------------- before the first turn
# Compiled patterns and read weights: made when they are first used, so that no command, child
# process or other language pays for them. A conversation makes them as it begins, in the
# background: a turn that made them itself would take 20 to 100 ms longer.


@cache
def compile_patterns(language: str, agent_name: str) -> None:
    """Compile the patterns that every turn is matched with; once in a process."""
    from slowcat_memory.core.extraction.stated import compile_rules

    grammar.prepare(language, (agent_name,))
    for known in LANGUAGES:  # a turn is searched for orders in every language
        _ = known.orders.compiled
    compile_rules(language)
    number_of("none")  # looked for in every request
    compile_lazy_patterns()


def rehearsed(language: str) -> tuple[str, ...]:
    """Return questions that use every table that recall makes when it is first needed.

    For a fact, with a name that nobody has; for a day; for somebody else; for an overview.
    """
    return _REHEARSED.get(language, _REHEARSED["english"])


_REHEARSED = {
    "english": (
        "What is the name of Saoirse's dog?",
        "What did I do yesterday at three?",
        "Where did Wojciech work before he moved, and when is his next appointment?",
        "What have we talked about lately?",
    ),
    "german": (
        "Wie heißt der Hund von Saoirse?",
        "Was habe ich gestern um drei gemacht?",
        "Wo hat Wojciech vor dem Umzug gearbeitet, und wann ist sein nächster Termin?",
        "Worüber haben wir in letzter Zeit gesprochen?",
    ),
}


@cache
def collect_garbage() -> None:
    """Run a full collection, once in a process: 20 to 70 ms that would stop a turn otherwise.

    All that was imported and opened counts as new objects until then, so the next full collection
    would come within the first turns. Afterwards it comes when a quarter more has been made. The
    objects are not frozen: they are the application's too, and what it drops must be freed.
    """
    gc.collect()
