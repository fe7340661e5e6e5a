"""Loads a namespace's index from the store: a sealed one with all later changes, or a new one."""

from pathlib import Path

from loguru import logger
from msgspec import Struct, field

from slowcat_memory.core.memory import chunk, chunk_id, turn_of
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.calendar import zone_of
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


class SealOrder(Struct, frozen=True, kw_only=True):
    """What a namespace's index is made with, here and in the child that builds a sealed one.

    Attributes:
        store: The store's folder, when a build begins.
        folder: Its device and inode; (0, 0) for any.
        embedder: Key of the vector space in use, "" for none.
        zone: Time zone of time expressions, "" for this machine's.
        language: Of time expressions and, unless the options name a stemmer, of the stemmer.
    """

    scope: str
    embedder: str
    dim: int
    zone: str
    language: str
    options: IndexOptions
    store: str = ""
    folder: tuple[int, int] = (0, 0)

    @property
    def reading(self) -> DateLocale:
        return DateLocale(zone_of(self.zone), self.language)


class Loaded(Struct):
    """An index, while and after it is loaded.

    Attributes:
        sealed: The manifest of the sealed index in it, None if there is no sound one.
        damaged: Whether there was a sealed index that could not be used.
        last_chunks: The last chunk of each session that was read.
        added: Chunks that were added as they are in the store.
        undated: Its memories whose texts were not read for times yet, by id: that is most of the
            work, and few queries ask for a time.
    """

    searcher: Searcher
    sealed: Manifest | None = None
    damaged: bool = False
    last_chunks: LastChunks = field(default_factory=LastChunks)
    added: set[str] = field(default_factory=set)
    undated: dict[str, Memory] = field(default_factory=dict)


class IndexLoader:
    """Makes searchers of one namespace."""

    def __init__(self, order: SealOrder, store: Store, root: Path, tokenizer: Tokenizer) -> None:
        """``root`` is the folder of its sealed indexes, below the store's."""
        self.order, self.store, self._tokenizer = order, store, tokenizer
        self._scope, self._space = order.scope, Space(order.embedder, order.dim)
        self._reading, self._place = order.reading, root
        self._has_keys = True

    @property
    def root(self) -> Path:
        """Where the index is now: the store's folder may be moved while it is open."""
        return self.store.path / self._place

    def open(self, folder: Path | None = None, embedder: str = "") -> Searcher:
        """Open a checked sealed index with vectors of an embedder, or an empty one."""
        own = embedder == self._space.key
        return Searcher(self._tokenizer, self.order.options, self._space.dim, folder, vectors=own)

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
        loaded = Loaded(self.open(), damaged=manifest is not None)
        self._add_turns(loaded, read, 0)
        self._add_memories(loaded, read, upto)
        return loaded

    def _load_sealed(self, read: Read, manifest: Manifest, changed: list[str]) -> Loaded:
        """Load a sealed index and all later changes; vectors of another space are the store's."""
        folder = generation.check(self.root, manifest)
        loaded = Loaded(self.open(folder, manifest.embedder), manifest)
        self._add_turns(loaded, read, manifest.upto)
        self._apply_changes(loaded, read, changed)
        if manifest.embedder != self._space.key:
            with read() as snapshot:
                for vector in snapshot.vectors(self._space.key, self._scope):
                    if not loaded.searcher.has_vector(vector.memory):
                        loaded.searcher.put_vector(vector.memory, vector.values)
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
                    loaded.searcher.remove(memory_id)

    def _index(self, loaded: Loaded, snapshot: Snapshot, memory: Memory, place: Place) -> None:
        searcher, memory = loaded.searcher, snapshot.in_context(memory)
        keys = list(snapshot.keys(self._scope, memory.id)) if self._has_keys else []
        vectors = list(stored_vectors(snapshot, self._space, memory, keys))
        if self._space.dim and len(vectors) <= len(keys):
            searcher.remove(memory.id)  # a sealed vector that is no longer in the store
        if indexable(memory):
            loaded.undated[memory.id] = memory
        index_memory(searcher, memory, keys, self._reading, place)
        for id_, of, values in vectors:
            searcher.put_vector(id_, values, of)
