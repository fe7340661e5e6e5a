"""Loads a namespace's index from the store: a sealed one with all later changes, or a new one."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from loguru import logger
from msgspec import Struct

from slowcat_memory.core.memory import chunk, chunk_id
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import describe_error
from slowcat_memory.index import IndexOptions, Searcher
from slowcat_memory.index.build import generation
from slowcat_memory.records import Manifest, Memory
from slowcat_memory.runtime.namespaces.documents import (
    LastChunks,
    Reading,
    Space,
    document,
    has_keys,
    index_memory,
    indexable,
    place_of,
    stored_vectors,
)
from slowcat_memory.runtime.namespaces.local_only_ids import MarkedIds
from slowcat_memory.store import Snapshot, Store

MOST_UNDATED = (
    10_000  # memories that are kept at hand to be dated; more only without a sealed index
)


class Loaded(Struct, frozen=True):
    """A loaded index.

    Attributes:
        searcher: The index; sealed vectors are missing until ``IndexLoader.attach_vectors``.
        last_chunks: The last chunk of each session that was read.
        undated: Its turns whose texts were not read for times yet: that is most of the work, and
            few queries ask for a time.
        local_only: Ids of its local-only memories; None if these must be read from the store.
        sealed: The manifest of the sealed index in it, None if there is no sound one.
        damaged: Whether there was a sealed index that could not be used.
    """

    searcher: Searcher
    last_chunks: LastChunks
    undated: list[Memory]
    local_only: frozenset[str] | None
    sealed: Manifest | None
    damaged: bool


class IndexLoader:
    """Makes searchers of one namespace."""

    def __init__(
        self,
        scope: str,
        store: Store,
        root: Path,
        tokenizer: Tokenizer,
        options: IndexOptions,
        space: Space,
        reading: Reading,
    ) -> None:
        self._scope, self._store, self._place = scope, store, root
        self._tokenizer, self._options = tokenizer, options
        self._space, self._reading = space, reading

    @property
    def _root(self) -> Path:
        """Where the index is now: the store's folder may be moved while it is open."""
        return self._store.path / self._place

    def open(self, folder: Path | None = None, *, vectors: bool = False) -> Searcher:
        return Searcher(self._tokenizer, self._options, self._space.dim, folder, vectors)

    def load(self, snapshot: Snapshot) -> Loaded:
        """Load the index. An outdated, damaged or otherwise formatted sealed one is rebuilt."""
        manifest, loading = snapshot.manifest(self._scope), _Loading()
        sound = (snapshot.forget_epoch(), self._tokenizer.version)
        if manifest and (manifest.forget_epoch, manifest.tokenizer) == sound:
            try:
                searcher = self._load_sealed(snapshot, manifest, loading)
            except Exception as error:  # any error of NumPy or msgspec on a foreign file
                logger.warning(f"index of a scope is rebuilt from the log: {describe_error(error)}")
                loading = _Loading()
            else:
                return loading.done(searcher, manifest, damaged=False)
        searcher = self.open()
        self._add_turns(searcher, snapshot, loading, after=0)
        self._add_memories(searcher, snapshot, loading)
        return loading.done(searcher, None, damaged=manifest is not None)

    def _load_sealed(self, snapshot: Snapshot, manifest: Manifest, loading: "_Loading") -> Searcher:
        """Load a sealed index and all later changes.

        Its files are verified meanwhile, on another core: an index made of damaged ones is dropped
        before it answers any query.
        """
        with ThreadPoolExecutor(1, "slowcat-verify") as pool:
            verified = pool.submit(generation.check, self._root, manifest, vectors=False)
            folder = self._root / manifest.generation
            searcher, loading.marked = self.open(folder), MarkedIds(folder)
            self._add_turns(searcher, snapshot, loading, after=manifest.upto)
            self._apply_changes(searcher, snapshot, loading, manifest)
            verified.result()
        return searcher

    def _add_turns(
        self, searcher: Searcher, snapshot: Snapshot, loading: "_Loading", after: int
    ) -> None:
        """Add the turns after a log id, each with its whole state in the store.

        The times in their texts are left to be read.
        """
        with_keys = has_keys(snapshot, self._scope)
        for turn in snapshot.turns(self._scope, after=after):
            if turn.aside:
                continue
            memory = snapshot.memory(self._scope, chunk_id(turn.id)) or chunk(turn)
            loading.added.add(memory.id)
            loading.marked.see(memory.id, memory)
            if not indexable(memory):
                continue
            memory = snapshot.in_context(memory)
            keys = list(snapshot.keys(self._scope, memory.id)) if with_keys else []
            before = loading.last_chunks.before(turn, searcher, snapshot)
            dated = loading.is_dated_now(memory)
            searcher.add(document(memory, self._reading, before, keys, dated=dated))
            for id_, of, values in stored_vectors(snapshot, self._space, memory, keys):
                searcher.put_vector(id_, values, of)
            loading.last_chunks.record(turn)

    def _add_memories(self, searcher: Searcher, snapshot: Snapshot, loading: "_Loading") -> None:
        """Add all memories but those that were added with their turns."""
        for memory in snapshot.memories(self._scope):
            if memory.id not in loading.added:
                keys = list(snapshot.keys(self._scope, memory.id))
                index_memory(searcher, snapshot.in_context(memory), keys, self._reading)
        if self._space.dim:
            for vector in snapshot.vectors(self._space.key, self._scope):
                if not searcher.has_vector(vector.memory):
                    searcher.put_vector(vector.memory, vector.values)

    def _apply_changes(
        self, searcher: Searcher, snapshot: Snapshot, loading: "_Loading", manifest: Manifest
    ) -> None:
        """Index again what changed since the sealing, except turns added since then."""
        for memory_id in snapshot.changed(self._scope, manifest.changes):
            if memory_id in loading.added:
                continue
            memory = snapshot.read(self._scope, memory_id)
            loading.marked.see(memory_id, memory)
            if memory is None:
                searcher.remove(memory_id)
                continue
            keys = list(snapshot.keys(self._scope, memory_id))
            vectors = list(stored_vectors(snapshot, self._space, memory, keys))
            if self._space.dim and len(vectors) <= len(keys):
                searcher.remove(memory_id)  # a sealed vector that is no longer in the store
            place = place_of(memory_id, snapshot, searcher)
            dated = not indexable(memory) or loading.is_dated_now(memory)
            index_memory(searcher, memory, keys, self._reading, place, dated=dated)
            for id_, of, values in vectors:
                searcher.put_vector(id_, values, of)

    def attach_vectors(self, searcher: Searcher, manifest: Manifest) -> bool:
        """Add a sealed index's vectors, or the store's if those are unusable.

        Returns:
            False for damaged files.
        """
        sound = True
        try:
            if (manifest.embedder, manifest.dim) == (self._space.key, self._space.dim):
                sound = self._attach_sealed(searcher, manifest)
            else:
                self._read_vectors(searcher)
        except Exception as error:  # this runs on a thread that has no caller
            logger.warning(f"a scope's vectors cannot be read: {describe_error(error)}")
        return sound

    def _attach_sealed(self, searcher: Searcher, manifest: Manifest) -> bool:
        try:
            searcher.attach_vectors(generation.check(self._root, manifest, vectors=True))
        except Exception as error:  # any error of FAISS on a foreign file
            logger.warning(f"a scope's vectors are read from the log: {describe_error(error)}")
            self._read_vectors(searcher)
            return False
        return True

    def _read_vectors(self, searcher: Searcher) -> None:
        with self._store.snapshot() as snapshot:
            for vector in snapshot.vectors(self._space.key, self._scope):
                if not searcher.has_vector(vector.memory):
                    searcher.put_vector(vector.memory, vector.values)


class _Loading:
    """What is gathered while an index is loaded."""

    def __init__(self) -> None:
        self.last_chunks, self.marked = LastChunks(), MarkedIds()
        self.added = set[str]()  # chunks that were added as they are in the store
        self.undated = list[Memory]()

    def is_dated_now(self, memory: Memory) -> bool:
        """Return whether the times in a text are read now; the first ones are read later."""
        dated = len(self.undated) >= MOST_UNDATED
        if not dated:
            self.undated.append(memory)
        return dated

    def done(self, searcher: Searcher, sealed: Manifest | None, *, damaged: bool) -> Loaded:
        known = self.marked.all()
        return Loaded(searcher, self.last_chunks, self.undated, known, sealed, damaged)
