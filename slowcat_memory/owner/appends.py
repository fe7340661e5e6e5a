"""Where events go: to this process's engine, to the owner of the store, or into the ``Backlog``.

What waits is appended in order, and once, by whoever owns the store next.
"""

import threading
from collections.abc import Sequence
from contextlib import suppress

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import StoreClosedError, StoreError, StoreFullError
from slowcat_memory.owner.backlog import Backlog, Entry, ProvisionalAck
from slowcat_memory.owner.client import RemoteMemory
from slowcat_memory.owner.serving.intake import saved_before
from slowcat_memory.records import Cursor, Event
from slowcat_memory.store import Ack

FULL_PAUSE_S = 0.25  # between tries while too much waits to be saved


class Appends:
    """Appends events wherever they belong at the moment. Safe to use from any thread.

    Attributes:
        engine: The engine; None unless this process owns the store, and has appended what waited.
        remote: The owner's memory; None unless this process is its client.
        reader: An engine that only reads, while neither can be had.
        backlog: What waits.
    """

    def __init__(self, limit: int) -> None:
        """Queue everything; ``limit`` is how many events may wait."""
        self.engine: MemoryEngine | None = None
        self.remote: RemoteMemory | None = None
        self.reader: MemoryEngine | None = None
        self.backlog = Backlog(limit)
        self._lock = threading.Lock()  # of the order of appends; never held long

    # ---------------------------------------------------------------- whoever owns the store

    def hand_over(self, engine: MemoryEngine, stop: threading.Event) -> None:
        """Append what waits to an engine, in order; what is said from now on goes to it.

        An earlier owner may have saved a part without this process knowing.

        Args:
            stop: Set when it is no longer worth waiting until the engine takes more.

        Raises:
            StoreFullError: It takes no more.
            StoreClosedError: It was closed meanwhile.
        """
        with engine.snapshot() as snapshot:
            highest, first = saved_before(snapshot, self.backlog.client)
        while True:
            with self._lock:
                pending = self.backlog.pending()
                if not pending:
                    self.engine = engine
                    return
            for entry in pending:
                if entry.counter in first:
                    self.backlog.number(entry.counter, first[entry.counter])
                    self.backlog.settle(entry.counter)
                elif entry.counter <= highest:
                    self.backlog.settle(entry.counter, StoreError("this could not be saved"))
                else:
                    self._append_entry(engine, entry, stop)

    def _append_entry(self, engine: MemoryEngine, entry: Entry, stop: threading.Event) -> None:
        """Append an entry; one that is impossible fails alone."""
        try:
            ack = self._append_when_possible(engine, entry, stop)
        except (StoreClosedError, StoreFullError):
            raise
        except Exception as error:
            self.backlog.settle(entry.counter, error)
        else:
            self.backlog.number(entry.counter, ack.id)
            self.backlog.hand_over(entry.counter, ack)

    def _append_when_possible(
        self, engine: MemoryEngine, entry: Entry, stop: threading.Event
    ) -> Ack:
        events = self._logged(entry.events)
        while True:
            try:
                return engine.append_all(events, entry.cursor)[0]
            except StoreFullError:
                if stop.wait(FULL_PAUSE_S):
                    raise

    def send_to(self, remote: RemoteMemory) -> None:
        """Send what waits to an owner; what is said from now on goes to it."""
        with self._lock:
            self.remote = remote
            for entry in self.backlog.pending():
                remote.send(entry, again=True)

    def take_engine(self) -> MemoryEngine | None:
        """Return the engine, which gets nothing from now on."""
        with self._lock:
            engine, self.engine = self.engine, None
        return engine

    def drop_remote(self) -> None:
        """Send nothing to the owner from now on."""
        with self._lock:
            self.remote = None

    def close_after_fork(self, error: StoreError) -> None:
        """Refuse every event in a forked child; what is open is the parent's."""
        self.engine = self.remote = self.reader = None
        self._lock = threading.Lock()  # another thread of the parent may have held it
        self.backlog.close_after_fork(error)

    # ---------------------------------------------------------------- events

    def append(self, event: Event) -> Ack:
        """Append an event, or queue it. Neither blocks nor raises for want of an owner."""
        if (engine := self.engine) is not None:
            try:
                return self._receipt(engine.append(*self._logged((event,))))
            except StoreClosedError:
                if self.engine is engine:
                    raise  # it was not taken away just now
        with self._lock:
            if self.engine is None:
                entry = self.backlog.add((event,))
                self._send(entry)
                return self.backlog.acks(entry)[0]
        return self.append(event)

    def append_all(self, events: Sequence[Event], cursor: Cursor | None) -> list[Ack]:
        """Append in one transaction; see ``append``.

        Raises:
            StoreFullError: Too much waits.
        """
        if (engine := self.engine) is not None:
            try:
                acks = engine.append_all(self._logged(events), cursor)
                return list(map(self._receipt, acks))
            except StoreClosedError:
                if self.engine is engine:
                    raise
        with self._lock:
            if self.engine is None:
                entry = self.backlog.add(events, cursor, bulk=True)
                self._send(entry)
                return self.backlog.acks(entry)
        return self.append_all(events, cursor)

    def _logged(self, events: Sequence[Event]) -> list[Event]:
        return list(map(self.backlog.numbers.logged_event, events))

    def _receipt(self, ack: Ack) -> Ack:
        """Return a receipt that can name a turn which waited; see ``Ack.logged``."""
        if not self.backlog:
            return ack
        return ProvisionalAck(ack.future, ack.event, numbers=self.backlog.numbers)

    def _send(self, entry: Entry) -> None:
        if self.remote is not None:
            self.remote.send(entry)
        elif (reader := self.reader) is not None:
            with suppress(Exception):  # it is being closed, or its index cannot be loaded
                reader.wiring.indexer.add(self.backlog.acks(entry), embed=False)
