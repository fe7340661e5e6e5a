"""The memory engine: wires the rooms, and is all that the doors know of them.

The event loop only waits for a recall, at most until its deadline, and never for a write: durable
writes belong to the store's thread, everything else to the two workers of ``runtime.indexer``.
"""

import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from slowcat_memory.config import Config
from slowcat_memory.engine.idle import Thinking
from slowcat_memory.engine.inspect import Looking
from slowcat_memory.engine.knowing import Knowing
from slowcat_memory.engine.log import Saying
from slowcat_memory.engine.notes import Keeping
from slowcat_memory.engine.recall import Asking
from slowcat_memory.engine.search import Searching
from slowcat_memory.errors import StoreError
from slowcat_memory.idle.events import OnMemory
from slowcat_memory.idle.forecast import Forecast
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.providers import LLM, QueryEmbedder
from slowcat_memory.records import SessionEdge, WriteBatch
from slowcat_memory.runtime.namespaces.indexer import CLOSE_S
from slowcat_memory.runtime.recall.query import Query
from slowcat_memory.store import Store

_shared: dict[Path, "tuple[MemoryEngine, int]"] = {}
_shared_lock = threading.Lock()


class MemoryEngine(Saying, Keeping, Asking, Searching, Looking, Knowing):
    """One store, its indexes and its embedder; shareable by many processors of one process."""

    def __init__(
        self,
        config: Config,
        *,
        readonly: bool = False,
        on_trouble: Callable[[StoreError], None] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        embedder: QueryEmbedder | None = None,
        llm: LLM | None = None,
    ) -> None:
        """Open the store, and the embedder if its model is at hand.

        Takes up to a second, more after an unclean stop: call it from a thread.

        Args:
            config: The configuration.
            readonly: Only read, beside a process that writes.
            on_trouble: Told once when the store cannot save, and why.
            clock: The time, aware; for tests.
            embedder: Used for queries and documents, instead of the configured model.
            llm: Thinks instead of the configured one: a scripted one, or recorded answers.

        Raises:
            StoreError: The store cannot be opened.
            ConfigError: The time zone does not exist, or a server's URL is malformed.
            EndpointRefusedError: A server is not on this machine, and that is not allowed.
        """
        super().__init__(config, readonly, on_trouble, clock, embedder)
        self._thinking = Thinking(
            self._idle_parts(llm), config.idle, config.thinking, self.metrics, self._indexer.take
        )
        if not readonly:
            self._close_orphans()
            self._indexer.later(self.erase_due)
            self._indexer.later(self.erase_expired)
            if self._embedding.needs_export:
                self._indexer.later(self._export)
            if config.idle.enabled:
                self._thinking.start()

    @property
    def gate(self) -> IdleGate:
        """When may be thought: told by whoever knows what goes on in a conversation."""
        return self._thinking.gate

    def on_burst_end(self, tell: Callable[[], object]) -> Callable[[], None]:
        """Have somebody told each time that thinking pauses: nothing is due, or somebody speaks.

        Args:
            tell: Called on the idle thread; returns at once.

        Returns:
            Ends that.
        """
        return self._thinking.on_burst_end(tell)

    def on_memory(self, tell: OnMemory) -> Callable[[], None]:
        """Have somebody told of memories that idle work creates, updates or retires.

        Args:
            tell: Called on the idle thread; returns at once.

        Returns:
            Ends that.
        """
        return self._thinking.listen(tell)

    def idle_until_done(
        self,
        jobs: Sequence[str] | None = None,
        progress: Callable[[Forecast], object] | None = None,
    ) -> int:
        """Do all idle work that is due, once nobody speaks. Blocks.

        Args:
            jobs: Names of the only jobs to do; None for every one.
            progress: Told twice a second.

        Returns:
            How many tasks are left.

        Raises:
            StoreError: The store is only read.
            KeyError: There is no such job.
        """
        if self.readonly:
            raise StoreError("nothing is thought in a store that is only read")
        return self._thinking.until_done(jobs, progress)

    def thinking_over(
        self,
        store: Store,
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[object]],
    ) -> Thinking:
        """Think over another store, by another clock, as this engine would; see ``Thinking.over``.

        Args:
            store: What jobs read and write.
            clock: The time there.
            sleep: Waits there.

        Returns:
            What thinks when it is told to.
        """
        return self._thinking.over(store, clock, sleep)

    def adopt(self, job: str, batch: WriteBatch) -> None:
        """Write what was derived elsewhere, in one transaction, and take it into the indexes. Blocks.

        Args:
            job: Who made it.
            batch: What changes.

        Raises:
            StoreError: It cannot be saved.
        """
        self.store.apply(job, batch).wait(None)
        self._indexer.take(batch)

    @classmethod
    def acquire(
        cls, config: Config, on_trouble: Callable[[StoreError], None] | None = None
    ) -> "MemoryEngine":
        """Share the engine of a store among the processors of this process.

        Args:
            config: The configuration; that of the first to come counts.
            on_trouble: As in the constructor; that of the first to come counts.

        Returns:
            The engine; give it back with ``release``.

        Raises:
            StoreError: The store cannot be opened.
        """
        key = config.folder.absolute()
        with _shared_lock:
            engine, users = _shared.get(key, (None, 0))
            engine = engine or cls(config, on_trouble=on_trouble)
            _shared[key] = (engine, users + 1)
            return engine

    def release(self) -> None:
        """Give a shared engine back; the last one closes it."""
        key = self.config.folder.absolute()
        with _shared_lock:
            engine, users = _shared.get(key, (self, 1))
            if users > 1:
                _shared[key] = (engine, users - 1)
                return
            _shared.pop(key, None)
        self.close()

    def close(self) -> None:
        """Save what waits, and close. Takes a few seconds at most; may be called twice."""
        self._thinking.stop()
        self._page_cache.stop()
        self._indexer.close()
        self.store.close()

    def rest(self) -> None:
        """Give back what is mapped of files if it is too much, as after a while without recalls."""
        self._page_cache.trim()

    def drain(self) -> None:
        """Wait until what was said so far is indexed and embedded. Blocks; the store need not be."""
        self._indexer.drain()

    def prepare(self, scope: str) -> None:
        """Load a scope's index, so that its first recall is as fast as the others. Blocks.

        Args:
            scope: The scope.

        Raises:
            ConfigError: That is not a scope's name, or it is the guests'.
        """
        namespace = self._namespaces.get(scope)
        namespace.wait_vectors()
        namespace.local_only()
        if self._embedding.query is not None:
            self._embedding.query("warm up")
        self._retrieval.run(Query(text="warm up", scope=scope, now=self.clock(), k=1))
        namespace.searcher.warm()
        if not self.readonly:
            self._indexer.later(self._vectors.draft_missing, scope, self._indexer.closing)
            if namespace.seal_due():
                self._indexer.later(namespace.reseal)

    def _close_orphans(self) -> None:
        """End the sessions that a crash left open, at their last word."""
        with self.store.snapshot() as snapshot:
            orphans = snapshot.unended()
        for session in orphans:
            self.store.append(
                SessionEdge(
                    session=session.id,
                    scope=session.scope,
                    kind="end",
                    at=session.last,
                    reason="crash",
                )
            )
        if orphans:
            self.store.flush(CLOSE_S)  # who looks for the latest session must see it ended
