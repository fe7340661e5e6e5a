"""Forgetting: for good, in every file and cache; at once, or when what is hidden falls due."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain, takewhile

from msgspec.structs import replace

from slowcat_memory.core.retention import retention
from slowcat_memory.engine.wiring import Parts
from slowcat_memory.records import Forget, Forgotten
from slowcat_memory.runtime.conversation.audience import expired


class Forgetting(Parts):
    """Erases."""

    def forget(self, what: Forget) -> Forgotten:
        """Delete for good: turns, what was derived from them, index entries, caches. Blocks.

        Args:
            what: Which.

        Returns:
            What is gone.
        """
        self._indexer.release()
        gone = self.store.forget(what, erase=False)  # which may take long: out of the ears first
        scopes = {scope for scope, _ in gone.memories}
        self._forget_queries()
        for scope in scopes:
            self._namespaces.forget(scope, (id_ for s, id_ in gone.memories if s == scope))
            self._indexer.reload(scope)
        return replace(gone, erased=self.store.erase())

    def forget_queries(self) -> None:
        """Drop what recalls leave in caches, once those that run are done. Does not wait."""
        self._indexer.talk.submit(self._forget_queries)

    def _forget_queries(self) -> None:
        """Drop the vectors of queries, and their words."""
        self._embedding.forget()
        self._tokenizer.forget()
        for namespace in self._namespaces:
            namespace.searcher.forget_query()

    def erase_guests(self) -> Forgotten:
        """Erase what guests said longer ago than it is kept. Blocks; cheap when there is nothing.

        Returns:
            What is gone.
        """
        what = self._guests_expired()
        return self.forget(what) if what else Forgotten(erased=True)

    def expired(self) -> bool:
        """Tell whether anything is older than it may become.

        Returns:
            Whether ``erase_expired`` would erase any.
        """
        return self._guests_expired() is not None or bool(next(self._turns_expired(), None))

    def erase_expired(self) -> tuple[int, ...]:
        """Erase that. Blocks; cheap when there is nothing.

        Returns:
            Log ids of the turns that are gone.
        """
        gone = self.erase_guests().turns
        for what in list(self._turns_expired()):
            gone += self.forget(what).turns
        return gone

    def _guests_expired(self) -> Forget | None:
        what = expired(self.config.people, self.clock())
        with self.store.snapshot() as snapshot:
            oldest = next(snapshot.turns(self._guest), None) if self._guest else None
        return what if oldest and what.until and oldest.at < what.until else None

    def _turns_expired(self) -> Iterator[Forget]:
        """Say what of known people has been kept for long enough, scope by scope."""
        now, options = self.clock(), self.config.retention
        if not options.raw_days:
            return
        before = now - timedelta(days=options.raw_days)
        with self.store.snapshot() as snapshot:
            for scope in snapshot.scopes():
                old = takewhile(lambda turn: turn.at < before, snapshot.turns(scope))
                if first := next(old, None):
                    turns = chain((first,), old)
                    ids = tuple(retention.due(turns, snapshot.memories(scope), now, options))
                    if ids:
                        yield Forget(scope=scope, turns=ids)

    def erase_due(self) -> int:
        """Erase what voice commands have hidden and can no longer undo. Blocks.

        Runs by itself when the store is opened, and in idle time or else when a session ends.

        Returns:
            How many commands were finished.
        """
        with self.undo_log.due() as due:
            for what in chain.from_iterable(due.values()):
                self.forget(what)
        return len(due)
