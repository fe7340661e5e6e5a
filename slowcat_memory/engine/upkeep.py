"""Slow work that nobody waits for: exact vectors, sealed indexes, tiers. Everything here blocks."""

from collections.abc import Sequence
from itertools import islice

from msgspec.structs import asdict, replace

from slowcat_memory.core.feedback.tuning import tuning_name
from slowcat_memory.engine.forget import Forgetting
from slowcat_memory.idle.context import Parts as IdleParts
from slowcat_memory.idle.jobs.summaries.shared import SUMMING_UP
from slowcat_memory.providers import LLM, DocumentEmbedder
from slowcat_memory.records import Aged, Manifest, WriteBatch
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.runtime.namespaces.vectors import Stop, Told


class Upkeep(Forgetting):
    """Makes and moves what can be made and moved again."""

    def _idle_parts(self, llm: LLM | None = None) -> IdleParts:
        """Gather what idle jobs work with."""
        return IdleParts(
            store=self.store,
            upkeep=self,
            clock=self.clock,
            zone=self.zone,
            language=self.config.memory.language,
            scopes=self._thinkable,
            llm=llm,
            embed=self._vectors.encode,
            space=lambda: self._embedding.space.key,
            token_space=lambda: self._embedding.token_key,
            # A job's section has its name, but that of those that sum up.
            options=asdict(self.config) | dict.fromkeys(SUMMING_UP, self.config.summaries),
        )

    def _thinkable(self) -> list[str]:
        """List the scopes of which anything may be thought: never the guests'."""
        with self.store.snapshot() as snapshot:
            return [scope for scope in snapshot.scopes() if not self._namespaces.is_guests(scope)]

    def _export(self) -> None:
        """Make the model ready, then go over from words alone to words and vectors."""
        if not self._embedding.needs_export:
            return  # asked for twice: at the start, and by ``tidy``
        self._embedding.export()
        for namespace in self._namespaces:
            self._indexer.reload(namespace.scope)
            self._vectors.draft_missing(namespace.scope, self._indexer.closing)

    def unlearn(self, scope: str) -> None:
        """Go back to the usual weights, and let a judge be asked again that was found out. Blocks.

        Weights may be learned again from what was judged; ``fuse.learned`` keeps them unused.

        Args:
            scope: The namespace.

        Raises:
            StoreError: The store cannot be written.
        """
        with self.store.snapshot() as snapshot:
            row = snapshot.cursor(tuning_name(scope))
        if row is not None:
            self.store.apply("tune", WriteBatch(cursor=replace(row, note=""))).wait()
            self._indexer.reload(scope)

    def age(self, scope: str | None = None, stop: Stop = lambda: False) -> Aged:
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
        *,
        stop: Stop | None = None,
    ) -> None:
        """Embed exactly what has no exact vector yet; nothing without a model, nothing of guests.

        Blocks, for minutes.

        Args:
            scope: The scope.
            progress: As in ``tidy``.
            embedder: Of the configured model, and its owner closes it; None opens one for this
                call, which costs seconds.
            stop: Asked between two slices, which are small then; True ends it.

        Raises:
            ProviderError: The document embedder failed; what it finished is kept.
        """
        if self._namespaces.is_guests(scope):
            return
        self._indexer.catch_up()  # an index passes over vectors of what it does not hold yet
        self.store.flush(None)
        self._vectors.embed(scope, progress or _tell_nobody, embedder, stop)

    def embed_due(self, scope: str) -> bool:
        """Tell whether memories wait for exact vectors, or for those of the model in use. Blocks.

        Args:
            scope: The scope.

        Returns:
            Whether ``embed`` would make any.
        """
        return not self._namespaces.is_guests(scope) and self._vectors.due(scope)

    def describe(self, scope: str, memory_ids: Sequence[str]) -> None:
        """Take into the index what was stored about memories: contexts, keys, vectors of both. Blocks.

        Args:
            scope: The scope.
            memory_ids: Their ids; those that are not there are passed over.
        """
        self._indexer.put_description(scope, memory_ids)

    def seal(self, scope: str) -> None:
        """Rebuild a scope's sealed index from the log and the vectors there are. Blocks, for seconds.

        Args:
            scope: The scope.

        Raises:
            IndexDamagedError: The build failed; the present index goes on.
        """
        if not self._namespaces.is_guests(scope):
            self._namespaces.get(scope).reseal()

    def seal_due(self, scope: str) -> bool:
        """Tell whether a scope's sealed index is worth rebuilding. Milliseconds; loads nothing.

        Args:
            scope: The scope.

        Returns:
            True when much was said since, it is damaged, or it lacks vectors that there are.
        """
        if self._namespaces.is_guests(scope):
            return False
        with self.store.snapshot() as snapshot:
            manifest = snapshot.manifest(scope)
            if scope in self._namespaces:
                namespace = self._namespaces.get(scope)
                return namespace.seal_due() or _lacks_vectors(namespace, manifest)
            sealed = manifest.documents if manifest else 0
            said = snapshot.turns(scope, after=manifest.upto if manifest else 0)
            options = self.config.index
            tail = sum(1 for _ in islice(said, options.seal_most + 1))
            return options.seal_due(sealed, tail)


def _lacks_vectors(namespace: Namespace, manifest: Manifest | None) -> bool:
    """Tell whether an index was built with another model, and all vectors of this one are there."""
    if manifest is None or manifest.embedder == namespace.space.key:
        return False
    searcher = namespace.searcher
    return bool(len(searcher.dense)) and not searcher.missing_vectors()


def _tell_nobody(what: str, done: int, total: int) -> None:
    """Stand for a progress that nobody watches."""
