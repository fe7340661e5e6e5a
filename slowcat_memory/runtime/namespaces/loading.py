"""Loads a namespace's index from the store: a sealed one with all later changes, or a new one."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from loguru import logger
from msgspec import Struct, field

from slowcat_memory.core.disclosure import local_only_ids
from slowcat_memory.core.memory import chunk, chunk_id, turn_of
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.errors import describe_error
from slowcat_memory.index import IndexOptions, Searcher
from slowcat_memory.index.build import generation
from slowcat_memory.records import Manifest, Memory
from slowcat_memory.runtime.namespaces.documents import (
    DateLocale,
    LastChunks,
    Place,
    Read,
    Space,
    has_keys,
    in_parts,
    index_memory,
    indexable,
    place_of,
    stored_vectors,
)
from slowcat_memory.store import Snapshot, Store

LOCAL_FILE = "local.msgpack"  # of a sealed index: the ids of local-only memories at sealing
MOST_UNDATED = 10_000  # memories kept at hand to be dated; more only without a sealed index


def stored_ids(snapshot: Snapshot, scope: str) -> frozenset[str]:
    """Return the ids of a scope's local-only memories. Reads all its memories."""
    return local_only_ids(list(snapshot.memories(scope)))


def write_ids(ids: frozenset[str], folder: Path) -> None:
    (folder / LOCAL_FILE).write_bytes(msgspec.msgpack.encode(sorted(ids)))


class LocalOnlyIds:
    """Ids of the memories that must not leave this machine."""

    def __init__(self, scope: str, store: Store, folder: Path | None = None) -> None:
        """Start with the ids in a sealed index's folder; else they are read on first use."""
        self._scope, self._store = scope, store
        self._ids: set[str] | None = None
        if folder is not None:
            self._ids = msgspec.msgpack.decode((folder / LOCAL_FILE).read_bytes(), type=set[str])
        self._all: frozenset[str] | None = None  # the same, until a mark changes

    def __bool__(self) -> bool:
        """Whether any is known; False as well before the first use."""
        return bool(self._ids)

    def all(self) -> frozenset[str]:
        """Return the ids. The first call may read all memories."""
        if self._ids is None:
            with self._store.snapshot() as snapshot:
                self._ids = set(stored_ids(snapshot, self._scope))
        if self._all is None:
            self._all = frozenset(self._ids)
        return self._all

    def mark(self, memory_id: str, *, local: bool) -> None:
        if self._ids is not None and local != (memory_id in self._ids):
            self._ids ^= {memory_id}
            self._all = None


class Loaded(Struct):
    """An index, while and after it is loaded.

    Attributes:
        searcher: The index; sealed vectors are missing until ``IndexLoader.attach_vectors``.
        local_only: Ids of its local-only memories.
        sealed: The manifest of the sealed index in it, None if there is no sound one.
        damaged: Whether there was a sealed index that could not be used.
        last_chunks: The last chunk of each session that was read.
        added: Chunks that were added as they are in the store.
        undated: Its turns whose texts were not read for times yet: that is most of the work, and
            few queries ask for a time.
    """

    searcher: Searcher
    local_only: LocalOnlyIds
    sealed: Manifest | None = None
    damaged: bool = False
    last_chunks: LastChunks = field(default_factory=LastChunks)
    added: set[str] = field(default_factory=set)
    undated: list[Memory] = field(default_factory=list)


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
        reading: DateLocale,
    ) -> None:
        self._scope, self._store, self._place = scope, store, root
        self._tokenizer, self._options = tokenizer, options
        self._space, self._reading = space, reading

    @property
    def root(self) -> Path:
        """Where the index is now: the store's folder may be moved while it is open."""
        return self._store.path / self._place

    def open(self, folder: Path | None = None, *, vectors: bool = False) -> Searcher:
        return Searcher(self._tokenizer, self._options, self._space.dim, folder, vectors)

    def load(self, read: Read) -> Loaded:
        """Load the index. An outdated, damaged or otherwise formatted sealed one is rebuilt.

        It is read in parts, so that no snapshot lives for long: what changes meanwhile may be in it
        or not, and is to be applied afterwards.
        """
        with read() as snapshot:
            manifest, upto = snapshot.manifest(self._scope), snapshot.last_id()
            changed = snapshot.changed(self._scope, manifest.changes) if manifest else []
            sound = snapshot.forget_epoch(), self._tokenizer.version
            self._has_keys = has_keys(snapshot, self._scope)
        if manifest and (manifest.forget_epoch, manifest.tokenizer) == sound:
            try:
                return self._load_sealed(read, manifest, changed)
            except Exception as error:  # any error of NumPy or msgspec on a foreign file
                logger.warning(f"index of a scope is rebuilt from the log: {describe_error(error)}")
        marked = LocalOnlyIds(self._scope, self._store)
        loaded = Loaded(self.open(), marked, damaged=manifest is not None)
        self._add_turns(loaded, read, 0)
        self._add_memories(loaded, read, upto)
        return loaded

    def _load_sealed(self, read: Read, manifest: Manifest, changed: list[str]) -> Loaded:
        """Load a sealed index and all later changes.

        Its files are verified meanwhile, on another core: an index made of damaged ones is dropped
        before it answers any query.
        """
        with ThreadPoolExecutor(1, "slowcat-verify") as pool:
            verified = pool.submit(generation.check, self.root, manifest, vectors=False)
            folder = self.root / manifest.generation
            marked = LocalOnlyIds(self._scope, self._store, folder)
            loaded = Loaded(self.open(folder), marked, manifest)
            self._add_turns(loaded, read, manifest.upto)
            self._apply_changes(loaded, read, changed)
            verified.result()
        return loaded

    def _add_turns(self, loaded: Loaded, read: Read, after: int) -> None:
        """Add the turns after a log id, each with its whole state in the store.

        The times in their texts are left to be read.
        """
        for snapshot, turn in in_parts(read, lambda s, last: s.turns(self._scope, last), after):
            if turn.aside:
                continue
            memory = snapshot.memory(self._scope, chunk_id(turn.id)) or chunk(turn)
            before = loaded.last_chunks.before(turn, loaded.searcher, snapshot)
            self._index(loaded, snapshot, memory, Place((before,)))
            loaded.added.add(memory.id)
            if indexable(memory):
                loaded.last_chunks.record(turn)

    def _add_memories(self, loaded: Loaded, read: Read, upto: int) -> None:
        """Add all memories but those that are added with their turns, now or afterwards."""
        for snapshot, memory in in_parts(
            read, lambda s, last: s.memories(self._scope, after=last), ""
        ):
            if memory.id not in loaded.added and turn_of(memory.id) <= upto:
                self._index(loaded, snapshot, memory, Place())

    def _apply_changes(self, loaded: Loaded, read: Read, changed: list[str]) -> None:
        """Index again what changed since the sealing, except turns added since then."""
        for memory_id in changed:
            if memory_id in loaded.added:
                continue
            with read() as snapshot:
                if memory := snapshot.read(self._scope, memory_id):
                    place = place_of(memory_id, snapshot, loaded.searcher)
                    self._index(loaded, snapshot, memory, place)
                else:
                    loaded.local_only.mark(memory_id, local=False)
                    loaded.searcher.remove(memory_id)

    def _index(self, loaded: Loaded, snapshot: Snapshot, memory: Memory, place: Place) -> None:
        searcher, memory = loaded.searcher, snapshot.in_context(memory)
        loaded.local_only.mark(memory.id, local=memory.local_only)
        keys = list(snapshot.keys(self._scope, memory.id)) if self._has_keys else []
        vectors = list(stored_vectors(snapshot, self._space, memory, keys))
        if self._space.dim and len(vectors) <= len(keys):
            searcher.remove(memory.id)  # a sealed vector that is no longer in the store
        dated = not indexable(memory) or len(loaded.undated) >= MOST_UNDATED
        if not dated:
            loaded.undated.append(memory)
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
                searcher.attach_vectors(generation.check(self.root, manifest, vectors=True))
                return True
        except Exception as error:  # any error of FAISS on a foreign file
            sound = False
            logger.warning(f"a scope's vectors are read from the log: {describe_error(error)}")
        try:
            with self._store.snapshot() as snapshot:
                for vector in snapshot.vectors(self._space.key, self._scope):
                    if not searcher.has_vector(vector.memory):
                        searcher.put_vector(vector.memory, vector.values)
        except Exception as error:  # this runs on a thread that has no caller
            logger.warning(f"a scope's vectors cannot be read: {describe_error(error)}")
        return sound
