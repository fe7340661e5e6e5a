"""Loads a namespace's index from the store: a sealed one with all later changes, or a new one."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from loguru import logger
from msgspec import Struct

from slowcat_memory.core.memory import chunk
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.index import IndexOptions, Searcher
from slowcat_memory.index.build import generation
from slowcat_memory.records import Manifest
from slowcat_memory.runtime.namespaces.documents import (
    LastChunks,
    Reading,
    Space,
    has_keys,
    index_memory,
    place_of,
    stored_document,
    stored_vectors,
)
from slowcat_memory.store import Snapshot, Store


class Loaded(Struct, frozen=True):
    """A loaded index.

    Attributes:
        searcher: The index; sealed vectors are missing until ``IndexLoader.attach_vectors``.
        last_chunks: The last chunk of each session that was read.
        sealed: The manifest of the sealed index in it, None if there is no sound one.
        damaged: Whether there was a sealed index that could not be used.
    """

    searcher: Searcher
    last_chunks: LastChunks
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
        manifest, last_chunks = snapshot.manifest(self._scope), LastChunks()
        sound = (snapshot.forget_epoch(), self._tokenizer.version)
        if manifest and (manifest.forget_epoch, manifest.tokenizer) == sound:
            try:
                searcher = self._load_sealed(snapshot, manifest, last_chunks)
            except Exception as error:  # any error of NumPy or msgspec on a foreign file
                logger.warning(f"index of a scope is rebuilt from the log: {type(error).__name__}")
                last_chunks = LastChunks()
            else:
                return Loaded(searcher, last_chunks, manifest, damaged=False)
        searcher = self.open()
        self._add_turns(searcher, snapshot, last_chunks, after=0)
        self._add_memories(searcher, snapshot)
        return Loaded(searcher, last_chunks, None, damaged=manifest is not None)

    def _load_sealed(
        self, snapshot: Snapshot, manifest: Manifest, last_chunks: LastChunks
    ) -> Searcher:
        """Load a sealed index and all later changes.

        Its files are verified meanwhile, on another core: an index made of damaged ones is dropped
        before it answers any query.
        """
        with ThreadPoolExecutor(1, "slowcat-verify") as pool:
            verified = pool.submit(generation.check, self._root, manifest, vectors=False)
            searcher = self.open(self._root / manifest.generation)
            self._add_turns(searcher, snapshot, last_chunks, after=manifest.upto)
            self._apply_changes(searcher, snapshot, manifest)
            verified.result()
        return searcher

    def _add_turns(
        self, searcher: Searcher, snapshot: Snapshot, last_chunks: LastChunks, after: int
    ) -> None:
        keys = has_keys(snapshot, self._scope)
        for turn in snapshot.turns(self._scope, after=after):
            if not turn.aside:
                before = last_chunks.before(turn, searcher, snapshot)
                searcher.add(
                    stored_document(snapshot, chunk(turn), self._reading, before, keys=keys)
                )
                last_chunks.record(turn)

    def _add_memories(self, searcher: Searcher, snapshot: Snapshot) -> None:
        for memory in snapshot.memories(self._scope):
            keys = list(snapshot.keys(self._scope, memory.id))
            index_memory(searcher, snapshot.in_context(memory), keys, self._reading)
        if self._space.dim:
            for vector in snapshot.vectors(self._space.key, self._scope):
                searcher.put_vector(vector.memory, vector.values)

    def _apply_changes(self, searcher: Searcher, snapshot: Snapshot, manifest: Manifest) -> None:
        for memory_id in snapshot.changed(self._scope, manifest.changes):
            memory = snapshot.read(self._scope, memory_id)
            if memory is None:
                searcher.remove(memory_id)
                continue
            keys = list(snapshot.keys(self._scope, memory_id))
            vectors = list(stored_vectors(snapshot, self._space, memory, keys))
            if self._space.dim and len(vectors) <= len(keys):
                searcher.remove(memory_id)  # a sealed vector that is no longer in the store
            place = place_of(memory_id, snapshot, searcher)
            index_memory(searcher, memory, keys, self._reading, place)
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
            logger.warning(f"a scope's vectors cannot be read: {type(error).__name__}")
        return sound

    def _attach_sealed(self, searcher: Searcher, manifest: Manifest) -> bool:
        try:
            searcher.attach_vectors(generation.check(self._root, manifest, vectors=True))
        except Exception as error:  # any error of FAISS on a foreign file
            logger.warning(f"a scope's vectors are read from the log: {type(error).__name__}")
            self._read_vectors(searcher)
            return False
        return True

    def _read_vectors(self, searcher: Searcher) -> None:
        with self._store.snapshot() as snapshot:
            for vector in snapshot.vectors(self._space.key, self._scope):
                if not searcher.has_vector(vector.memory):
                    searcher.put_vector(vector.memory, vector.values)
