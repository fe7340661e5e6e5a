"""Permanent deletion: on request, when a hidden memory is due, and when a retention period ends."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import chain
from weakref import WeakMethod

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.engine.expiry import Expiry
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.errors import StoreError
from slowcat_memory.records import Forget, Forgotten
from slowcat_memory.runtime.commands.undo_log import is_due

LATE_S = 0.05  # behind the time to undo, so that it is over by any clock
SLICE_S = 0.05  # of the search for what has expired


class Overdue(Struct, frozen=True, kw_only=True):
    """What should be erased by now, and what its age alone would erase.

    Attributes:
        doubted: Why the clock is doubted, so that all this waits; "" if it is believed.
        commands: Commands that can no longer be undone.
        expired: Turns, and guests' notes, past their retention period.
        kept: Turns past it that are kept for a memory made from them.
        kept_since: Date of the oldest of these.
    """

    doubted: str
    commands: int
    expired: int
    kept: int
    kept_since: datetime | None


class Eraser:
    """Deletes turns, what was derived from them, index entries and cached queries. Blocks."""

    def __init__(self, wiring: EngineWiring) -> None:
        self._wiring = wiring
        wiring.undo_log.on_hidden = self._erase_after
        self.expiry = Expiry(wiring.config, wiring.store, wiring.clock, wiring.clock_guard)

    def forget(self, *orders: Forget, keep_backups: bool = False) -> Forgotten:
        """Delete what the orders select, with one reload of each index and one rewrite of the file.

        Recall stops finding it before its rows are deleted and its bytes erased. ``keep_backups``
        rewrites the backups in the store's folder instead of deleting them.
        """
        if not orders:
            return Forgotten(erased=True)
        wiring = self._wiring
        wiring.indexer.release()
        gone = wiring.store.forget(orders, keep_backups=keep_backups, on_hidden=self._unindex)
        for scope in sorted({scope for scope, _ in gone.memories}):
            try:
                wiring.indexer.reload(scope)
            except StoreError as error:
                logger.warning("an index has gaps until the next start: {}", error)
        wiring.events.forgotten(gone)
        return gone

    def _unindex(self, gone: Forgotten) -> None:
        self._wiring.others.forgot()
        self._wiring.forget_queries()
        ids: defaultdict[str, set[str]] = defaultdict(set)
        for scope, memory in gone.memories:
            ids[scope].add(memory)
        for scope, memories in ids.items():
            self._wiring.namespaces.forget(scope, memories)

    def preview(self, *orders: Forget) -> Forgotten:
        """Return what ``forget`` would delete from disk; changes nothing."""
        return self._wiring.store.covered(orders)

    def hide(self, undo_s: float, *orders: Forget) -> Forgotten:
        """Hide what ``forget`` would delete, to be erased later; return once that is durable."""
        covered = self.preview(*orders)
        if not (covered.turns or covered.memories):
            return covered
        what = (), covered.turns, 0, undo_s, covered.memories
        order = self._wiring.undo_log.hide("forget_about", orders[0].scope, *what)
        return replace(covered, order=order)

    def drop_queries(self) -> None:
        """Clear queries from the caches once the running recalls are done. Does not wait."""
        self._wiring.indexer.talk.submit(self._wiring.forget_queries)

    def erase_due(self) -> int:
        """Erase in one pass what commands hid and can no longer be undone; return how many."""
        with self._wiring.undo_log.due() as due:
            self.forget(*chain.from_iterable(due.values()))
            return len(due)

    def _erase_after(self, seconds: float) -> None:
        """Erase what a command hid when it is due; what ends before is erased at the next start."""
        erase = WeakMethod(self._erase_on_worker)  # a closed memory is not kept by its timer
        timer = threading.Timer(seconds + LATE_S, lambda: (now := erase()) and now())
        timer.daemon = True
        timer.start()

    def _erase_on_worker(self) -> None:
        with suppress(RuntimeError):  # it is closed
            self._wiring.indexer.later(self.erase_due)

    def erase_expired(self, stop: Callable[[], bool] = lambda: False) -> tuple[int, ...]:
        """Erase turns of guests and known users past their retention period; return their log ids.

        Cheap if there are none; nothing while the clock is doubted.

        Args:
            stop: Called between slices of the search. True leaves the rest to the next call.
        """
        orders = self.expiry.orders(stop)
        gone = self.forget(*orders).turns
        self.expiry.erased()
        return gone

    def overdue(self) -> Overdue:
        """Return what should be erased by now, if the clock is right, and what is kept."""
        doubted, now = self._wiring.clock_guard.doubt(), self._wiring.clock()
        late = self.expiry.orders(even_doubted=True)
        kept, kept_since = self.expiry.kept()
        with self._wiring.store.snapshot() as snapshot:
            commands = sum(is_due(entry, now) for entry in snapshot.commands())
        return Overdue(
            doubted=doubted,
            commands=commands,
            expired=sum(len(order.turns) + len(order.memories) for order in late),
            kept=kept,
            kept_since=kept_since,
        )

    def erase_soon(self) -> None:
        """Erase what is due and what has expired, on the second worker."""
        self._wiring.indexer.later(self.erase_due)
        self._wiring.indexer.later(self._erase_expired)

    def _erase_expired(self) -> None:
        """Search in slices, between which the worker does what else is queued."""
        until = time.monotonic() + SLICE_S
        self.erase_expired(lambda: time.monotonic() > until)
        if self.has_expired():
            self._wiring.indexer.later(self._erase_expired)

    def has_expired(self) -> bool:
        """Return whether ``erase_expired`` has anything to read or to erase. Milliseconds."""
        return self.expiry.any_due()
