"""Forgetting: for good, in every file and cache; at once, or when what is hidden falls due."""

from msgspec.structs import replace

from slowcat_memory.engine.parts import Parts
from slowcat_memory.records import Forget, Forgotten
from slowcat_memory.runtime.audience import expired


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
        what = expired(self.config.people, self.clock())
        with self.store.snapshot() as snapshot:
            oldest = next(snapshot.turns(self._guest), None) if self._guest else None
        due = oldest is not None and what.until is not None and oldest.at < what.until
        return self.forget(what) if due else Forgotten(erased=True)

    def expired(self) -> bool:
        """Tell whether anything is older than it may become.

        Returns:
            Whether ``erase_expired`` would erase any.
        """
        what = expired(self.config.people, self.clock())
        with self.store.snapshot() as snapshot:
            oldest = next(snapshot.turns(self._guest), None) if self._guest else None
        return oldest is not None and what.until is not None and oldest.at < what.until

    def erase_expired(self) -> Forgotten:
        """Erase that. Blocks; cheap when there is nothing.

        Returns:
            What is gone.
        """
        return self.erase_guests()

    def erase_due(self) -> int:
        """Erase for good what was forgotten by order and can no longer be undone. Blocks.

        Runs by itself when the store is opened, and in idle time or else when a session ends.

        Returns:
            How many orders were finished.
        """
        return self.hiding.erase_due(self.forget)
