"""Loads an index from the store; builds a sealed one in a child process, and swaps it in.

The child (``python -m slowcat_memory.runtime.namespaces.sealing FOLDER ORDER``) reads the store
itself: the main process passes no text and no vector, so its memory does not grow with the
namespace, and it does not hold its interpreter's lock. The child ends when its parent does.

While the child builds, every change is applied to the old searcher and recorded in a journal; the
journal is then replayed on the new searcher. A change may therefore be applied twice, the second
time to a searcher that already has it or something newer: it must look up everything it depends on
(neighbours, numbers) in the searcher it is given.
"""

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from loguru import logger
from msgspec import Struct, field
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk, chunk_id, turn_of
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.calendar import zone_of
from slowcat_memory.errors import IndexDamagedError, describe_error
from slowcat_memory.index import Builder, IndexOptions, Searcher, generation
from slowcat_memory.index.generation import BUILT, Build
from slowcat_memory.records import Manifest, Memory
from slowcat_memory.runtime.namespaces.documents import (
    DateLocale,
    LastChunks,
    Place,
    Read,
    Space,
    all_documents,
    has_keys,
    in_parts,
    index_memory,
    indexable,
    place_of,
    stored_vectors,
    unread_error,
)
from slowcat_memory.store import Snapshot, Store, StoreOptions


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


# ------------------------------------------------------------------- the live index


Change = Callable[[Searcher], object]
"""One change of an index, which may be applied again to the one that replaces it."""

CHILD = "slowcat_memory.runtime.namespaces.sealing"  # the module that the child process runs
FLUSH_S = 10.0
FEW = 16  # changes that are replayed while the lock is held


class LiveIndex:
    """A namespace's searcher, replaced by a newly sealed one from time to time.

    ``lock`` is the namespace's: it is held for every change and for the swap, never while the child
    builds. ``searcher`` may be read without it; a reader keeps the one it has read.
    """

    def __init__(self, loader: IndexLoader, loaded: Loaded) -> None:
        self._loader, self._store, self._order = loader, loader.store, loader.order
        self.lock = threading.RLock()
        self.searcher, self.damaged = loaded.searcher, loaded.damaged
        self.sealed = loaded.sealed.generation if loaded.sealed else ""  # of the index in use
        self._journal: list[Change] | None = None  # only while a sealed index is built
        self._sealing = threading.Lock()  # one build at a time
        self._build = Build()

    def change(self, change: Change) -> None:
        """Apply a change now, and also to the replacing searcher if one is being built."""
        with self.lock:
            if self._journal is not None:
                self._journal.append(change)
            change(self.searcher)

    def is_sealed_as(self, manifest: Manifest) -> bool:
        return self.sealed == manifest.generation

    def seal_due(self) -> bool:
        """Return whether the tail is large enough for a new sealed index, or the old is damaged."""
        grown = self._order.options.seal_due(self.searcher.sealed_count, self.searcher.tail_count)
        return self.damaged or grown

    def stop(self) -> None:
        self._build.stop()

    def abandon_build(self) -> None:
        """End a build that may have read what is forgotten now; its files are gone on return."""
        self._build.abort()
        with self._sealing:
            pass

    def reseal(self) -> None:
        """Build a new sealed index and continue with it. Blocks for seconds.

        Raises:
            IndexDamagedError: The build failed; the current index continues.
        """
        with self._sealing:
            with self.lock:
                self._journal = []  # earlier changes are in the store once it is flushed
            try:
                self._reseal()
            finally:
                self._journal = None

    def _reseal(self) -> None:
        if not self._store.flush(FLUSH_S):
            raise IndexDamagedError("the index is not rebuilt while turns wait to be saved")
        order = replace(self._order, store=str(self._store.path), folder=self._store.folder_id)
        manifest = seal(self._build, self._loader.root, order)
        try:
            self._swap(manifest)
            self._store.publish(manifest).wait(FLUSH_S)
        except Exception:  # no manifest names it, and it may contain data forgotten meanwhile
            shutil.rmtree(self._loader.root / manifest.generation, ignore_errors=True)
            raise
        self.damaged = False
        generation.sweep(self._loader.root, keep=manifest.generation)

    def _swap(self, manifest: Manifest) -> None:
        searcher = self._loader.open(self._loader.root / manifest.generation, manifest.embedder)
        done = 0
        while done + FEW < len(self._journal or ()):  # most of it without the lock
            for change in (self._journal or [])[done:]:
                change(searcher)
                done += 1
        searcher.warm()
        with self.lock:
            with self._store.snapshot() as snapshot:
                if snapshot.forget_epoch() != manifest.forget_epoch:
                    raise IndexDamagedError("something was forgotten while the index was built")
            for change in (self._journal or [])[done:]:
                change(searcher)
            self.searcher, self.sealed = searcher, manifest.generation


def seal(build: Build, root: Path, order: SealOrder) -> Manifest:
    """Build a sealed index in a child process. Blocks, for seconds to minutes.

    Another thread can stop it through ``build``. The returned manifest is not published yet.

    Raises:
        IndexDamagedError: The build failed.
    """
    name, manifest = build.run(root, CHILD, [msgspec.json.encode(order).decode()], Manifest)
    return replace(manifest, generation=name)


def _build(folder: Path, order: SealOrder) -> Iterator[bool]:
    """Build in short steps, as ``generation.run_beside_others`` takes them."""
    built = folder / BUILT
    built.mkdir(mode=0o700)
    tokenizer = Tokenizer(order.options.stemmer or order.language, order.language)
    builder = Builder(built, tokenizer, order.options, order.dim)
    opening = StoreOptions(allow_unsafe_fs=True)  # the parent has decided that
    with Store.open(Path(order.store), readonly=True, options=opening) as store:
        if order.folder not in ((0, 0), store.folder_id):
            raise IndexDamagedError("another store is at the path of this one")
        with store.snapshot() as snapshot:  # later changes are made again when it is loaded
            upto, changes = snapshot.last_id(), snapshot.last_change()
            epoch = snapshot.forget_epoch()
        for one in all_documents(store.snapshot, order.scope, order.reading, upto):
            builder.add(one)
            yield False
        with store.snapshot() as snapshot:
            for vector in snapshot.vectors(order.embedder, order.scope) if order.dim else ():
                builder.put_vector(vector.memory, vector.values)
                yield False
        if store.quarantined:  # for a moment or for good: what was skipped would stay hidden
            raise unread_error(len(store.quarantined))
    yield True
    header = builder.finish()
    generation.finish(
        folder,
        lambda files: Manifest(
            scope=order.scope,
            generation="",
            files=files,
            documents=header.documents,
            embedder=order.embedder if header.embedded else "",
            dim=order.dim if header.embedded else 0,
            upto=upto,
            tokenizer=tokenizer.version,
            forget_epoch=epoch,
            changes=changes,
        ),
    )


def _end_with_parent() -> None:
    """Exit when the pipe from the parent closes; the parent never writes to it."""
    os.read(0, 1)
    os._exit(1)


def main() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    order = msgspec.json.decode(sys.argv[2], type=SealOrder)
    generation.run_beside_others(_build(Path(sys.argv[1]), order))


if __name__ == "__main__":
    main()
