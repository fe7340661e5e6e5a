"""What was logged becomes findable, in order, on threads of its own.

Two workers. Recall and every change of an index run on the first, so that a turn is findable by
whatever is asked after it. Embedding of new turns and rebuilding run on the second, so that they
never stand in the way of a recall. Two more only recall: one ahead of a turn, one for a turn that
is out of time and cannot wait for the first.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from loguru import logger

from slowcat_memory.core.memory.chunk import chunk, chunk_id
from slowcat_memory.core.memory.kinds import findable
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import Memory, Turn, WriteBatch
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.runtime.namespaces.vectors import DocumentVectors
from slowcat_memory.store import Ack

CLOSE_S = 2.0  # how long each worker may finish what it has at the end


class Indexer:
    """Takes turns and memories into the indexes."""

    def __init__(self, namespaces: Namespaces, vectors: DocumentVectors, metrics: Metrics) -> None:
        """Start the workers.

        Args:
            namespaces: The indexes.
            vectors: Makes drafts.
            metrics: Where failures are counted.
        """
        self._namespaces, self._vectors = namespaces, vectors
        self._metrics = metrics
        self._waiting: deque[tuple[Turn, Ack, bool]] = deque()  # see ``release``
        self.closing = threading.Event()
        self.talk = ThreadPoolExecutor(1, "slowcat-recall")
        self.back = ThreadPoolExecutor(1, "slowcat-embed")
        self.ahead = ThreadPoolExecutor(1, "slowcat-ahead")
        self.late = ThreadPoolExecutor(1, "slowcat-late")

    def add(self, acks: Sequence[Ack], *, draft: bool) -> None:
        """Take turns that are to be made findable by ``release``. Neither blocks nor waits.

        Args:
            acks: Of events; those of turns count, but for a guest's.
            draft: Whether to embed them soon; False when bulk embedding follows.
        """
        self._waiting.extend(
            (ack.event, ack, draft)
            for ack in acks
            if isinstance(ack.event, Turn)
            and not ack.event.aside
            and not self._namespaces.is_guests(ack.event.scope)
        )

    def release(self, but: frozenset[str] = frozenset()) -> None:
        """Make turns findable by whatever is asked from now on.

        A turn waits here until its own recall has been handed to the worker, which it would only
        distort. A question matches itself best: its copy would set the scale for every other
        memory, lend its words to its neighbours' windows, and be embedded while its recall waits.

        Args:
            but: Ids of chunks to hold on to: those that the recall at hand excludes.
        """
        ready = []
        while self._waiting and chunk_id(self._waiting[0][0].id) not in but:
            ready.append(self._waiting.popleft())
        if ready:
            self.talk.submit(self._guarded, self._take, ready)

    def put(self, memory: Memory) -> None:
        """Take a stored memory into its index, after the turns that came before. Blocks.

        Args:
            memory: The memory.
        """
        self.release()
        self.talk.submit(self._take_memory, memory).result()

    def take(self, batch: WriteBatch) -> None:
        """Take what was made in idle time into the indexes that are loaded. Blocks.

        Args:
            batch: As it was stored.
        """
        self.release()
        self.talk.submit(self._take_batch, batch).result()

    def put_description(self, scope: str, memory_ids: Sequence[str]) -> None:
        """Take in what was stored about memories: contexts and keys, and the vectors of both. Blocks.

        What has no vector yet gets a draft.

        Args:
            scope: Their namespace.
            memory_ids: Their ids.
        """
        self.release()
        self.talk.submit(self._take_description, scope, memory_ids).result()

    def _take_description(self, scope: str, memory_ids: Sequence[str]) -> None:
        self._namespaces.get(scope).describe(memory_ids)
        self.later(self._vectors.draft, scope, list(memory_ids))

    def _take(self, turns: list[tuple[Turn, Ack, bool]]) -> None:
        for turn, ack, draft in turns:
            namespace = self._namespaces.get(turn.scope)
            if chunk(turn).id not in namespace.searcher:  # the load may have read it already
                namespace.add_turn(turn, ack)
            if draft:
                self.later(self._vectors.draft, turn.scope, [chunk_id(turn.id)])

    def _take_memory(self, memory: Memory) -> None:
        self._namespaces.get(memory.scope).put_memory(memory)
        if findable(memory):
            self.later(self._vectors.draft, memory.scope, [memory.id])

    def _take_batch(self, batch: WriteBatch) -> None:
        """Take a batch into the loaded indexes; one that is loaded later reads it from the store."""
        described = {(context.scope, context.memory): None for context in batch.contexts}
        described |= {(key.scope, key.memory): None for key in batch.keys}
        described |= {(scope, id_.rpartition("?")[0]): None for scope, id_ in batch.drop_keys}
        for scope in {scope for scope, _ in batch.drop if scope in self._namespaces}:
            self._namespaces.get(scope).drop([id_ for at, id_ in batch.drop if at == scope])
        described |= dict.fromkeys(batch.drop)
        for memory in batch.memories:
            described.pop((memory.scope, memory.id), None)
            if memory.scope in self._namespaces:
                self._take_memory(memory)
        for scope in {scope for scope, _ in described if scope in self._namespaces}:
            self._take_description(scope, [id_ for at, id_ in described if at == scope])

    def reload(self, scope: str) -> None:
        """Make a namespace anew from the store, behind the turns that it still takes. Blocks.

        Args:
            scope: The scope.

        Raises:
            StoreError: Turns wait to be saved: they would be missing.
        """
        self.talk.submit(self._namespaces.reload, scope).result()

    def later(self, work: Callable[..., object], *arguments: Any) -> Future[None] | None:
        """Run slow work on the second worker; what it raises is logged, never shown to a turn.

        Args:
            work: The work.
            *arguments: Its arguments.

        Returns:
            Its end; None when the workers are closing.
        """
        if self.closing.is_set():
            return None
        return self.back.submit(self._guarded, work, *arguments)

    def soon(self, work: Callable[..., None], *arguments: Any) -> None:
        """Run quick work on the first worker, behind the recall at hand; see ``later``.

        Args:
            work: The work.
            *arguments: Its arguments.
        """
        if not self.closing.is_set():
            self.talk.submit(self._guarded, work, *arguments)

    def _guarded(self, work: Callable[..., object], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:  # a worker thread has nobody to raise to
            if not self.closing.is_set():
                self._metrics.count("background_failures")
                logger.warning(f"memory: {work.__name__.strip('_')} failed: {type(error).__name__}")

    def catch_up(self) -> None:
        """Wait until what was said so far is findable by its words. Blocks."""
        self.release()
        self.talk.submit(lambda: None).result()

    def drain(self) -> None:
        """Wait until what was said so far is indexed and embedded. Blocks."""
        self.release()
        for pool in (self.talk, self.back):  # in this order: the first one feeds the second
            pool.submit(lambda: None).result()

    def close(self) -> None:
        """Finish what was said, and stop. Takes a few seconds at most; may be called twice."""
        if not self.closing.is_set():
            # Talk first and before closing begins: the last turns are embedded too.
            self.release()
            wait((self.talk.submit(lambda: None),), CLOSE_S)
            self.closing.set()
            self._namespaces.stop()
            wait((self.back.submit(lambda: None),), CLOSE_S)
        self.talk.shutdown(wait=False)
        for pool in (self.back, self.ahead, self.late):
            pool.shutdown(wait=False, cancel_futures=True)
