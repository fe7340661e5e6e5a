"""Indexes logged turns and stored memories, in order, on threads of its own.

Two workers. Recall and every change of an index run on the first (``talk``), so that every later
query finds a turn. Embedding of new turns and rebuilding run on the second (``back``), so that they
never delay a recall. Two more only recall: one ahead of a turn (``ahead``), one for a turn that is
out of time and cannot wait for the first (``late``). What the last one recalls is thrown away: it
keeps the rest warm (``warm``).
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar
from weakref import ref

from loguru import logger

from slowcat_memory.core.memory import chunk_id, findable
from slowcat_memory.errors import describe_error
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import Memory, Turn, WriteBatch
from slowcat_memory.runtime.namespaces.documents import split_by_scope
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.runtime.namespaces.vectors import DocumentVectors
from slowcat_memory.store import Ack

T = TypeVar("T")
CLOSE_S = 2.0  # how long each worker may finish its work at the end


class Worker(ThreadPoolExecutor):
    """One thread, which does its work in order."""

    def __init__(self, name: str) -> None:
        """Start without work; ``name`` is the beginning of the thread's."""
        super().__init__(1, name)
        self._last: Callable[[], Future[Any] | None] = lambda: None

    def submit(self, work: Callable[..., T], /, *arguments: Any, **more: Any) -> "Future[T]":
        """Queue work; see ``Executor.submit``."""
        made = super().submit(work, *arguments, **more)
        self._last = ref(made)  # its result may be forgotten meanwhile
        return made

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued or running, as of the calls of ``submit`` by this thread."""
        return (last := self._last()) is None or last.done()


class Indexer:
    """Passes turns and memories to the indexes."""

    def __init__(self, namespaces: Namespaces, vectors: DocumentVectors, metrics: Metrics) -> None:
        self._namespaces, self._vectors = namespaces, vectors
        self._metrics = metrics
        self._waiting: deque[tuple[Turn, Ack, bool]] = deque()  # see ``release``
        self.closing = vectors.closing
        self.talk = Worker("slowcat-recall")
        self.back = Worker("slowcat-embed")
        self.ahead = Worker("slowcat-ahead")
        self.late = Worker("slowcat-late")
        self.warm = Worker("slowcat-warm")

    def add(self, acks: Sequence[Ack], *, embed: bool = True) -> None:
        """Queue turns, to be indexed and embedded by ``release``. Does not block.

        Of ``acks`` those of turns count, except a guest's. ``embed`` is False where another process
        makes their vectors.
        """
        self._waiting.extend(
            (ack.event, ack, embed)
            for ack in acks
            if isinstance(ack.event, Turn)
            and not ack.event.aside
            and not self._namespaces.is_guests(ack.event.scope)
        )

    def release(self, but: frozenset[str] = frozenset()) -> None:
        """Index the queued turns, so that every later query finds them.

        A turn is held back until its own recall has been passed to the worker. Indexed, it would
        match itself best, distort normalisation for every other memory, add its terms to its
        neighbours' windows, and be embedded while its recall waits.

        ``but`` are ids of chunks to hold back: those that the current recall excludes.
        """
        ready = []
        while self._waiting and chunk_id(self._waiting[0][0].id) not in but:
            ready.append(self._waiting.popleft())
        if ready:
            self.talk.submit(self._guarded, self._index_turns, ready)

    def _index_turns(self, turns: list[tuple[Turn, Ack, bool]]) -> None:
        unembedded: dict[str, list[str]] = {}
        for turn, ack, embed in turns:
            namespace, memory_id = self._namespaces.get(turn.scope), chunk_id(turn.id)
            if memory_id not in namespace.searcher:  # loading may have read it already
                namespace.add_turn(turn, ack)
            if embed:
                unembedded.setdefault(turn.scope, []).append(memory_id)
        for scope, memory_ids in unembedded.items():
            self.later(self._vectors.embed, scope, memory_ids)

    def put(self, memory: Memory) -> None:
        """Index a stored memory, after the turns that came before. Blocks."""
        self.release()
        self.talk.submit(self._index_memory, memory).result()

    def _index_memory(self, memory: Memory) -> None:
        self._namespaces.get(memory.scope).put_memory(memory)
        if findable(memory):
            self.later(self._vectors.embed, memory.scope, [memory.id])

    def take(self, batch: WriteBatch) -> None:
        """Index a stored batch, in the namespaces that are loaded. Blocks."""
        self.release()
        self.talk.submit(self._index_batch, batch).result()

    def _index_batch(self, batch: WriteBatch) -> None:
        for scope, part in split_by_scope(batch).items():
            if scope in self._namespaces:
                namespace = self._namespaces.get(scope)
                namespace.apply(part)
                if unembedded := namespace.searcher.incomplete([*part.changed, *part.drops]):
                    self.later(self._vectors.embed, scope, unembedded)

    def refresh_local_only(self) -> None:
        """Read again which memories are local-only, in the namespaces that are loaded. Blocks."""
        self.release()
        self.talk.submit(self._refresh_local_only).result()

    def _refresh_local_only(self) -> None:
        for namespace in self._namespaces:
            namespace.refresh_local_only()

    def refresh_muted(self) -> None:
        """Read again which memories are muted, in the namespaces that are loaded. Blocks."""
        self.release()
        self.talk.submit(self._refresh_muted).result()

    def _refresh_muted(self) -> None:
        for namespace in self._namespaces:
            namespace.refresh_muted()

    def reload(self, scope: str) -> None:
        """Load a namespace again from the store, after all turns queued before. Blocks.

        Raises:
            StoreError: Turns wait to be saved: they would be missing.
        """
        self.talk.submit(self._namespaces.reload, scope).result()

    def later(self, work: Callable[..., object], *arguments: Any) -> Future[None] | None:
        """Run slow work on the second worker; its exceptions are logged.

        Returns None when the workers are closing.
        """
        if self.closing.is_set():
            return None
        return self.back.submit(self._guarded, work, *arguments)

    def soon(self, work: Callable[..., None], *arguments: Any) -> None:
        """Run quick work on the first worker, after the current recall; see ``later``."""
        if not self.closing.is_set():
            self.talk.submit(self._guarded, work, *arguments)

    def _guarded(self, work: Callable[..., object], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:  # a worker thread has no caller to raise to
            if not self.closing.is_set():
                self._metrics.count("background_failures")
                name = work.__name__.strip("_")
                hint = getattr(error, "hint", "")  # of our own errors: the remedy
                logger.warning(f"memory: {name} failed: {describe_error(error)} {hint}")

    def catch_up(self) -> None:
        """Wait until everything logged so far is searchable by words. Blocks."""
        self.release()
        self.talk.submit(lambda: None).result()

    def drain(self) -> None:
        """Wait until everything logged so far is indexed and embedded, and all is open. Blocks."""
        self.release()
        for pool in (self.talk, self.back):  # in this order: the first one feeds the second
            pool.submit(lambda: None).result()
        for namespace in self._namespaces:
            namespace.finish_opening()

    def close(self) -> None:
        """Finish the queued work, and stop. Takes a few seconds at most; may be called twice."""
        if not self.closing.is_set():
            # Index first, before closing begins: the last turns are embedded too.
            self.release()
            wait((self.talk.submit(lambda: None),), CLOSE_S)
            self.closing.set()
            self._namespaces.stop()
            wait((self.back.submit(lambda: None),), CLOSE_S)
        self.talk.shutdown(wait=False)
        for pool in (self.back, self.ahead, self.late, self.warm):
            pool.shutdown(wait=False, cancel_futures=True)
