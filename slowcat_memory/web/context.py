"""What the page's handlers work with: the memory, whose it may show, and threads to read in."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import count
from typing import Any, TypeVar

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.catalogue import Catalogue
from slowcat_memory.core.disclosure import present_name, renamed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import describe_error
from slowcat_memory.records import Memory as Record
from slowcat_memory.records import Session
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.store import Snapshot
from slowcat_memory.web.replies import Refusal

WINDOW_S = 10.0  # for which an order to forget can be undone
KEPT = 50  # changes that can be taken back


Timer = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls a function after some seconds, and returns what cancels that."""


class Undone(Struct, frozen=True):
    """A change: how it is called, what takes it back, and what completes it, if anything does."""

    words: str
    back: Callable[[], object]
    work: Callable[[], object] | None = None
    cancel: Callable[[], None] = lambda: None  # stops the timer


class Undo:
    """The changes of one page. Safe to use from any thread.

    Attributes:
        window_s: For how long an order to forget can be undone.
    """

    def __init__(self, timer: Timer | None = None, window_s: float = WINDOW_S) -> None:
        """Store the arguments; ``timer`` is for tests."""
        self._timer, self._lock = timer or _timer, threading.Lock()
        self._working = threading.Lock()  # held while an order is carried out
        self.window_s = window_s
        self._numbers = count(1)
        self._done: dict[int, Undone] = {}

    def add(
        self,
        words: str,
        back: Callable[[], object],
        work: Callable[[], object] | None = None,
    ) -> int:
        """Keep what takes a change back; return its number.

        Args:
            work: What completes the change, after ``window_s``.
        """
        with self._lock:
            number, made = next(self._numbers), Undone(words, back, work)
            if work is not None:
                cancel = self._timer(self.window_s, lambda: self._carry_out(number))
                made = replace(made, cancel=cancel)
            self._done[number] = made
            for old in [n for n, one in self._done.items() if one.work is None][:-KEPT]:
                del self._done[old]
        return number

    def back(self, number: int) -> str:
        """Take a change back; return its words.

        Raises:
            Refusal: It is done for good, was taken back before, or never was.
        """
        with self._lock:
            one = self._done.get(number)
        if one is None:
            raise Refusal(410, "That cannot be undone any more.")
        one.back()  # if this fails it can be tried again
        with self._lock:
            self._done.pop(number, None)
        one.cancel()
        return one.words

    def settle(self) -> None:
        """Do at once what waits, and wait for what is being done: the page ends. Blocks."""
        with self._working, self._lock:
            numbers = [number for number, one in self._done.items() if one.work]
        for number in numbers:
            self._carry_out(number)

    def _carry_out(self, number: int) -> None:
        """Do what waits. If it fails, whoever keeps the memory does it: the order is durable."""
        with self._working:
            with self._lock:
                one = self._done.pop(number, None)
            if one is None or one.work is None:
                return
            one.cancel()
            try:
                one.work()
            except Exception as error:
                why = describe_error(error)
                logger.error("the page: hidden, and not yet deleted, which is tried again: {}", why)


def _timer(seconds: float, work: Callable[[], None]) -> Callable[[], None]:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()
    return timer.cancel


T = TypeVar("T")
THREADS = 4  # requests that are answered at once: a browser sends six
STOP_S = 5.0  # that idle work may take to stop when the page ends


class Stopped(Exception):
    """Idle work that the page began is to end."""


Doctor = Callable[[MemoryEngine], Sequence[Any]]
"""Returns the findings of all checks, with the fields that ``views.health.FINDING`` names."""


class PageContext:
    """One page's memory.

    Attributes:
        person: The scope that the page opens with.
        everyone: Whether it may show every person's memory.
        undo: What can be undone, and what is about to be forgotten.
        doctor: Runs the checks of `slowcat-memory doctor`; None when the page has none.
    """

    def __init__(
        self,
        memory: MemoryEngine,
        *,
        person: str,
        everyone: bool = False,
        doctor: Doctor | None = None,
    ) -> None:
        self.memory, self.person, self.doctor = memory, check_scope(person), doctor
        self.everyone = everyone or memory.config.people.scopes == "one"
        self.undo = Undo()
        self._thinking, self._stop = threading.Lock(), threading.Event()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="slowcat-page")
        self._viewing = threading.RLock()
        self._talks: dict[str, tuple[tuple[int, int], list[Session]]] = {}

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        """Do blocking work on a thread of the page's own."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)

    def think(self) -> int | None:
        """Do the idle work that is due; return how much is left, None when it was stopped.

        Raises:
            Refusal: The page is doing it already.
        """
        if not self._thinking.acquire(blocking=False):
            raise Refusal(409, "Idle work is being done already.")
        try:
            self._stop.clear()
            return self.memory.idle.until_done(progress=self._go_on)
        except Stopped:
            return None
        finally:
            self._thinking.release()

    def _go_on(self, _: object) -> None:
        if self._stop.is_set():
            raise Stopped

    def stop_thinking(self) -> None:
        """End the idle work that the page began. Returns at once."""
        self._stop.set()

    def close(self) -> None:
        """Carry out what was to be forgotten, and end what the page began. Blocks."""
        self.undo.settle()
        self.stop_thinking()
        if self._thinking.acquire(timeout=STOP_S):
            self._thinking.release()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def scopes(self, snapshot: Snapshot) -> list[str]:
        """Return whose memories the page may show; guests' only with ``everyone``."""
        if not self.everyone:
            return [self.person]
        return sorted({self.person, *snapshot.scopes()})

    def name(self, scope: str, name: str) -> str:
        """Return the present name of a scope's user for an earlier one; other names stay."""
        return present_name(name, scope, self.memory.reader(scope, local=True).called)

    def present(self, memory: Record) -> Record:
        """Return a memory under the present name of its scope's user."""
        return renamed(memory, self.memory.reader(memory.scope, local=True).called)

    def shows(self, scope: str) -> bool:
        """Return whether the page may show a person's memory; "" stands for work of nobody's."""
        return self.everyone or scope in ("", self.person)

    def scope(self, given: Mapping[str, Any]) -> str:
        """Return the scope that a request names, by default the page's person.

        Raises:
            Refusal: The page may not show it.
        """
        wanted = given.get("scope") or self.person
        if not self.shows(str(wanted)):
            raise Refusal(403, "This page shows one person's memory.")
        return check_scope(str(wanted))

    def catalogue(self, scope: str, snapshot: Snapshot) -> AbstractContextManager[Catalogue]:
        """Lend a scope's catalogue, as new as a snapshot."""
        self.talks(scope, snapshot)  # read at the same time
        return self.memory.catalogue(scope, snapshot)

    def talks(self, scope: str, snapshot: Snapshot) -> list[Session]:
        """Return a scope's conversations, the latest spoken first; read again when one goes on."""
        at = snapshot.forget_epoch(), snapshot.last_id()
        with self._viewing:
            if scope not in self._talks or self._talks[scope][0] != at:
                found = [one for one in snapshot.sessions(scope) if one.turns]
                found.sort(key=lambda one: (one.last, one.id), reverse=True)
                self._talks[scope] = at, found
            return self._talks[scope][1]
