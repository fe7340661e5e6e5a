"""What an owner accepts from one client: each append once, also when it is sent again.

A client sends again what it has not seen acknowledged, to this owner or to the next one. The counter
of an append, and the first id of its events, are written into the store in the same transaction as
the events, in a cursor of that client; so an owner that takes over knows what was saved before. The
cursor lists only what the client may still send again.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import StoreError
from slowcat_memory.owner.numbers import Numbers
from slowcat_memory.owner.protocol.messages import Append
from slowcat_memory.records import Cursor, Event
from slowcat_memory.store import Snapshot, new_future

PREFIX = "client/"  # of the names of cursors

Accepted = tuple[int, "Future[None]"]  # the first event's id, and when it is durable


def saved_before(snapshot: Snapshot, client: str) -> tuple[int, dict[int, int]]:
    """Return the highest counter of a client that was saved, and the first ids by counter.

    A counter whose events could not be saved has an id in the cursor, and no row.
    """
    cursor = snapshot.cursor(PREFIX + client)
    if cursor is None:
        return 0, {}
    pairs = (pair.partition(":") for pair in cursor.note.split())
    ids = {int(counter): int(first) for counter, _, first in pairs}
    there = {n: id_ for n, id_ in ids.items() if any(snapshot.events("", id_ - 1, id_))}
    return cursor.position, there


class Intake:
    """One client's appends. All calls come from one thread.

    Attributes:
        numbers: The ids that its events got.
    """

    def __init__(self, engine: MemoryEngine, client: str) -> None:
        """Read what an earlier owner saved."""
        self.numbers = Numbers()
        self._engine, self._name = engine, PREFIX + client
        with engine.snapshot() as snapshot:
            self._highest, first = saved_before(snapshot, client)
        done = new_future()
        done.set_result(None)
        self._accepted: dict[int, Accepted] = {n: (id_, done) for n, id_ in first.items()}

    def accept(self, sent: Append) -> Accepted:
        """Append events, unless that was done before.

        Raises:
            SlowcatError: They cannot be appended, or could not be.
            ValueError: Likewise.
        """
        for counter in [n for n in self._accepted if n < sent.floor]:
            del self._accepted[counter]
        if found := self._accepted.get(sent.counter):
            self.numbers.record(sent.events, found[0])
            return found
        if sent.counter <= self._highest:
            raise StoreError("this could not be saved, or was saved long ago")
        self._highest = sent.counter
        accepted = self._accepted[sent.counter] = self._append(sent)
        self.numbers.record(sent.events, accepted[0])
        return accepted

    def _append(self, sent: Append) -> Accepted:
        events = list(map(self.numbers.logged_event, sent.events))
        receipt = self._receipt_of(sent.counter)
        log = self._engine.log
        if sent.bulk or len(events) != 1:
            ack = log.append_all(events, sent.cursor, receipt=receipt)[0]
        else:
            ack = log.append(events[0], receipt=receipt)
        return ack.id, ack.future

    def _receipt_of(self, counter: int) -> Callable[[Sequence[Event]], Cursor]:
        before = " ".join(f"{n}:{first}" for n, (first, _) in self._accepted.items())

        def receipt(numbered: Sequence[Event]) -> Cursor:
            note = f"{before} {counter}:{numbered[0].id}"
            return Cursor(name=self._name, position=counter, note=note)

        return receipt
