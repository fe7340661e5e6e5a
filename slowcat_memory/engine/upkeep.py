"""Slow work that nobody waits for: exact vectors, sealed indexes, tiers. Everything here blocks."""

from collections.abc import Callable

from slowcat_memory.engine.forgetting import Forgetting
from slowcat_memory.providers import DocumentEmbedder
from slowcat_memory.records import Aged
from slowcat_memory.runtime.documents import Told
from slowcat_memory.runtime.namespaces import check_scope
from slowcat_memory.runtime.silence import Silence


class Upkeep(Forgetting):
    """Makes and moves what can be made and moved again."""

    _silence: Silence

    def _export(self) -> None:
        """Make the model ready, then go over from words alone to words and vectors."""
        if not self._embedding.needs_export:
            return  # asked for twice: at the start, and by ``tidy``
        self._embedding.export()
        for namespace in self._namespaces:
            self._indexer.reload(namespace.scope)
            self._vectors.draft_missing(namespace.scope, self._indexer.closing)

    def _seal_if_due(self, scope: str) -> None:
        if not self._namespaces.is_guests(scope) and self._namespaces.get(scope).seal_due():
            self.seal(scope)

    def age(self, scope: str | None = None, stop: Callable[[], bool] = lambda: False) -> Aged:
        """Move what was said long ago into blocks that take less room. Blocks.

        Nothing that can be found or read changes by it.

        Args:
            scope: The scope; None for every one.
            stop: Asked between two short transactions; True ends it.

        Returns:
            What moved.

        Raises:
            StoreError: The disk is full; what moved until then stays moved.
            ConfigError: That is not a scope's name.
        """
        if scope is None:
            with self.store.snapshot() as snapshot:
                scopes = snapshot.scopes()
        else:
            scopes = [check_scope(scope)]
        hot, options = self.config.memory.hot_cache_size, self.config.tiers
        moved = [
            self.store.age(name, hot=hot, options=options, now=self.clock(), stop=stop)
            for name in scopes
        ]
        return Aged(
            warmed=sum(aged.warmed for aged in moved),
            cooled=sum(aged.cooled for aged in moved),
            trained=sum(aged.trained for aged in moved),
            done=all(aged.done for aged in moved),
        )

    def _age_in_silence(self) -> None:
        """Age everything, until somebody speaks."""
        self.erase_due()
        began = self._silence.since()
        self.age(stop=lambda: self._silence.since() != began or self._indexer.closing.is_set())

    def tidy(self, scope: str, progress: Told | None = None) -> None:
        """Embed what has no exact vector yet, rebuild the sealed index, age. Blocks, for minutes.

        Args:
            scope: The scope.
            progress: Told what is being done, how much is done, and of how much.

        Raises:
            ProviderError: The document embedder failed; what it finished is kept.
        """
        if self._embedding.needs_export:
            self._indexer.back.submit(self._export).result()
        told = progress or _tell_nobody
        self.embed(scope, told)
        told("index", 0, 1)
        self.seal(scope)
        told("index", 1, 1)
        told("tiers", 0, 1)
        self.age(scope)
        self.store.shrink()
        told("tiers", 1, 1)

    def embed(
        self,
        scope: str,
        progress: Told | None = None,
        embedder: DocumentEmbedder | None = None,
    ) -> None:
        """Embed exactly what has no exact vector yet; nothing without a model, nothing of guests.

        Blocks, for minutes.

        Args:
            scope: The scope.
            progress: As in ``tidy``.
            embedder: Of the configured model, and its owner closes it; None opens one for this
                call, which costs seconds.

        Raises:
            ProviderError: The document embedder failed; what it finished is kept.
        """
        if self._namespaces.is_guests(scope):
            return
        self._indexer.catch_up()  # an index passes over vectors of what it does not hold yet
        self.store.flush(None)
        self._vectors.embed(scope, progress or _tell_nobody, embedder)

    def seal(self, scope: str) -> None:
        """Rebuild a scope's sealed index from the log and the vectors there are. Blocks, for seconds.

        Args:
            scope: The scope.

        Raises:
            IndexDamagedError: The build failed; the present index goes on.
        """
        if not self._namespaces.is_guests(scope):
            self._namespaces.get(scope).reseal()


def _tell_nobody(what: str, done: int, total: int) -> None:
    """Stand for a progress that nobody watches."""
