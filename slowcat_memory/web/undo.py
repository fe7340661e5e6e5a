"""What a person did on the page and can take back, and what is forgotten when they do not.

Forgetting is deferred for a few seconds: until then nothing is deleted, and undoing only drops the
order. Everything else is done at once, and undoing it does the opposite.
"""

import threading
from collections.abc import Callable
from itertools import count

from loguru import logger
from msgspec import Struct

from slowcat_memory.errors import describe_error
from slowcat_memory.web.replies import Refusal

WINDOW_S = 10.0  # for which an order to forget waits
KEPT = 50  # changes that can be taken back
TRIES = 5  # to forget: the process that keeps the memory may end meanwhile


Timer = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls a function after some seconds, and returns what cancels that."""


class Undone(Struct, frozen=True):
    """A change: how it is called, what takes it back, and whether it has yet to happen."""

    words: str
    back: Callable[[], object]
    waits: bool = False


class Undo:
    """The changes of one page. Safe to use from any thread.

    Attributes:
        window_s: For how long an order to forget waits.
    """

    def __init__(self, timer: Timer | None = None, window_s: float = WINDOW_S) -> None:
        """Store the arguments; ``timer`` is for tests."""
        self._timer, self._lock = timer or _timer, threading.Lock()
        self._working = threading.Lock()  # held while an order is carried out
        self.window_s = window_s
        self._numbers = count(1)
        self._done: dict[int, Undone] = {}
        self._waiting: dict[int, tuple[Callable[[], object], Callable[[], None]]] = {}

    def add(self, words: str, back: Callable[[], object]) -> int:
        """Keep what takes a change back; return its number."""
        with self._lock:
            number = next(self._numbers)
            self._done[number] = Undone(words, back)
            for old in [n for n, one in self._done.items() if not one.waits][:-KEPT]:
                del self._done[old]
        return number

    def defer(self, words: str, work: Callable[[], object]) -> int:
        """Do something after ``window_s``, unless it is taken back; return its number.

        If it fails it is tried again after as long, ``TRIES`` times in all.
        """
        with self._lock:
            number = next(self._numbers)
            self._done[number] = Undone(words, lambda: None, waits=True)
            self._wait(number, work, TRIES)
        return number

    def _wait(self, number: int, work: Callable[[], object], tries: int) -> None:
        cancel = self._timer(self.window_s, lambda: self._carry_out(number, tries - 1))
        self._waiting[number] = (work, cancel)

    def back(self, number: int) -> str:
        """Take a change back; return its words.

        Raises:
            Refusal: It is done for good, was taken back before, or never was.
        """
        with self._lock:
            one = self._done.pop(number, None)
            _, cancel = self._waiting.pop(number, (None, None))
        if one is None:
            raise Refusal(410, "That cannot be undone any more.")
        if cancel is not None:
            cancel()
        one.back()
        return one.words

    def settle(self) -> None:
        """Do at once what waits, and wait for what is being done: the page ends. Blocks."""
        with self._working, self._lock:
            numbers = list(self._waiting)
        for number in numbers:
            self._carry_out(number)

    def _carry_out(self, number: int, more: int = 0) -> None:
        """Do what waits; if it fails, it waits for one of ``more`` tries."""
        with self._working:
            with self._lock:
                self._done.pop(number, None)
                work, cancel = self._waiting.pop(number, (None, None))
            if work is None or cancel is None:
                return
            cancel()
            try:
                work()
            except Exception as error:
                why = describe_error(error)
                logger.error(f"the page: not forgotten yet; {more} tries follow: {why}")
                if more:
                    with self._lock:
                        self._wait(number, work, more)


def _timer(seconds: float, work: Callable[[], None]) -> Callable[[], None]:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()
    return timer.cancel
