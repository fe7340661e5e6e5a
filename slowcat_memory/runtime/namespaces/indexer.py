"""Indexes logged turns and stored memories, in order, on threads of its own.

Two workers. Recall and every change of an index run on the first (``talk``), so that every later
query finds a turn; many turns are indexed in slices, between which recalls run. Embedding of new
turns and rebuilding run on the second (``back``), so that they never delay a recall. Indexes are
loaded on threads of their own (``opener``): what changes meanwhile is applied afterwards. Two
workers only recall: one ahead of a turn (``ahead``), one for a turn that is out of time and cannot
wait for the first (``late``). What the last one recalls is thrown away: it keeps the rest warm
(``warm``).
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from operator import methodcaller
from typing import Any, TypeVar
from weakref import ref

from loguru import logger

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.errors import describe_error
from slowcat_memory.metrics import Metrics
from slowcat_memory.records import Memory, Turn, WriteBatch
from slowcat_memory.runtime.namespaces.documents import changed_by_scope
from slowcat_memory.runtime.namespaces.embedding import DocumentVectors
from slowcat_memory.runtime.namespaces.namespace import Namespace
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.store import Ack

T = TypeVar("T")
Change = Callable[[Namespace], None]
Logged = tuple[Turn, Ack | None]
"""A turn and its receipt; None for one of another process, which makes its vector."""
SLICE = 8  # turns or memories that are indexed before a recall may run: 3 ms
CLOSE_S = 2.0  # how long each worker may finish its work at the end


class SerialExecutor(ThreadPoolExecutor):
    """One thread, which does its work in order."""

    def __init__(self, name: str) -> None:
        """Start without work; ``name`` is the beginning of the thread's."""
        super().__init__(1, name)
        self._last: Callable[[], Future[Any] | None] = lambda: None

    def submit(self, work: Callable[..., T], /, *arguments: Any, **more: Any) -> "Future[T]":
        """Queue work; see ``Executor.submit``."""
        future = super().submit(work, *arguments, **more)
        self._last = ref(future)  # its result may be forgotten meanwhile
        return future

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued or running, as of the calls of ``submit`` by this thread."""
        return (last := self._last()) is None or last.done()


class Indexer:
    """Passes turns and memories to the indexes."""

    def __init__(self, namespaces: Namespaces, vectors: DocumentVectors, metrics: Metrics) -> None:
        self._namespaces, self._vectors = namespaces, vectors
        self._metrics = metrics
        self._waiting: deque[Logged] = deque()  # see ``release``
        self._releasing = threading.Lock()
        # The rest belongs to ``talk``: turns to index; namespaces that are being loaded, and for
        # each the one that was in use when that began, and the changes since.
        self._ready: deque[Logged] = deque()
        self._opening: dict[Future[Any], str] = {}
        self._missed: dict[str, tuple[Namespace | None, list[Change]]] = {}
        self.closing = vectors.closing
        self.talk = SerialExecutor("slowcat-recall")
        self.back = SerialExecutor("slowcat-embed")
        self.opener = ThreadPoolExecutor(16, "slowcat-open")
        self.ahead = SerialExecutor("slowcat-ahead")
        self.late = SerialExecutor("slowcat-late")
        self.warm = SerialExecutor("slowcat-warm")

    def add(self, acks: Sequence[Ack]) -> None:
        """Queue turns, to be indexed and embedded by ``release``. Does not block.

        Of ``acks`` those of turns count, except a guest's.
        """
        self._waiting.extend(
            (ack.event, ack)
            for ack in acks
            if isinstance(ack.event, Turn)
            and not ack.event.aside
            and not self._namespaces.is_guests(ack.event.scope)
        )

    def release(self, upto: int = 1 << 62, but: frozenset[str] = frozenset()) -> None:
        """Index the queued turns, so that every later query finds them.

        A turn is held back until its own recall has been passed to the worker. Indexed, it would
        match itself best, distort normalisation for every other memory, add its terms to its
        neighbours' windows, and be embedded while its recall waits.

        ``upto`` is the log id of the last turn to index, for a caller that knows no later one.
        ``but`` are ids of chunks to hold back: those that the current recall excludes.
        """
        ready, waiting = [], self._waiting
        with self._releasing:  # by one thread at a time, so that they keep their order
            while waiting and waiting[0][0].id <= upto and chunk_id(waiting[0][0].id) not in but:
                ready.append(waiting.popleft())
            if ready:
                self.talk.submit(self._index_turns, ready)

    def _index_turns(self, turns: Sequence[Logged] = ()) -> None:
        self._ready.extend(turns)
        parts: dict[str, list[Logged]] = {}
        for _ in range(min(SLICE, len(self._ready))):
            part = self._ready.popleft()
            parts.setdefault(part[0].scope, []).append(part)
        for scope, some in parts.items():
            self._change(scope, partial(self._guarded, self._add_turns, some), load=True)
        if self._ready:
            self.soon(self._index_turns)
        self._namespaces.drop_unused()

    def _index_rest(self) -> None:
        while self._ready and not self.closing.is_set():
            self._index_turns()

    def _add_turns(self, turns: Sequence[Logged], namespace: Namespace) -> None:
        for turn, ack in turns:
            if chunk_id(turn.id) not in namespace.searcher:  # loading may have read it already
                namespace.add_turn(turn, ack)
        if unembedded := [chunk_id(turn.id) for turn, ack in turns if ack]:
            self.later(self._vectors.embed, namespace.scope, unembedded)

    def _change(self, scope: str, work: Change, *, load: bool = False) -> None:
        """Change a namespace if it is loaded, and again after a load that runs: it reads the past.

        With ``load`` it is loaded first if it is not. One that was loaded just now has missed
        earlier changes: ``_end_opening`` makes all of them, in their order.
        """
        if scope not in self._missed and (load or self._namespaces.is_loading(scope)):
            if not self._namespaces.loaded(scope):
                self.open(scope, self._namespaces.get)
        namespace = self._namespaces.loaded(scope)
        if scope in self._missed:
            before, missed = self._missed[scope]
            missed.append(work)
            namespace = before if before is namespace else None
        if namespace is not None:
            work(namespace)

    def open(self, scope: str, load: Callable[[str], T]) -> "Future[T]":
        """Load a namespace on a thread of its own; a failure is logged. Call it on the first worker."""
        self._missed.setdefault(scope, (self._namespaces.loaded(scope), []))
        opened = self.opener.submit(load, scope)
        self._opening[opened] = scope
        opened.add_done_callback(partial(self.soon, self._end_opening, scope))
        return opened

    def _end_opening(self, scope: str, opened: "Future[Any]") -> None:
        self._guarded(partial(opened.result))
        namespace, (_, missed) = self._namespaces.loaded(scope), self._missed.pop(scope)
        for work in missed if namespace else ():
            self._guarded(work, namespace)
        if [*self._opening.values()].count(scope) > 1:
            self._missed[scope] = namespace, missed
        del self._opening[opened]

    def hear(self, scope: str, turns: Sequence[Turn]) -> None:
        """Index turns of another process if their scope is loaded. Call it on the first worker."""
        logged = [(turn, None) for turn in turns]
        self._change(scope, partial(self._guarded, self._add_turns, logged))

    def refresh(self, scope: str, memory_ids: Sequence[str]) -> None:
        """Read memories again if their scope is loaded. Call it on the first worker."""
        self._change(scope, partial(self._guarded, methodcaller("refresh", memory_ids)))

    def put(self, memory: Memory) -> None:
        """Index a stored memory, after the turns that came before. Blocks."""
        self._namespaces.get(memory.scope)
        self.take(WriteBatch(memories=(memory,)))

    def take(self, batch: WriteBatch) -> None:
        """Index what a stored batch changed, in the namespaces that are loaded. Blocks."""
        self.release()
        gone = frozenset(batch.drop)
        for scope, changed in changed_by_scope(batch).items():
            for start in range(0, len(changed), SLICE):  # a recall may run in between
                part = changed[start : start + SLICE]
                dropped = [id_ for id_ in part if (scope, id_) in gone]
                index = partial(self._index_again, part, dropped)
                self.talk.submit(self._change, scope, index).result()

    def _index_again(
        self, memory_ids: Sequence[str], dropped: Sequence[str], namespace: Namespace
    ) -> None:
        namespace.refresh(memory_ids, dropped)
        if unembedded := namespace.searcher.incomplete(memory_ids):
            self.later(self._vectors.embed, namespace.scope, unembedded)

    def refresh_marks(self, scope: str, memory_ids: Sequence[str]) -> None:
        """Read the marks of memories again, in a namespace that is loaded. Blocks."""
        self.release()
        self.talk.submit(self._change, scope, methodcaller("refresh_marks", memory_ids)).result()

    def reload(self, scope: str) -> None:
        """Load a namespace again from the store, after all turns queued before. Blocks.

        Raises:
            StoreError: Turns wait to be saved: they would be missing.
        """
        self.talk.submit(self.open, scope, self._namespaces.reload).result().result()

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
            with suppress(RuntimeError):  # it is closed just now
                self.talk.submit(self._guarded, work, *arguments)

    def _guarded(self, work: Callable[..., object], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:  # a worker thread has no caller to raise to
            if not self.closing.is_set():
                self._metrics.count("background_failures")
                name = getattr(work, "__name__", "indexing").strip("_")
                hint = getattr(error, "hint", "")  # of our own errors: the remedy
                logger.warning(f"memory: {name} failed: {describe_error(error)} {hint}")

    def catch_up(self) -> None:
        """Wait until everything logged so far is searchable by words. Blocks."""
        self.release()
        self.talk.submit(lambda: None).result()
        while (self._ready or self._opening) and not self.closing.is_set():
            wait([*self._opening])
            self.talk.submit(lambda: None).result()
        self.talk.submit(lambda: None).result()  # behind the last slice

    def drain(self) -> None:
        """Wait until everything logged so far is indexed and embedded, and all is open. Blocks."""
        self.catch_up()
        self.back.submit(lambda: None).result()  # the first worker feeds it
        for namespace in self._namespaces:
            namespace.finish_opening()

    def close(self) -> None:
        """Finish the queued work, and stop. Takes a few seconds at most; may be called twice."""
        if not self.closing.is_set():
            # Index first, before closing begins: the last turns are embedded too.
            self.release()
            wait((self.talk.submit(self._index_rest),), CLOSE_S)
            self.closing.set()
            for namespace in self._namespaces:
                namespace.stop()
            wait((self.back.submit(lambda: None),), CLOSE_S)
        self.talk.shutdown(wait=False)
        for pool in (self.back, self.opener, self.ahead, self.late, self.warm):
            pool.shutdown(wait=False, cancel_futures=True)
