"""The components of an engine, built in order; passes on what happens here and in other processes."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import islice

from slowcat_memory.clock import Clock
from slowcat_memory.config import Config, time_zone, tokenizer
from slowcat_memory.config.config import retrieval_options
from slowcat_memory.core.catalogue import Catalogue
from slowcat_memory.core.disclosure import Reader
from slowcat_memory.core.memory import CHUNK, chunk_id
from slowcat_memory.engine.availability import Callers, ClockGuard
from slowcat_memory.idle.events import MemoryEvents
from slowcat_memory.idle.working_set import WorkingSet
from slowcat_memory.metrics import Metrics
from slowcat_memory.providers import Embedder
from slowcat_memory.records import Turn, WriteBatch
from slowcat_memory.runtime.commands.undo_log import UndoLog
from slowcat_memory.runtime.conversation.conversation import guest_scope
from slowcat_memory.runtime.namespaces.indexer import Embedding, Indexer
from slowcat_memory.runtime.namespaces.live_index import SealOrder
from slowcat_memory.runtime.namespaces.registry import Namespaces
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.runtime.session_head import Heads, Icebreakers
from slowcat_memory.store import Snapshot, Store

PERSON = "person"
RECALL = "recall"  # the activity of a recall
CATALOGUES = 8  # scopes whose catalogues are kept, the latest used


class EngineWiring:
    """One store, its indexes and its embedder, wired together: the base of ``MemoryEngine``.

    Starts no threads but the store's writer and the embedder's own.
    Internal to the engine; tests and benchmarks may look inside.
    """

    def __init__(
        self,
        config: Config,
        store: Store,
        clock: Clock,
        embedder: Embedder | None,
        metrics: Metrics,
        callers: Callers,
    ) -> None:
        memory, self.config, self.store, self.clock = config.memory, config, store, clock
        self.metrics, self.callers = metrics, callers
        self.snapshot, self.opened = store.snapshot, store.opened
        self._catalogues = lru_cache(CATALOGUES)(lambda scope: (threading.Lock(), WorkingSet()))
        self.zone, self.tokenizer = time_zone(config), tokenizer(config)
        self.guest_scope = guest_scope(config.people)
        self.gate = callers.gate  # closed by every recall, whoever asks for it
        self.embedding = Embedding(
            config.embedding, memory.embedding_cache_size, clock, metrics, embedder
        )
        self.query_caches = [self.embedding.forget, self.tokenizer.forget]
        self.clock_guard = ClockGuard(clock, self.store)
        self.namespaces = self.namespaces_of(self.store)
        self.indexer = Indexer(self.namespaces, self.embedding, self.metrics)
        self.users = self.namespaces.users
        self.retrieval = Retrieval(
            self.namespaces,
            self.embedding,
            self.indexer,
            self.metrics,
            self.zone,
            retrieval_options(config),
            partial(self.gate.closed, RECALL),
            lambda: self.others.look_soon(),
        )
        self.blocks = self.retrieval.writer
        self.icebreakers = Icebreakers(
            self.store, self.zone, clock, config.icebreakers, memory.user_name
        )
        self.heads = Heads(
            self.store,
            self.catalogue,
            self.icebreakers,
            self.zone,
            clock,
            config.head,
            self.users,
            memory.language,
        )
        self.events = MemoryEvents(self.store, clock, self.metrics, callers.on_event)
        self.others = OtherProcesses(self)
        self.undo_log = UndoLog(self.store, self.apply, clock, self.clock_guard.doubt)

    def apply(self, job: str, batch: WriteBatch) -> None:
        """Write a batch in one transaction and update the indexes; waits for the disk."""
        self.events.write(job, batch)
        self.indexer.take(batch)

    @contextmanager
    def catalogue(self, scope: str, snapshot: Snapshot) -> Iterator[Catalogue]:
        """Lend a scope's catalogue, as new as a snapshot, to one thread at a time."""
        lock, views = self._catalogues(scope)
        with lock:
            yield views.view(Catalogue, snapshot, scope, self.tokenizer)

    def reader(self, *scopes: str, local: bool = False, muted: bool = False) -> Reader:
        """Return who reads some namespaces, for ``core.disclosure``; that of guests is left out.

        Memories disclosed to it carry the users' present names.

        Args:
            local: Whether the texts stay on this machine; otherwise local-only ones are left out.
            muted: Whether a person reads them, and no LLM: muted memories are included.
        """
        readable = {*scopes} - {self.guest_scope}
        return Reader(frozenset(readable), local, self.users.load(*readable), muted)

    def namespaces_of(self, store: Store) -> Namespaces:
        """Build the indexes of a store; each is loaded when first used."""
        memory, options = self.config.memory, self.config.index
        return Namespaces(
            store,
            lambda scope: SealOrder(
                scope, self.embedding.space, memory.time_zone, self.tokenizer.language, options
            ),
            self.tokenizer,
            memory.hot_cache_size,
            self.guest_scope,
            self._give_way,
            memory.user_name,
        )

    def forget_queries(self) -> None:
        """Clear queries from the caches."""
        for forget in self.query_caches:
            forget()

    def _give_way(self) -> None:
        """Let a recall go first, nearly: a load goes on slowly beside recalls that never pause."""
        if self.gate.is_active(RECALL):
            time.sleep(0.001)

    def close(self) -> None:
        """Save pending writes and close. Takes a few seconds at most; may be called twice."""
        self.indexer.close()
        self.store.close()


# ------------------------------------------------------------------- other processes


SLICE = 64  # turns, and changed memories, before a recall may run
OTHER = "another process"  # the origin of its events
ACTIVITY = "another process/append"
ANEW_S = 60.0  # how long the index of another process is waited for before the log is read


class OtherProcesses:
    """Reads the rows of other processes, in slices, on the worker of recalls.

    Nothing is read while nobody else writes: that takes some microseconds.
    """

    def __init__(self, wiring: "EngineWiring") -> None:
        """Begin with the rows that are there now."""
        self._wiring, self._store, self._indexer = wiring, wiring.store, wiring.indexer
        self._tell = partial(wiring.events.tell, origin=OTHER)
        self._changed: deque[tuple[str, str]] = deque()  # (scope, id) of memories to read again
        self._sealed: dict[str, str] = {}  # by scope, the index of another process loaded last
        with self._store.snapshot() as snapshot:
            self._seen = self._store.last_transaction()[0], snapshot.number
            self._event, self._change = snapshot.last_id(), snapshot.last_change()
            self._epoch = self._clean = snapshot.forget_epoch()
        self._store.on_others = self._wake

    def _wake(self) -> None:
        """On the writer's thread, some times a second and after each write."""
        self.look_soon()
        self._store.let_go(self._clean)

    def look_soon(self) -> None:
        """Take over what others wrote before the next recall; microseconds if that is nothing."""
        if self._changed or self._store.last_transaction() != self._seen:
            with suppress(RuntimeError):  # it is being closed
                self._indexer.soon(self._look)

    def forgot(self) -> None:
        """Note that this process has forgotten something: its indexes are its own matter.

        Where others have forgotten something before it, its indexes are loaded as behind theirs.
        """
        with self._store.snapshot() as snapshot:
            epoch = snapshot.forget_epoch()
        if epoch == self._clean + 1:
            self._epoch = self._clean = epoch

    def _look(self) -> None:
        """Take over what others wrote, or a part of it. On the worker of recalls."""
        (generation, seen), now = self._seen, self._store.last_transaction()
        own = self._store.own(seen, now[1]) if generation == now[0] and seen < now[1] else None
        if own is not None:
            self._seen, self._event, self._change = now, own[0] - 1, own[1]
            self._store.pass_own(self._event)
        elif now != self._seen:
            with self._store.snapshot() as snapshot:
                if self._store.last_transaction()[0] != now[0]:
                    return  # it was replaced just now: next time
                self._read(snapshot)
                if snapshot.last_id() == self._event:
                    self._seen = now[0], snapshot.number
        self._refresh()
        self.look_soon()

    def _read(self, snapshot: Snapshot) -> None:
        if (epoch := snapshot.forget_epoch()) != self._epoch:
            self._epoch = epoch
            self._forget(snapshot, epoch)
        events = list(islice(snapshot.events(after=self._event), SLICE))
        own = self._store.pass_own(events[-1].id if events else self._event)
        turns = [event for event in events if isinstance(event, Turn) and event.id not in own]
        for scope in {turn.scope for turn in turns}:
            self._hear(scope, [turn for turn in turns if turn.scope == scope])
        self._event = events[-1].id if len(events) == SLICE else snapshot.last_id()
        for namespace in self._wiring.namespaces:
            changed = snapshot.changed(namespace.scope, self._change)
            self._changed.extend((namespace.scope, id_) for id_ in changed)
            manifest = snapshot.manifest(namespace.scope)
            if manifest is None or namespace.sealed == manifest.generation:
                continue
            if self._sealed.get(namespace.scope) != manifest.generation:  # not tried before
                self._sealed[namespace.scope] = manifest.generation
                self._indexer.open(namespace.scope, self._wiring.namespaces.reload)
        self._change = snapshot.last_change()

    def _hear(self, scope: str, turns: list[Turn]) -> None:
        self._wiring.gate.busy(ACTIVITY)
        self._wiring.gate.free(ACTIVITY)
        self._wiring.users.hear(turns)
        self._indexer.hear(scope, [turn for turn in turns if not turn.aside])
        ids = [chunk_id(turn.id) for turn in turns if not turn.aside]
        self._tell("stored", scope, ids, kind=CHUNK)

    def _refresh(self) -> None:
        """Read changed memories again."""
        some: dict[str, list[str]] = {}
        for _ in range(min(SLICE, len(self._changed))):
            scope, id_ = self._changed.popleft()
            some.setdefault(scope, []).append(id_)
        for scope, ids in some.items():
            self._indexer.refresh(scope, ids)
            self._tell("updated", scope, [id_ for id_ in ids if not id_.startswith(CHUNK)])

    def _forget(self, snapshot: Snapshot, epoch: int) -> None:
        """Drop what others forgot, load the indexes anew without it, and confirm that."""
        self._wiring.forget_queries()
        self._wiring.users.forget()
        loads = []
        for namespace in self._wiring.namespaces:
            ids = [id_ for id_, _ in namespace.searcher.table.items()]
            if gone := snapshot.missing(namespace.scope, ids):
                self._wiring.namespaces.forget(namespace.scope, gone)
                self._tell("forgotten", namespace.scope, sorted(gone))
            loads.append(self._indexer.open(namespace.scope, self._reload))
        self._indexer.later(self._confirm, epoch, partial(wait, loads))

    def _reload(self, scope: str) -> None:
        """Load an index again: a large one as soon as whoever forgot has built it anew."""
        namespace, until = self._wiring.namespaces.loaded(scope), time.monotonic() + ANEW_S
        sealed = namespace.searcher.sealed_count if namespace else 0
        while sealed > self._wiring.config.index.seal_most and time.monotonic() < until:
            with self._store.snapshot() as snapshot:
                if snapshot.manifest(scope) or not self._store.is_erasing():
                    break
            time.sleep(0.05)
        self._wiring.namespaces.reload(scope)

    def _confirm(self, epoch: int, loaded: Callable[[], object]) -> None:
        loaded()
        self._clean = max(self._clean, epoch)
        self._store.let_go(self._clean)
