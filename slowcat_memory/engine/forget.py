"""Permanent deletion: on request, when a hidden memory is due, and when a retention period ends."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain, takewhile

from msgspec.structs import replace

from slowcat_memory.config import Config
from slowcat_memory.core.retention import retention
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.records import Forget, Forgotten
from slowcat_memory.runtime.conversation.audience import expired, guest_scope
from slowcat_memory.store import Snapshot


class Eraser:
    """Deletes turns, what was derived from them, index entries and cached queries. Blocks."""

    def __init__(self, wiring: EngineWiring) -> None:
        self._wiring = wiring

    def forget(self, *orders: Forget) -> Forgotten:
        """Delete what the orders select, with one reload of each index and one rewrite of the file.

        Recall stops finding it before its bytes are erased.
        """
        if not orders:
            return Forgotten(erased=True)
        self._wiring.indexer.release()
        gone = self._wiring.store.forget(orders, erase=False)
        self._drop_queries()
        for scope in {scope for scope, _ in gone.memories}:
            self._wiring.namespaces.forget(scope, (id_ for s, id_ in gone.memories if s == scope))
            self._wiring.indexer.reload(scope)
        return replace(gone, erased=self._wiring.store.erase())

    def preview(self, *orders: Forget) -> Forgotten:
        """Return what ``forget`` would delete from disk; changes nothing."""
        return self._wiring.store.covered(orders)

    def drop_queries(self) -> None:
        """Clear queries from the caches once the running recalls are done. Does not wait."""
        self._wiring.indexer.talk.submit(self._drop_queries)

    def _drop_queries(self) -> None:
        self._wiring.embedding.forget()
        self._wiring.tokenizer.forget()
        for namespace in self._wiring.namespaces:
            namespace.searcher.forget_query()

    def erase_due(self) -> int:
        """Erase in one pass what commands hid and can no longer be undone; return how many."""
        with self._wiring.undo_log.due() as due:
            self.forget(*chain.from_iterable(due.values()))
            return len(due)

    def erase_expired(self) -> tuple[int, ...]:
        """Erase turns of guests and known users past their retention period; return their log ids.

        Cheap if there are none.
        """
        with self._wiring.store.snapshot() as snapshot:
            orders = list(expired_orders(snapshot, self._wiring.config, self._wiring.clock()))
        return self.forget(*orders).turns

    def has_expired(self) -> bool:
        with self._wiring.store.snapshot() as snapshot:
            return has_expired(snapshot, self._wiring.config, self._wiring.clock())


def has_expired(snapshot: Snapshot, config: Config, now: datetime) -> bool:
    """Return whether anything is past its retention period."""
    return next(expired_orders(snapshot, config, now), None) is not None


def expired_orders(snapshot: Snapshot, config: Config, now: datetime) -> Iterator[Forget]:
    """Yield forget orders for what is past its retention period, guests first."""
    guest = guest_scope(config.people)
    order = expired(config.people, now)
    oldest = next(snapshot.turns(guest), None) if guest else None
    if order and oldest and order.until and oldest.at < order.until:
        yield order
    if not config.retention.raw_days:
        return
    before = now - timedelta(days=config.retention.raw_days)
    for scope in snapshot.scopes():
        old = takewhile(lambda turn: turn.at < before, snapshot.turns(scope))
        if first := next(old, None):
            turns = chain((first,), old)
            memories = snapshot.memories(scope)
            if ids := tuple(retention.due(turns, memories, now, config.retention)):
                yield Forget(scope=scope, turns=ids, copies=False)
