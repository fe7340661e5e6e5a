"""One scope's memories, ready for recall: its index, kept equal to the log, and its latest texts.

Everything here is derived from the store, and every later change is passed on to it. ``loading``
makes an index, ``sealing`` changes and replaces it, ``documents`` makes its documents.

Locking: ``LiveIndex.lock`` is the only lock. Every method that changes anything holds it for the
whole change, so that index and latest texts agree; a sealed index is swapped in under it. Readers take no lock: ``searcher`` has its own, and dictionaries are read by single
operations. No store write happens under it; a snapshot may be opened, which never waits for the
writer.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path

import numpy as np
from loguru import logger
from msgspec.structs import replace

from slowcat_memory.core.memory import FACT, READING, chunk, chunk_id
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import describe_error
from slowcat_memory.records import Memory, Turn
from slowcat_memory.runtime.namespaces.documents import (
    index_memory,
    indexable,
    place_of,
    stored_document,
    stored_vectors,
    time_about,
)
from slowcat_memory.runtime.namespaces.known_facts import FactsInTime, KnownFacts
from slowcat_memory.runtime.namespaces.sealing import LiveIndex, SealOrder
from slowcat_memory.store import Ack, Snapshot, Store

Fetch = Callable[[Sequence[str]], dict[str, Memory]]
PAUSE_S = 0.05  # before the thread begins: the first answer, which began it, goes out first
STOP_S = 2.0  # how long a running step may take at the end


class Deferred:
    """Steps that are done once, in order: on a thread of their own, or by a caller who waits."""

    def __init__(self, steps: Sequence[Callable[[], None]]) -> None:
        """Begin nothing yet. A step should end soon after ``stopping`` is set."""
        self.stopping = threading.Event()
        self._left = list(steps)
        self._running = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Do the steps on a thread, unless they have begun. Takes microseconds."""
        if self._left and self._thread is None and not self.stopping.is_set():
            self._thread = threading.Thread(target=self._run, name="slowcat-opened", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Wait until all steps are done, and do here what is left. Blocks.

        Raises:
            Exception: What a step raised; it is left, and so are those after it.
        """
        with self._running:
            while self._left and not self.stopping.is_set():
                self._left[0]()
                self._left.pop(0)

    def _run(self) -> None:
        try:
            if not self.stopping.wait(PAUSE_S):
                self.finish()
        except Exception as error:  # a thread has no caller to raise to
            if not self.stopping.is_set():
                logger.warning(f"memory: opening was not finished: {describe_error(error)}")

    def stop(self) -> None:
        """Do no further step; waits a while for the one that runs."""
        self.stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_S)


class HotCache:
    """The latest memories, and all that are not durable yet: only here can these be read."""

    def __init__(self, size: int) -> None:
        self._size, self._held = size, OrderedDict[str, tuple[Memory, Ack | None]]()

    def get(self, memory_id: str) -> Memory | None:
        held = self._held.get(memory_id)
        return held[0] if held else None

    def latest(self) -> Memory | None:
        try:
            return next(reversed(self._held.values()), (None, None))[0]
        except RuntimeError:  # another thread changed it meanwhile
            return None

    def add(self, memory: Memory, ack: Ack | None) -> None:
        """Add a memory, which is durable once ``ack`` resolves, and drop the oldest durable ones."""
        self._held[memory.id] = (memory, ack)
        self._trim()

    def put_before(self, memories: Iterable[Memory]) -> None:
        """Add stored memories, oldest first, before those that are there; the latest stay."""
        self._held = OrderedDict({memory.id: (memory, None) for memory in memories} | self._held)
        self._trim()

    def _trim(self) -> None:
        while len(self._held) > self._size and not self.pending(oldest := next(iter(self._held))):
            del self._held[oldest]

    def update(self, memory: Memory) -> None:
        if held := self._held.get(memory.id):
            self._held[memory.id] = (memory, held[1])

    def pending(self, memory_id: str) -> bool:
        """Return whether a memory is cached whose write has not finished."""
        held = self._held.get(memory_id)
        return held is not None and held[1] is not None and not held[1].done()

    def drop(self, memory_id: str) -> None:
        self._held.pop(memory_id, None)


def latest_turns(snapshot: Snapshot, scope: str, most: int) -> list[Turn]:
    """Return the latest turns of a scope, oldest first. Reads no more than these."""
    talk = (turn for turn in snapshot.latest_turns(scope) if not turn.aside)
    return list(islice(talk, most))[::-1]


class Namespace(LiveIndex):
    """A scope's searcher and latest texts. Safe to use from several threads."""

    def __init__(
        self,
        order: SealOrder,
        store: Store,
        root: Path,
        tokenizer: Tokenizer,
        hot_cache_size: int,
        give_way: Callable[[], None] = lambda: None,
    ) -> None:
        """Load the scope from the store.

        ``hot_cache_size`` is in memories. ``give_way`` is called between short pieces of the work,
        and may wait.
        """
        super().__init__(order, store, root, tokenizer)
        self.hot, self._hot_size = HotCache(hot_cache_size), hot_cache_size
        # Incremented by every change of known memories: earlier recalls may be outdated.
        self.version = 0
        self._give_way = give_way
        added = self.load(lambda: store.snapshot(give_way))
        self._facts = FactsInTime(order.language)
        self._deferred = Deferred((self._read_latest, self.read_times, self._read_facts))
        if not self.sealed and not added:  # there is next to nothing to read
            self._deferred.finish()

    # ---------------------------------------------------------------- behind the opening

    def finish_opening(self) -> None:
        """Read all that no first answer waits for: the latest texts, times in texts, facts. Blocks.

        Otherwise this is done on a thread of its own, from the first recall on.
        """
        self._deferred.finish()

    def _read_latest(self) -> None:
        with self.lock, self._store.snapshot() as snapshot:
            turns = latest_turns(snapshot, self.scope, self._hot_size)
            read = (snapshot.read(self.scope, chunk_id(turn.id)) or chunk(turn) for turn in turns)
            self.hot.put_before(read)

    def read_times(self) -> None:
        """Read the times in the texts that were indexed without; few queries ask for a time.

        Blocks for 0.2 ms each the first time.
        """
        while self._undated and not self._deferred.stopping.is_set():
            self._give_way()
            with self.lock:  # again for each: a turn may wait for it
                if self._undated:
                    self._read_time(*self._undated.popitem())

    def _read_time(self, memory_id: str, memory: Memory) -> None:
        if about := time_about(memory, self._reading):
            times = {"about_from": about[0], "about_until": about[1]}
            self.change(lambda searcher: searcher.set_columns(memory_id, **times))

    def _read_facts(self) -> None:
        with self._store.snapshot(self._give_way) as snapshot:
            facts = list(snapshot.memories(self.scope, f"{FACT}/"))
            turns = latest_turns(snapshot, self.scope, self._hot_size)
            rows = [snapshot.memory(self.scope, chunk_id(turn.id)) or chunk(turn) for turn in turns]
        turns = [turn for turn, row in zip(turns, rows, strict=True) if indexable(row)]
        self._facts.read(facts, self._giving_way(turns), self.lock)

    def _giving_way(self, turns: Iterable[Turn]) -> Iterator[Turn]:
        """Yield turns until it is to stop; each is read for a millisecond."""
        for turn in turns:
            self._give_way()
            if not self._deferred.stopping.is_set():
                yield turn

    # ---------------------------------------------------------------- changes

    def add_turn(self, turn: Turn, ack: Ack | None = None) -> None:
        """Index a turn, the latest of its session and numbered.

        Its text is served from memory until ``ack`` resolves. A saved one that was forgotten since
        is left out: turns that come while an index is loaded are added again behind it.
        """
        memory, saved = chunk(turn), ack is None or ack.done()  # asked before the snapshot is taken
        with self.lock, self._store.snapshot() as snapshot:
            if saved and snapshot.missing(self.scope, (memory.id,)):
                return
            asked = snapshot.memory(self.scope, chunk_id(turn.reply_to)) if turn.reply_to else None
            if asked is not None and asked.muted:
                self.hot.add(replace(memory, muted=True, muted_inherited=True), ack)
                return
            before = self._last_chunks.before(turn, self.searcher, snapshot)
            added = stored_document(snapshot, memory, self._reading, before)
            self._last_chunks.record(turn)
            self.hot.add(memory, ack)
            self._facts.change(lambda known: known.hear(turn), turn.id)
            self.change(lambda searcher: searcher.add(added))

    def refresh_marks(self, memory_ids: Iterable[str]) -> None:
        """Read marks from the store: a person's, or those that memories got when written."""
        with self.lock, self._store.snapshot() as snapshot:
            for memory_id in memory_ids:
                memory = snapshot.read(self.scope, memory_id)
                if memory is None:
                    continue
                if memory.muted or (indexable(memory) and memory_id not in self.searcher):
                    self._index_stored(memory, snapshot)
                else:
                    self._take_over(memory)
            self.version += 1

    def _take_over(self, memory: Memory) -> None:
        """Keep what is known of a stored memory besides the index; the caller holds the lock."""
        self.hot.update(memory)
        self._facts.change(lambda known: known.put(memory))
        self.change(lambda searcher: searcher.set_columns(memory.id, local=memory.local_only))

    def refresh(self, memory_ids: Sequence[str], dropped: Iterable[str] = ()) -> None:
        """Read memories from the store again, with contexts, keys, and the vectors of both.

        Ids missing from the store are removed from the index, unless their write is pending.

        Args:
            dropped: Those whose records were dropped, and with them their vectors: a turn's memory
                is then as it was said.
        """
        with self.lock, self._store.snapshot() as snapshot:
            for memory_id in dropped:
                self._remove(memory_id)
            for memory_id in memory_ids:
                if memory := snapshot.read(self.scope, memory_id):
                    self._index_stored(memory, snapshot)
                elif not self.hot.pending(memory_id):
                    self._remove(memory_id)

    def _remove(self, memory_id: str) -> None:
        self.hot.drop(memory_id)
        self._facts.change(lambda known: known.drop(memory_id))
        self._undated.pop(memory_id, None)
        self.change(lambda searcher: searcher.remove(memory_id))
        self.version += 1

    def _index_stored(self, memory: Memory, snapshot: Snapshot) -> None:
        """Index a memory's whole state in the store; the caller holds the lock."""
        if memory.kind == READING:
            return
        self._take_over(memory)
        self._undated.pop(memory.id, None)
        place = place_of(memory.id, snapshot, self.searcher)
        keys, about = list(snapshot.keys(self.scope, memory.id)), time_about(memory, self._reading)
        self.change(lambda s: index_memory(s, memory, keys, self._reading, place, about))
        if indexable(memory):
            for id_, of, values in stored_vectors(snapshot, self.space, memory, keys):
                if not self.searcher.has_vector(id_):
                    self.put_vector(id_, values, of)
        self.version += 1

    def put_vector(self, memory_id: str, vector: np.ndarray, of: int = 0) -> None:
        """Set the vector of a memory or index key; ``of`` is as in ``records.Vector``.

        ``vector`` has shape (dim,), unit length, and is of this namespace's space.
        """
        self.change(lambda searcher: searcher.put_vector(memory_id, vector, of))

    def forget(self, gone: Collection[str]) -> None:
        with suppress(Exception):  # a reading that failed holds nothing
            self.finish_opening()  # else it could bring them back
        with self.lock:
            for memory_id in gone:
                self._remove(memory_id)
            self.searcher.names.clear()  # counted again with the index that follows
            self._last_chunks.forget(gone)
            self.version += 1

    # ---------------------------------------------------------------- reading

    @property
    def facts(self) -> KnownFacts:
        """What facts are known by now, after beginning to read the rest."""
        self._deferred.begin()
        return self._facts.known

    def fetch(self, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories that exist, by id, from memory or from the store."""
        with self.reading() as fetch:
            return fetch(memory_ids)

    @contextmanager
    def reading(self) -> Iterator[Fetch]:
        """Yield ``fetch`` for several calls: the store is opened once, when it is first needed."""
        with ExitStack() as opened:
            snapshot: Snapshot | None = None

            def fetch(memory_ids: Sequence[str]) -> dict[str, Memory]:
                nonlocal snapshot
                memories = self.recent(memory_ids)
                if missing := [i for i in memory_ids if i not in memories]:
                    snapshot = snapshot or opened.enter_context(self._store.snapshot())
                    memories |= {i: m for i in missing if (m := snapshot.read(self.scope, i))}
                return memories

            yield fetch

    def recent(self, memory_ids: Sequence[str]) -> dict[str, Memory]:
        """Return those of the memories that are among the latest, without reading the store."""
        held = ((memory_id, self.hot.get(memory_id)) for memory_id in memory_ids)
        return {memory_id: memory for memory_id, memory in held if memory}

    def stop(self) -> None:
        super().stop()
        self._deferred.stop()
