"""Whether a memory can be read and saved, and who is notified.

The activities and callbacks of a memory's users outlive the engine that it is opened with.
"""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from loguru import logger

from slowcat_memory.errors import SlowcatError, describe_error
from slowcat_memory.idle.events import OnMemory
from slowcat_memory.idle.scheduler.idle_gate import IdleGate

OnTrouble = Callable[[SlowcatError], object]
OnBack = Callable[[], object]


def fresh(error: SlowcatError) -> SlowcatError:
    """Return an equal error without a traceback, to be raised in place of one that is kept.

    Each raise appends to a traceback, whose frames keep alive what was said in them.
    """
    copy = type(error).__new__(type(error), *error.args)
    vars(copy).update(vars(error))
    return copy


class Availability:
    """Reports each trouble once, and once that it is over. Safe to use from any thread.

    Listeners are called on the thread that reports, and must return at once.

    Attributes:
        trouble: Why the memory cannot be saved now; None while it can.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[tuple[OnTrouble, OnBack]] = []
        self.trouble: SlowcatError | None = None
        self._notices: list[SlowcatError] = []  # for the first listener

    def subscribe(self, on_trouble: OnTrouble, on_back: OnBack) -> Callable[[], None]:
        """Register callbacks; a trouble that lasts is reported at once.

        Returns:
            Ends the subscription.
        """
        listener = on_trouble, on_back
        with self._lock:
            self._listeners.append(listener)
            reports, self._notices = self._notices, []
            if self.trouble:
                reports.append(self.trouble)
        for error in reports:
            _tell((listener,), error)

        def end() -> None:
            with self._lock, suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def fail(self, error: SlowcatError) -> None:
        """Report a trouble, unless one lasts already."""
        error = fresh(error)  # it is kept
        with self._lock:
            if self.trouble:
                return
            self.trouble, listeners = error, tuple(self._listeners)
        _tell(listeners, error)

    def recover(self) -> None:
        """Report that the trouble is over, if there was one."""
        with self._lock:
            trouble, self.trouble = self.trouble, None
        if trouble is not None:
            self.announce()

    def announce(self) -> None:
        """Report that a memory has joined a conversation that began without it."""
        with self._lock:
            listeners = () if self.trouble else tuple(self._listeners)
        _tell(listeners)

    def report(self, error: SlowcatError) -> None:
        """Report something that the application must know and that is over already."""
        with self._lock:
            listeners = tuple(self._listeners)
            if not listeners:
                self._notices.append(error)
        _tell(listeners, error)


def _tell(
    listeners: Iterable[tuple[OnTrouble, OnBack]], trouble: SlowcatError | None = None
) -> None:
    for on_trouble, on_back in listeners:
        try:
            on_trouble(trouble) if trouble else on_back()
        except Exception as error:  # the application's code
            logger.error(f"memory: a listener failed: {describe_error(error)}")


@dataclass(frozen=True)
class Callers:
    """The activities and callbacks of a memory's users.

    Attributes:
        gate: Of idle work; closed while any of them talks or recalls.
        on_pause: Called when idle work pauses.
        on_event: Called with every event.
    """

    gate: IdleGate
    on_pause: list[Callable[[], object]] = field(default_factory=list)
    on_event: list[OnMemory] = field(default_factory=list)
